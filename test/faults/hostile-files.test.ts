/** Files that Bun reads from the current folder, the home folder or beside the executable change nothing. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, linkSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { eventpost, makeFolder } from '../cli/process.ts'
import { BUILD_MS, ensureExecutable, EXECUTABLE } from '../executable.ts'
import { report } from './figures.ts'

const { folder: elsewhere, remove } = makeFolder()
// on the same file system, so that the executable need not be copied
let hostile = ''

beforeAll(async () => {
  await ensureExecutable()
  hostile = mkdtempSync(join(dirname(EXECUTABLE), 'hostile-'))
  linkSync(EXECUTABLE, join(hostile, 'eventpost'))
  const trap = join(hostile, 'trap.ts')
  writeFileSync(trap, `await Bun.write('${hostile}/sprung', '')\nprocess.exit(9)\n`)
  for (const name of ['bunfig.toml', '.bunfig.toml']) writeFileSync(join(hostile, name), `preload = ["${trap}"]\n`)
  writeFileSync(join(hostile, 'harmless.ts'), '')
  const settings = `EVENTPOST_DATA=${hostile}/from-env\nEVENTPOST_PORT=99999\nBUN_OPTIONS=--preload=${trap}\n`
  for (const end of ['', '.local', '.production', '.development', '.test']) {
    writeFileSync(join(hostile, `.env${end}`), settings)
  }
}, BUILD_MS)
afterAll(() => {
  if (hostile !== '') rmSync(hostile, { recursive: true })
  remove()
})

// or the test below could not fail
test('Bun itself reads these files', async () => {
  const { code } = await eventpost(['run', 'harmless.ts'], { program: [process.execPath], cwd: hostile })
  expect([code, existsSync(join(hostile, 'sprung'))]).toEqual([9, true])
  rmSync(join(hostile, 'sprung'))
})

test('the executable does not read them', async () => {
  const program = [join(hostile, 'eventpost')]
  const env = { HOME: hostile, XDG_CONFIG_HOME: hostile }
  const words = ['init', '--email', 'a@example.com', '--app', 'Demo']
  const ran = [
    await eventpost(['version'], { program, cwd: elsewhere, env }),
    await eventpost(words, { program, cwd: hostile, env }),
  ]
  const made = readdirSync(hostile)
  const isIgnored = ran.every(({ code }) => code === 0) && made.includes('data') && !made.includes('sprung')
  report({
    target: 'Hostile bunfig.toml and .env beside the executable',
    asked: 'ignored',
    measured: isIgnored ? 'ignored' : ran.map(({ code, err }) => `exit ${code} ${err}`).join(', '),
    isReached: isIgnored,
  })
  expect(ran.map(({ code }) => code)).toEqual([0, 0])
  expect(made).toContain('data')
  expect(made).not.toContain('sprung')
  expect(made).not.toContain('from-env')
})
