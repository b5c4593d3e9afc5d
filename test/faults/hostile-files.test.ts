/** Files that Bun reads from the current folder, the home folder or beside the executable change nothing. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, linkSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { eventpost, eventpostJson, makeFolder } from '../cli/process.ts'
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
  const settings = `EVENTPOST_DATA=${hostile}/data\nEVENTPOST_PORT=99999\nBUN_OPTIONS=--preload=${trap}\n`
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
  const before = readdirSync(hostile)
  const codes: number[] = []
  for (const [cwd, home] of [
    [elsewhere, elsewhere],
    [hostile, elsewhere],
    [elsewhere, hostile],
  ]) {
    const env = { HOME: home, XDG_CONFIG_HOME: home }
    codes.push((await eventpost(['version'], { program, cwd, env })).code)
  }
  await eventpostJson(['init', '--email', 'a@example.com', '--app', 'Demo'], { program, cwd: elsewhere })
  const isUntouched = Bun.deepEquals(readdirSync(hostile), before) && existsSync(join(elsewhere, 'data'))
  report({
    target: 'Hostile bunfig.toml and .env beside the executable',
    asked: 'ignored',
    measured: isUntouched && codes.every((code) => code === 0) ? 'ignored' : `exit ${codes.join(', ')}`,
    isReached: isUntouched && codes.every((code) => code === 0),
  })
  expect(codes).toEqual([0, 0, 0])
  expect(isUntouched).toBe(true)
})
