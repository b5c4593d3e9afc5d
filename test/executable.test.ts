/** The built executable, in a folder that holds nothing but traps: all that a user has. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { textOf } from './dashboard/pages.ts'
import { startMailServer } from './mail/mail-server.ts'
import { connect } from './mcp/outside.ts'
import { type Begun, call, eventpost, eventpostJson, makeFolder, MANY_MS, startServer } from './cli/process.ts'
import { cookieOf, postForm, turnOnTwoStep } from './cli/signing-in.ts'
import { BUILD_MS, ensureExecutable, EXECUTABLE } from './executable.ts'
import { findPort } from './ports.ts'
import { comesTrue } from './waiting.ts'

const ROOT = join(import.meta.dir, '..')
const OWNER = { email: 'owner@example.com', password: 'correct horse battery' }

const { folder, remove } = makeFolder()
/** What was set up first. */
const begun = {} as Begun
const how = { program: [EXECUTABLE], cwd: folder }

async function startWithMail() {
  const mails = await startMailServer()
  const env = { EVENTPOST_SMTP_URL: mails.url, EVENTPOST_MAIL_FROM: 'Demo <hello@app.example.com>' }
  return { server: await startServer({ ...how, data: './data', env }), mails }
}
let served: ReturnType<typeof startWithMail> | null = null
/** On what was set up first; several tests share it. */
const serveWithMail = () => (served ??= startWithMail())

/** What Bun reads from the current folder unless the build forbids it. */
const TRAPS = {
  'bunfig.toml': 'preload = ["./trap.ts"]\n',
  'trap.ts': "await Bun.write('sprung', 'by bunfig.toml')\nprocess.exit(9)\n",
  '.env': 'EVENTPOST_DATA=./sprung-by-env\nEVENTPOST_PORT=99999\nPORT=99999\n',
  'package.json': '{"name":"trap","version":"9.9.9","type":"commonjs"}\n',
  'tsconfig.json': '{"compilerOptions":{"jsxImportSource":"trap","paths":{"*":["./trap.ts"]}}}\n',
}

beforeAll(async () => {
  await ensureExecutable()
  for (const [name, text] of Object.entries(TRAPS)) writeFileSync(join(folder, name), text)
}, BUILD_MS)
afterAll(async () => {
  const { server, mails } = (await served) ?? {}
  const stopped = await server?.stop()
  await mails?.stop()
  remove()
  if (stopped) expect(stopped.code).toBe(0)
})

describe('the executable', () => {
  test('prints help and its version', async () => {
    const help = await eventpost([], how)
    expect(help).toMatchObject({ code: 0, err: '' })
    expect(help.out).toContain('  serve')
    const { version } = await Bun.file(join(ROOT, 'package.json')).json()
    expect(await eventpostJson<object>(['version'], how)).toEqual({ version, schemaVersion: expect.any(Number) })
    const licenses = await eventpost(['licenses'], how)
    expect([licenses.code, licenses.err]).toEqual([0, ''])
    for (const name of ['elysia', 'SQLite', 'JavaScriptCore']) expect(licenses.out).toContain(`\n${name} `.trimEnd())
  })

  test('sets up, serves, stores an event, returns it and stops', async () => {
    writeFileSync(join(folder, 'password'), OWNER.password)
    const words = [
      '--email',
      OWNER.email,
      '--app',
      'Demo',
      '--domain',
      'app.example.com',
      '--password-file',
      'password',
    ]
    Object.assign(begun, await eventpostJson<Begun>(['init', ...words], how))
    rmSync(join(folder, 'password'))
    const { appId, apiKey } = begun
    // its default folder: the data is where it was started
    const server = await startServer({ ...how, data: './data' })
    const event = { app: appId, email: 'ada@example.com', event: 'first', createContact: true }
    const { status, body } = await call(server.url, apiKey, 'POST', '/api/v1/events', event)
    expect([status, body]).toEqual([202, { ok: true, contactId: expect.stringMatching(/^con_/), created: true }])
    const list = await call(server.url, apiKey, 'GET', `/api/v1/events?app=${appId}`)
    expect(list.body.data).toMatchObject([{ event: 'first', email: 'ada@example.com' }])

    const page = await fetch(`${server.url}/`)
    const html = await page.text()
    const sheet = /href="(\/assets\/style-\w+\.css)"/.exec(html)?.[1]
    const style = await fetch(`${server.url}${sheet}`, { headers: { 'Accept-Encoding': 'br' } })
    expect([page.status, style.status]).toEqual([200, 200])
    expect(style.headers.get('content-encoding')).toBe('br')
    expect(style.headers.get('cache-control')).toContain('immutable')
    expect(style.headers.get('content-type')).toStartWith('text/css')
    expect((await style.text()).length).toBeGreaterThan(1_000)

    const script = /src="(\/assets\/islands\/page-\w+\.js)"/.exec(html)?.[1]
    const island = await fetch(`${server.url}${script}`)
    expect([island.status, island.headers.get('content-type')]).toEqual([200, 'text/javascript;charset=utf-8'])

    expect((await server.stop()).code).toBe(0)
    expect(server.said.err).toBe('')
  })

  test('simulates a message in its thread', async () => {
    const { server } = await serveWithMail()
    const client = await connect({ url: server.url, key: begun.apiKey })
    const { data = [] } = (await client.callTool({ name: 'list_messages', arguments: { app: begun.appId } }))
      .structuredContent as { data?: { id: string }[] }
    const asked = { app: begun.appId, messageId: data[0]?.id }
    const { structuredContent } = await client.callTool({ name: 'simulate_message', arguments: asked })
    expect(structuredContent).toMatchObject({ ok: true, simulation: { triggered: 0 } })
    await client.close()
  })

  test('renders templates in their thread, and stops endless ones', async () => {
    const render = async (body: string) => {
      const message = { name: `${body.length}`, trigger: { event: 'results_ready' }, mail: { subject: 'Ready', body } }
      writeFileSync(join(folder, 'messages.json'), JSON.stringify([message]))
      const words = ['message', 'import', 'messages.json', '--data', './data', '--app', begun.appId, '--status', 'live']
      return eventpost([...words, '--dry-run', '--json'], { ...how, env: { EVENTPOST_MAIL_FROM: 'post@example.com' } })
    }
    expect(await render('Hello **{{ contact.firstName | default: "you" }}**')).toMatchObject({
      code: 0,
      err: [
        'eventpost: nothing was saved',
        "eventpost: 50: mail: Values weren't checked. No events to check yet.",
        '',
      ].join('\n'),
    })
    const endless = await render('{% for i in (9007199254740992..9007199254740994) %}y{% endfor %}')
    expect(endless).toMatchObject({ code: 1, err: expect.stringContaining('a range needs two whole numbers') })
    rmSync(join(folder, 'messages.json'))
  })

  test('signs in with a password and a code', async () => {
    const { server } = await serveWithMail()
    const page = await turnOnTwoStep(server.url, OWNER)
    const [codes = ''] = await textOf(await page.text(), '#recovery-codes')
    const asked = await postForm(server.url, '/sign-in', OWNER)
    const fields = { code: '', recoveryCode: codes.split('\n')[0] ?? '' }
    const signedIn = await postForm(server.url, '/sign-in/code', fields, cookieOf(asked))
    expect([page.status, asked.headers.get('location'), signedIn.headers.get('location')]).toEqual([
      200,
      '/sign-in/code?next=',
      '/',
    ])
  })

  test(
    'runs the commands of the README',
    async () => {
      const port = String(await findPort())
      const readme = await Bun.file(join(ROOT, 'README.md')).text()
      const [, steps = ''] = /## The first event\n[^]*?```sh\n([^]*?)```/.exec(readme) ?? []
      const script = steps
        .replace(/^npx -y bun run build.*$/m, '')
        .replaceAll('dist/eventpost', EXECUTABLE)
        .replaceAll(':8080', `:${port}`)
      const { folder: cwd, remove: removeFolder } = makeFolder()
      const child = Bun.spawn(['sh', '-c', `${script}\nkill $!; wait $!`], {
        cwd,
        env: { PATH: process.env.PATH, EVENTPOST_PORT: port },
        stderr: 'ignore',
        timeout: MANY_MS,
      })
      const out = await new Response(child.stdout).text()
      const code = await child.exited
      removeFolder()
      expect([code, out]).toEqual([0, expect.stringMatching(/^appId +app_/m)])
      expect(out).toMatch(/\{"ok":true,"contactId":"con_\w+","created":true\}/)
      expect(out).toMatch(/\{"ok":true,"data":\[\{.*"event":"results_ready".*"email":"ada@example.com"/)
    },
    MANY_MS,
  )
  test('sends the email of a shipped message through a mail server', async () => {
    const { appId, apiKey } = begun
    const { server, mails } = await serveWithMail()
    const exported = await eventpost(['message', 'export', '--app', appId], how)
    const [first] = JSON.parse(exported.out) as { wait: object }[]
    writeFileSync(join(folder, 'data/messages.json'), JSON.stringify([{ ...first, wait: { minutes: 0 } }]))
    await eventpostJson(['message', 'import', 'data/messages.json', '--app', appId, '--status', 'live'], how)
    const properties = { headline: 'Your 12 pictures are ready.', url: 'https://app.example.com/results/1' }
    const event = { app: appId, email: 'grace@example.com', event: 'results_ready', createContact: true, properties }
    expect((await call(server.url, apiKey, 'POST', '/api/v1/events', event)).status).toBe(202)
    // beside the security notices to the owner
    const sent = () => mails.received.filter(({ to }) => to[0] !== OWNER.email)
    expect(await comesTrue(() => sent().length > 0)).toBe(true)
    expect(sent()).toMatchObject([{ from: 'hello@app.example.com', to: ['grace@example.com'] }])
    expect(sent()[0]?.raw).toContain('Subject: Your 12 pictures are ready.')
    expect(sent()[0]?.raw).toContain('https://app.example.com/results/1')
  })

  // with CommonJS bytecode it would start its threads from the sources where they still lie, and nowhere else
  test('does not contain its build path', async () => {
    const bytes = Buffer.from(await Bun.file(EXECUTABLE).arrayBuffer())
    expect(bytes.includes(join(ROOT, 'src/'))).toBe(false)
  })

  test('ignores files of its folder and leaves only its data', () => {
    expect(readdirSync(folder).sort()).toEqual([...Object.keys(TRAPS), 'data'].sort())
  })
})
