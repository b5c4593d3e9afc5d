/** The built executable, in a folder that holds nothing but traps: all that a user has. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Begun, call, eventpost, eventpostJson, makeFolder, startServer } from './commands/process.ts'

const ROOT = join(import.meta.dir, '..')
const EXECUTABLE = join(ROOT, 'dist/eventpost')
const BUILD_MS = 60_000

const { folder, remove } = makeFolder()
const how = { program: [EXECUTABLE], cwd: folder }

/** What Bun reads from the current folder unless the build forbids it. */
const TRAPS = {
  'bunfig.toml': 'preload = ["./trap.ts"]\n',
  'trap.ts': "await Bun.write('sprung', 'by bunfig.toml')\nprocess.exit(9)\n",
  '.env': 'EVENTPOST_DATA=./sprung-by-env\nEVENTPOST_PORT=99999\nPORT=99999\n',
  'package.json': '{"name":"trap","version":"9.9.9","type":"commonjs"}\n',
  'tsconfig.json': '{"compilerOptions":{"jsxImportSource":"trap","paths":{"*":["./trap.ts"]}}}\n',
}

function isOutdated(): boolean {
  if (!existsSync(EXECUTABLE)) return true
  const builtAt = statSync(EXECUTABLE).mtimeMs
  const list = (folder: string): string[] =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`)
  const sources = [...list('src'), ...list('snippet'), '.ci/build-snippet.ts']
  return [...sources, 'package.json', 'bun.lock'].some((name) => statSync(join(ROOT, name)).mtimeMs > builtAt)
}

async function build(): Promise<void> {
  for (const words of [['assets'], ['compile', '--outfile', 'dist/eventpost']]) {
    const child = Bun.spawn([process.execPath, 'run', ...words], { cwd: ROOT, stdout: 'ignore', stderr: 'pipe' })
    if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text())
  }
}

beforeAll(async () => {
  if (isOutdated()) await build()
  for (const [name, text] of Object.entries(TRAPS)) writeFileSync(join(folder, name), text)
}, BUILD_MS)
afterAll(remove)

describe('the executable', () => {
  test('prints help and its version', async () => {
    const help = await eventpost([], how)
    expect(help).toMatchObject({ code: 0, err: '' })
    expect(help.out).toContain('  serve')
    const { version } = await Bun.file(join(ROOT, 'package.json')).json()
    expect(await eventpostJson<object>(['version'], how)).toEqual({ version, schemaVersion: expect.any(Number) })
  })

  test('sets up, serves, takes an event, gives it back, and stops', async () => {
    const words = ['--email', 'owner@example.com', '--app', 'Demo', '--domain', 'app.example.com']
    const { appId, apiKey } = await eventpostJson<Begun>(['init', ...words], how)
    // its default folder: the data is where it was started
    const server = await startServer({ ...how, data: './data' })
    const event = { app: appId, email: 'ada@example.com', event: 'results_ready', createContact: true }
    const { status, body } = await call(server.url, apiKey, 'POST', '/api/v1/events', event)
    expect([status, body]).toEqual([202, { ok: true, contactId: expect.stringMatching(/^con_/), created: true }])
    const list = await call(server.url, apiKey, 'GET', `/api/v1/events?app=${appId}`)
    expect(list.body.data).toMatchObject([{ event: 'results_ready', email: 'ada@example.com' }])

    const page = await fetch(`${server.url}/`)
    const sheet = /href="(\/assets\/style\.css[^"]*)"/.exec(await page.text())?.[1]
    const style = await fetch(`${server.url}${sheet}`)
    expect([page.status, style.status]).toEqual([200, 200])
    expect(style.headers.get('content-type')).toStartWith('text/css')
    expect((await style.text()).length).toBeGreaterThan(1_000)

    expect((await server.stop()).code).toBe(0)
    expect(server.said.err).toBe('')
  })

  // with CommonJS bytecode it would start its threads from the sources where they still lie, and nowhere else
  test('does not know where it was built', async () => {
    const bytes = Buffer.from(await Bun.file(EXECUTABLE).arrayBuffer())
    expect(bytes.includes(join(ROOT, 'src/'))).toBe(false)
  })

  test('springs no trap of its folder and leaves nothing but its data', () => {
    expect(readdirSync(folder).sort()).toEqual([...Object.keys(TRAPS), 'data'].sort())
  })
})
