import { openTestStore } from '../data-folder.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ORIGIN, report } from '../api/reports.ts'
import {
  type Begun,
  call,
  eventpost,
  eventpostJson,
  makeFolder,
  MANY_MS,
  type Running,
  type ServeHow,
  setUp,
  startServer,
} from './process.ts'
import { refused, wrongUse } from './refused.ts'
import { openLink } from './signing-in.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { findPort } from '../ports.ts'

const { folder, remove } = makeFolder()
/** With an account. */
const data = join(folder, 'data')
let running: Running[] = []
beforeAll(() => setUp(data))

const serve = async (how: Partial<ServeHow> = {}): Promise<Running> => {
  const server = await startServer({ data, ...how })
  running.push(server)
  return server
}
afterEach(async () => {
  for (const server of running) await server.stop('SIGKILL')
  running = []
})
afterAll(remove)

const outputs = new Map<string, Promise<{ url: string; out: string; err: string }>>()

async function startAndStop(how: Partial<ServeHow>) {
  const { url, said, stop } = await startServer({ data, ...how })
  await stop()
  return { url, ...said }
}

/** What a server says from its start to its end: each is started once for all tests. */
function outputOf(how: Partial<ServeHow>): ReturnType<typeof startAndStop> {
  const key = JSON.stringify(how)
  const output = outputs.get(key) ?? startAndStop(how)
  outputs.set(key, output)
  return output
}
const linesOf = ({ out }: { out: string }) =>
  out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

const FAR = { EVENTPOST_SMTP_URL: 'smtp://user:pa55@mail.example.com:587' }
const REACHED = ['--base-url', 'https://post.example.com/']
const PLAIN_HTTP = { words: ['--base-url', 'http://post.example.com', '--backup-to', join(folder, 'no-backups')] }
const UNKNOWN = { EVENTPOST_PROT: '1', EVENTPOST_PORT_FILE: '/x', EVENTPOST_HOST: '127.0.0.1' }
const ON_THIS_MACHINE = {
  words: ['--base-url', 'http://localhost:9000', '--smtp-url', 'smtp://localhost:1025'],
  env: UNKNOWN,
}
const FAR_MAIL = { env: FAR }
const COMPLETE = { words: [...REACHED, '--mail-from', 'post@example.com'], env: FAR }

const statusOf = async (url: string, headers: Record<string, string> = {}): Promise<number> =>
  (await fetch(url, { headers, redirect: 'manual' })).status

describe('serve', () => {
  test('on an empty folder prints a working setup link, a new one each time, and restricts its files to the user', async () => {
    const empty = join(folder, 'empty')
    const server = await serve({ data: empty })
    const link = /^set up at (\S+)$/m.exec(server.said.out)?.[1] ?? ''
    expect(link).toMatch(new RegExp(`^${server.url}/setup\\?token=[0-9A-Za-z]{43}$`))
    expect((await openLink(link)).status).toBe(200)
    expect(server.said.out).toStartWith(`created ${empty}/eventpost.db\n`)
    expect(server.said.out).toMatch(
      /^\(the link works once and expires after a day; restart the server for a new one\)$/m,
    )
    expect(server.said.out.indexOf('set up at')).toBeLessThan(server.said.out.indexOf('listening on'))
    for (const name of readdirSync(empty)) expect([name, statSync(join(empty, name)).mode & 0o077]).toEqual([name, 0])
    await server.stop()
    const again = await serve({ data: empty })
    const token = new URL(link).search
    expect(again.said.out).not.toContain(token)
    expect((await openLink(`${again.url}/setup${token}`)).status).toBe(404)
  })

  test('prints no link after set-up', async () => {
    const { out, err } = await outputOf({})
    expect(out).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+\n/)
    expect(err).toBe('')
  })

  test('restricts files that others could open, with a log line', async () => {
    await setUp(join(folder, 'wide'))
    const wide = join(folder, 'wide')
    const first = await serve({ data: wide })
    // a crash leaves a -wal and a -shm
    await first.stop('SIGKILL')
    const copies = ['backup.db', 'eventpost.db.before-7']
    for (const name of copies) writeFileSync(join(wide, name), '')
    const names = ['eventpost.db', 'eventpost.db-wal', 'eventpost.db-shm', ...copies]
    for (const name of names) chmodSync(join(wide, name), 0o644)
    chmodSync(join(wide, 'eventpost.db'), 0o666)
    const server = await serve({ data: wide })
    for (const name of readdirSync(wide)) expect([name, statSync(join(wide, name)).mode & 0o077]).toEqual([name, 0])
    await server.stop()
    const lines = server.said.out.split('\n').filter((line) => line.includes('other users'))
    expect(
      lines
        .map((line) => JSON.parse(line))
        .map(({ level, file, mode }) => [level, file, mode])
        .sort(),
    ).toEqual(names.map((name) => ['warn', join(wide, name), name === 'eventpost.db' ? '0666' : '0644']).sort())
  })

  test('a command restricts them too, with a message', async () => {
    const wide = join(folder, 'wide-too')
    await setUp(wide)
    chmodSync(join(wide, 'eventpost.db'), 0o640)
    const { code, out, err } = await eventpost(['key', 'list', '--data', wide, '--json'])
    expect([code, JSON.parse(out).length]).toEqual([0, 1])
    expect(err).toBe(
      `eventpost: other users of this machine could open ${join(wide, 'eventpost.db')} (mode 0640); changed its mode to 0600\n`,
    )
    expect(statSync(join(wide, 'eventpost.db')).mode & 0o777).toBe(0o600)
  })

  test('prints the base URL it was given, and where it listens', async () => {
    const { url, out } = await outputOf(COMPLETE)
    expect(url).toBe('https://post.example.com')
    expect(out).toMatch(/^listening on https:\/\/post\.example\.com \(127\.0\.0\.1:\d+\)$/m)
  })

  test('warns of a backup folder that is missing, with the fix', async () => {
    const backups = join(folder, 'no-backups')
    const userName = Bun.spawnSync(['id', '-un']).stdout.toString().trim()
    const lines = linesOf(await outputOf(PLAIN_HTTP)).filter(({ message }) => message.includes('Scheduled backups'))
    expect(lines).toMatchObject([
      {
        level: 'warn',
        message: `Scheduled backups can't be made: the folder ${backups} does not exist.`,
        fix: `Run sudo install -d -m 700 -o ${userName} ${backups}`,
      },
    ])
  })

  test('warns about a public base URL with plain http', async () => {
    const warns = async (how: Partial<ServeHow>) =>
      (await outputOf(how)).out.includes('the base URL is plain http: put a proxy with TLS in front')
    expect(await warns(PLAIN_HTTP)).toBe(true)
    for (const fine of [COMPLETE, ON_THIS_MACHINE]) expect(await warns(fine)).toBe(false)
  })

  test('logs JSON lines without input', async () => {
    const server = await serve()
    await fetch(`${server.url}/api/v1/events?secret=hush`, { headers: { Authorization: 'Bearer mc_hush' } })
    await server.stop()
    const lines = server.said.out.trimEnd().split('\n').slice(1)
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ time: expect.any(String), level: 'info' })
    expect(lines.map((line) => JSON.parse(line).message)).toEqual(['request', 'stopping', 'stopped'])
    expect(server.said.out).not.toContain('hush')
  })
})

test('warns that members get no notices without a sender', async () => {
  const said = async (how: Partial<ServeHow>): Promise<boolean> =>
    (await outputOf(how)).out.includes('get no security notices: set EVENTPOST_MAIL_FROM')
  expect(await said(FAR_MAIL)).toBe(true)
  expect(await said(COMPLETE)).toBe(false)
  expect(await said({})).toBe(false)
})

test(
  'warns of live messages without a sender',
  async () => {
    const { folder: own, remove: removeOwn } = makeFolder()
    const { appId } = await setUp(own)
    const env = { EVENTPOST_MAIL_FROM: 'post@example.com' }
    const path = join(own, 'messages.json')
    writeFileSync(path, (await eventpost(['message', 'export', '--data', own, '--app', appId])).out)
    const words = ['message', 'import', path, '--data', own, '--app', appId, '--status', 'live']
    expect((await eventpost(words, { env })).code).toBe(0)
    const said = async (how: Partial<ServeHow>): Promise<object[]> =>
      linesOf(await startAndStop({ data: own, ...how })).filter(({ message }) =>
        message.includes('has no sender address'),
      )
    expect(await said({ env })).toEqual([])
    expect(await said({})).toMatchObject([{ level: 'warn', appId, messages: 2 }])
    removeOwn()
  },
  MANY_MS,
)

describe('links in mails', () => {
  const warnings = async (how: Partial<ServeHow>) =>
    linesOf(await outputOf(how)).filter(({ level }) => level === 'warn')
  const PRIVATE = 'EVENTPOST_MAIL_PRIVATE_HOSTS'
  const THIS_MACHINE = {
    message: 'links in emails work only on this machine: set EVENTPOST_BASE_URL or --base-url',
    baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
  }

  test(
    'to this machine only are reported if emails are sent',
    async () => {
      expect(await warnings(FAR_MAIL)).toEqual([expect.objectContaining(THIS_MACHINE)])
      expect((await outputOf(FAR_MAIL)).out).not.toContain('pa55')
      expect(await warnings({})).toEqual([])
      expect(await warnings(ON_THIS_MACHINE)).toHaveLength(1)
      expect(await warnings(COMPLETE)).toEqual([])
    },
    MANY_MS,
  )

  test(
    'also if an app has its own mail server, and a private one is reported unless allowed',
    async () => {
      const own = join(folder, 'own')
      await setUp(own)
      const store = await openTestStore(own, { rules: STORE_RULES })
      const account = await store.findAccount(null)
      const [app] = await store.listApps(account?.id ?? '')
      const by = { accountId: account?.id ?? '', appId: app?.id ?? 0, actor: 'test', at: Date.now() }
      const use = (smtpUrl: string) => store.setMailSettings({ ...by, settings: { smtpUrl } })
      expect(await use('smtps://mail.example.com')).not.toHaveProperty('refusal')
      const reached = linesOf(await startAndStop({ data: own, words: REACHED }))
      expect(reached.filter(({ level }) => level === 'warn')).toEqual([])
      expect(await use('smtp://ada:pa55@10.0.0.5')).not.toHaveProperty('refusal')
      await store.close()
      const refusedHost = { message: expect.stringContaining(PRIVATE), host: '10.0.0.5' }
      expect(await warnings({ data: own })).toMatchObject([THIS_MACHINE, refusedHost])
      expect(await warnings({ data: own, words: REACHED })).toMatchObject([refusedHost])
      expect((await outputOf({ data: own, words: REACHED })).out).not.toContain('pa55')
      expect(await warnings({ data: own, words: REACHED, env: { [PRIVATE]: '10.0.0.0/24' } })).toEqual([])
    },
    MANY_MS,
  )
})

describe('settings', () => {
  const errorOf = (env: Record<string, string>, words: string[] = []): Promise<string> =>
    eventpost(['serve', '--data', '/proc/nowhere', ...words], { here: true, env }).then(({ err }) => err)

  test('a wrong PORT is wrong use, until EVENTPOST_PORT or --port is set', async () => {
    expect(await errorOf({ PORT: 'none' })).toContain('eventpost: PORT takes a number')
    expect(await errorOf({ PORT: 'none', EVENTPOST_PORT: '0' })).toContain('/proc/nowhere')
  })

  test('an unknown setting has no effect and is named', async () => {
    const warning = 'eventpost: unknown settings are ignored: EVENTPOST_PROT, EVENTPOST_PORT_FILE\n'
    const listed = await eventpost(['account', 'list', '--data', data, '--json'], { env: UNKNOWN })
    expect((await outputOf(ON_THIS_MACHINE)).err).toBe(warning)
    expect([listed.err, JSON.parse(listed.out)]).toEqual([warning, expect.any(Array)])
  })

  test('PORT sets the port, and EVENTPOST_METRICS_TOKEN_FILE closes /metrics', async () => {
    const [port, file] = [String(await findPort()), join(folder, 'token')]
    writeFileSync(file, 'a-metrics-token\n')
    const server = await serve({ port: null, env: { PORT: port, EVENTPOST_METRICS_TOKEN_FILE: file } })
    expect(server.url).toBe(`http://127.0.0.1:${port}`)
    expect(await statusOf(`${server.url}/metrics`)).toBe(401)
    expect(await statusOf(`${server.url}/metrics`, { Authorization: 'Bearer a-metrics-token' })).toBe(200)
  })

  test('EVENTPOST_DATA sets the data folder', async () => {
    const elsewhere = join(folder, 'elsewhere')
    await setUp(elsewhere)
    const { code, out } = await eventpost(['key', 'list'], { env: { EVENTPOST_DATA: elsewhere } })
    expect([code, out]).toEqual([0, expect.stringContaining('First key')])
  })
})

describe('a master key', () => {
  const KEY = { EVENTPOST_MASTER_KEY: 'a master key of more than 32 characters' }
  const sealed = join(folder, 'sealed')
  const files = (): string =>
    readdirSync(sealed)
      .map((name) => readFileSync(join(sealed, name), 'latin1'))
      .join('')
  let begun: Begun
  beforeAll(async () => {
    const words = ['--email', 'owner@example.com', '--app', 'Demo', '--domain', 'first.example']
    begun = await eventpostJson<Begun>(['init', '--data', sealed, ...words], { env: KEY })
  })
  const keyList = (env: Record<string, string>) => eventpost(['key', 'list', '--data', sealed], { env })

  test(
    'seals the secrets from init on, and signatures and commands work with it',
    async () => {
      const server = await serve({ data: sealed, env: KEY })
      const person = { app: begun.appId, email: 'ada@example.com' }
      expect((await call(server.url, begun.apiKey, 'POST', '/api/v1/contacts', person)).status).toBe(201)
      const send = async (identitySecret: string): Promise<number> => {
        const body = JSON.stringify(report({ ...begun, identitySecret }))
        return (await fetch(`${server.url}/c`, { method: 'POST', headers: { Origin: ORIGIN }, body })).status
      }
      expect([await send(begun.identitySecret), await send(`${begun.identitySecret}x`)]).toEqual([202, 401])
      expect((await keyList(KEY)).code).toBe(0)
      expect([files().includes(begun.siteId), files().includes(begun.identitySecret)]).toEqual([true, false])
    },
    MANY_MS,
  )

  test(
    'is required by the server and by commands',
    async () => {
      const missing =
        'The secrets in this database are encrypted. Set EVENTPOST_MASTER_KEY to the key they were encrypted with.'
      const other = 'are encrypted with a different key, or were modified. Set EVENTPOST_MASTER_KEY'
      const start = (env: Record<string, string>) => eventpost(['serve', '--data', sealed, '--port', '0'], { env })
      const wrong = { EVENTPOST_MASTER_KEY: 'another key of more than 32 characters' }
      for (const run of [start, keyList]) {
        expect(await run({})).toEqual(refused(missing))
        expect(await run(wrong)).toEqual(refused(other))
      }
      for (const words of [['serve'], ['key', 'list']])
        expect(
          await eventpost([...words, '--data', sealed], { here: true, env: { EVENTPOST_MASTER_KEY: 'short' } }),
        ).toEqual(wrongUse('EVENTPOST_MASTER_KEY takes at least 32'))
      const file = join(folder, 'key')
      writeFileSync(file, `${KEY.EVENTPOST_MASTER_KEY}\n`)
      expect((await keyList({ EVENTPOST_MASTER_KEY_FILE: file })).code).toBe(0)
    },
    MANY_MS,
  )

  test(
    'can be changed by a command while the server is stopped',
    async () => {
      const next = { EVENTPOST_MASTER_KEY: 'the next key of more than 32 characters' }
      const file = join(folder, 'next-key')
      writeFileSync(file, next.EVENTPOST_MASTER_KEY)
      const change = (env: Record<string, string>) =>
        eventpost(['master-key', 'change', '--data', sealed, '--new-key-file', file], { env })
      const server = await serve({ data: sealed, env: KEY })
      expect(await change(KEY)).toEqual(refused('Another Eventpost server is using'))
      await server.stop()
      const keyless = await change({})
      expect(keyless).toEqual(refused('secrets in this database are encrypted. Set EVENTPOST_MASTER_KEY to the key'))
      const { code, out } = await change(KEY)
      expect([code, out]).toEqual([0, expect.stringContaining('Start the server with the new key')])
      expect([(await keyList(KEY)).code, (await keyList(next)).code]).toEqual([1, 0])
      writeFileSync(file, KEY.EVENTPOST_MASTER_KEY)
      expect((await change(next)).code).toBe(0)
    },
    MANY_MS,
  )

  test('must be set for the server first', async () => {
    const open = join(folder, 'open')
    const server = await serve({ data: open })
    const list = () => eventpost(['account', 'list', '--data', open], { env: KEY })
    expect(await list()).toEqual(refused('A server is using \\S+ without the master key. Restart it with'))
    await server.stop()
    expect((await list()).code).toBe(0)
  })
})
