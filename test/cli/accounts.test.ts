import { readStored, withSql } from '../data-folder.ts'
import { isOnPostgres } from '../postgres/test-databases.ts'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Begun,
  call,
  eventpost,
  eventpostJson,
  MANY_MS,
  makeFolder,
  prepareData,
  type Running,
  startServer,
} from './process.ts'
import { refused, wrongUse } from './refused.ts'
import { postForm } from './signing-in.ts'

const { folder, remove } = makeFolder()
const data = join(folder, 'data')
const passwordFile = join(folder, 'password')
const OWNER = ['--email', 'Owner@Example.com', '--app', 'Demo']
let begun: Begun
let server: Running
const others: Running[] = []

beforeAll(async () => {
  writeFileSync(passwordFile, 'a long walk home\nand a second line\n')
  const words = ['--domain', 'app.example.com', '--domain', 'www.example.com']
  begun = await eventpostJson<Begun>(['init', '--data', data, ...OWNER, ...words])
  server = await startServer({ data })
}, MANY_MS)
afterAll(async () => {
  for (const one of [server, ...others]) await one.stop('SIGKILL')
  remove()
})

const SHAPE = {
  accountId: expect.stringMatching(/^acc_[0-9a-z]{21}$/),
  appId: expect.stringMatching(/^app_[0-9a-z]{21}$/),
  siteId: expect.stringMatching(/^site_[0-9a-z]{21}$/),
  apiKey: expect.stringMatching(/^mc_[0-9A-Za-z]{36}$/),
  identitySecret: expect.stringMatching(/^\S{32,}$/),
  signInUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8080\/password\?token=[0-9A-Za-z]{43}$/),
}

const post = (key: string, app: string, email = 'ada@example.com') =>
  call(server.url, key, 'POST', '/api/v1/events', { app, email, event: 'results_ready', createContact: true })

const passwordHashes = (): Promise<unknown[]> =>
  withSql(data, async (sql) => {
    const text = 'SELECT password_hash AS hash FROM members ORDER BY created_at, id'
    return (await sql.prepare<{ hash: string | null }>(text).all()).map(({ hash }) => hash)
  })

const PORT_ASSUMED =
  'The link assumes port 8080. If you start the server with another --port, change the port in the link.'

/** On PostgreSQL, each test's database has its tables before. */
const createdIn = (data: string): string => (isOnPostgres ? '' : `created ${data}/eventpost.db\n`)

describe('init', () => {
  test('prints everything a server needs, and the key works', async () => {
    expect(begun).toEqual(SHAPE)
    expect((await post(begun.apiKey, begun.appId)).status).toBe(202)
  })

  test.skipIf(isOnPostgres)('restricts its files to the user', () => {
    expect(statSync(data).mode & 0o777).toBe(0o700)
    expect(statSync(join(data, 'eventpost.db')).mode & 0o777).toBe(0o600)
  })

  test('prints names and values for people', async () => {
    const fresh = join(folder, 'text')
    const { code, out, err } = await eventpost(['init', '--data', fresh, ...OWNER])
    expect([code, err]).toEqual([0, `${createdIn(fresh)}${PORT_ASSUMED}\n`])
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
    expect(Object.fromEntries(rows)).toEqual(SHAPE)
  })

  test('runs once: a second time changes nothing', async () => {
    for (const words of [
      ['--email', 'other@example.com', '--app', 'Other'],
      [...OWNER, '--password-file', passwordFile],
    ]) {
      const again = await eventpost(['init', '--data', data, ...words])
      expect(again).toEqual(refused('is already set up.*eventpost account create'))
    }
    expect(await passwordHashes()).toHaveLength(1)
  })

  test('prints the link with the public address', async () => {
    const initIn = async (name: string): Promise<string[]> => [
      'init',
      '--data',
      (await prepareData(join(folder, name))).folder,
      ...OWNER,
    ]
    const signInUrl = async (name: string, words: string[], env = {}): Promise<string> =>
      (await eventpostJson<Begun>([...(await initIn(name)), ...words], { env })).signInUrl
    expect(await signInUrl('u1', ['--base-url', 'https://post.example.com/'])).toStartWith(
      'https://post.example.com/password?',
    )
    const env = { EVENTPOST_BASE_URL: 'https://env.example.com' }
    expect(await signInUrl('u2', [], env)).toStartWith('https://env.example.com/password?')
    expect(await signInUrl('u3', [], { PORT: '9000' })).toStartWith('http://127.0.0.1:9000/password?')
    const { err } = await eventpost([...(await initIn('u5')), '--port', '18481'])
    expect(err).not.toContain(PORT_ASSUMED)
    expect(await signInUrl('u4', ['--port', '18481'])).toStartWith('http://127.0.0.1:18481/password?')
    const free = await eventpost(await initIn('u6'), { env: { PORT: '0' } })
    expect([free.out, free.err]).toEqual([
      expect.stringContaining('http://127.0.0.1:8080/password?'),
      expect.stringContaining(PORT_ASSUMED),
    ])
    expect(await eventpost(['init', ...OWNER, '--port', '0'])).toEqual(wrongUse('--port cannot be 0 here'))
    expect(await eventpost(['init', ...OWNER, '--base-url', 'post'])).toEqual(wrongUse('--base-url takes an address'))
  })

  test('refuses a password made of the email or the names', async () => {
    for (const password of ['owner@example.com', 'Account2026', 'D3mo-Demo']) {
      const file = join(folder, 'guessable')
      writeFileSync(file, password)
      const words = ['--data', join(folder, 'none'), ...OWNER, '--name', 'Account', '--password-file', file]
      const { code, err } = await eventpost(['init', ...words])
      expect([password, code, err]).toEqual([password, 2, expect.stringContaining('too similar to your email')])
    }
  })

  test('takes a password from a file, and never shows it', async () => {
    const inText = join(folder, 'with-password')
    const { code, out, err } = await eventpost([
      'init',
      '--data',
      inText,
      ...OWNER,
      '--password-file',
      passwordFile,
      '--json',
    ])
    expect([code, err]).toEqual([0, `${createdIn(inText)}${PORT_ASSUMED}\n`])
    expect(JSON.parse(out).signInUrl).toBe('http://127.0.0.1:8080/')
    expect(out).not.toContain('walk')
    const stored = await readStored(inText)
    expect(stored).toContain('$argon2id$v=19$m=19456,t=2,p=1$')
    expect(stored).not.toContain('walk')
  })

  test.each([
    ['short', 'at least 8 characters'],
    ['', 'first line is empty'],
    ['password', 'is too common'],
    ['x'.repeat(129), 'at most 128 characters'],
  ])('refuses the password %p and creates nothing', async (password, says) => {
    const [file, target] = [join(folder, 'bad-password'), join(folder, 'not-made')]
    writeFileSync(file, password)
    expect(await eventpost(['init', '--data', target, ...OWNER, '--password-file', file])).toEqual(wrongUse(says))
    expect(existsSync(target)).toBe(false)
  })
})

describe('account create', () => {
  test('creates another account beside the running server, separate from the first', async () => {
    const words = [
      '--email',
      'second@example.com',
      '--app',
      'Shop',
      '--name',
      'Second',
      '--password-file',
      passwordFile,
    ]
    const second = await eventpostJson<Begun>(['account', 'create', '--data', data, ...words])
    expect(second).toEqual({ ...SHAPE, signInUrl: `${server.url}/` })
    expect(second.accountId).not.toBe(begun.accountId)
    expect((await post(second.apiKey, second.appId)).status).toBe(202)
    expect(await post(second.apiKey, begun.appId)).toMatchObject({ status: 404, body: { error: 'app_not_found' } })
    expect(await passwordHashes()).toEqual([null, expect.stringContaining('$argon2id$')])
  })

  test('for a known email is joined by the link with their current password', async () => {
    const before = await passwordHashes()
    const words = ['--email', 'second@example.com', '--app', 'Third']
    const third = await eventpostJson<Begun>(['account', 'create', '--data', data, ...words])
    const link = new RegExp(`^${server.url}/password\\?token=\\w{43}$`)
    expect(third).toEqual({ ...SHAPE, signInUrl: expect.stringMatching(link) })
    const token = new URL(third.signInUrl).searchParams.get('token') ?? ''
    const join = async (password: string) =>
      fetch(`${server.url}/password`, {
        method: 'POST',
        headers: { 'Sec-Fetch-Site': 'same-origin' },
        body: new URLSearchParams({ token, password }),
      })
    expect((await join('four dull wooden spoons')).status).toBe(400)
    expect([(await join('a long walk home')).status, await passwordHashes()]).toEqual([200, before])
  })

  test('for a known email accepts only their password', async () => {
    const create = (file: string) =>
      eventpost([
        'account',
        'create',
        '--data',
        data,
        '--email',
        'second@example.com',
        '--app',
        'Fourth',
        '--password-file',
        file,
      ])
    const other = join(folder, 'other-password')
    writeFileSync(other, 'four dull wooden spoons')
    const before = await passwordHashes()
    expect(await create(other)).toEqual(refused('the password is wrong. Run the command without --password-file'))
    const { code, out } = await create(passwordFile)
    expect([code, out, await passwordHashes()]).toEqual([0, expect.stringContaining(`${server.url}/\n`), before])
  })

  test('for an invited person takes their first password, and keeps the invitation', async () => {
    const invited = await eventpostJson<{ signInUrl: string }>([
      'member',
      'invite',
      '--data',
      data,
      '--account',
      begun.accountId,
      '--email',
      'fay@example.com',
    ])
    const words = ['--email', 'fay@example.com', '--app', 'Fifth', '--password-file', passwordFile]
    const fifth = await eventpostJson<Begun>(['account', 'create', '--data', data, ...words])
    expect(fifth).toEqual({ ...SHAPE, signInUrl: `${server.url}/` })
    const token = new URL(invited.signInUrl).searchParams.get('token') ?? ''
    const join = (password: string) => postForm(server.url, '/password', { token, password })
    expect([(await join('another')).status, (await join('a long walk home')).status]).toEqual([400, 200])
  })

  // by a file in the data folder
  test.skipIf(isOnPostgres)(
    'prints a link to the address of the server, also after it stopped, or to --base-url',
    async () => {
      const linkOf = async (name: string, words: string[] = [], env = {}): Promise<string> => {
        const owner = ['--email', `${name}@example.com`, '--app', name]
        return (await eventpostJson<Begun>(['account', 'create', '--data', own, ...owner, ...words], { env })).signInUrl
      }
      const own = join(folder, 'own')
      const first = await startServer({ data: own })
      others.push(first)
      const origin = first.url
      const inside = await eventpostJson<Begun>(['init', '--data', own, ...OWNER], { env: { PORT: '9000' } })
      expect(inside.signInUrl).toStartWith(`${origin}/password?token=`)
      expect(await linkOf('shown', ['--base-url', 'https://a.example'])).toStartWith('https://a.example/password?')
      expect(await linkOf('set', [], { EVENTPOST_BASE_URL: 'https://b.example' })).toStartWith('https://b.example/')
      await first.stop()
      expect(await linkOf('later')).toStartWith(`${origin}/password?`)
      const second = await startServer({ data: own, words: ['--base-url', 'https://post.example.com'] })
      others.push(second)
      expect(await linkOf('proxied')).toStartWith('https://post.example.com/password?')
    },
    MANY_MS,
  )

  test('refuses an invalid name', async () => {
    expect(await eventpost(['account', 'create', '--data', data, ...OWNER, '--name', ' '])).toEqual(
      wrongUse('--name: Enter a name of 1 to 100 characters for the account'),
    )
  })

  test.skipIf(isOnPostgres)('needs a database', async () => {
    const nowhere = join(folder, 'nowhere')
    expect(await eventpost(['account', 'create', '--data', nowhere, ...OWNER])).toEqual(refused('no database in'))
    expect(existsSync(nowhere)).toBe(false)
  })
})

describe('account list', () => {
  test('lists them in order of creation, as JSON and as a table', async () => {
    const accounts = await eventpostJson<Record<string, string>[]>(['account', 'list', '--data', data])
    const createdAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    expect(accounts).toEqual([
      { accountId: begun.accountId, name: 'Demo', createdAt },
      ...['Second', 'Third', 'Fourth', 'Fifth'].map((name) => ({
        accountId: expect.stringMatching(/^acc_/),
        name,
        createdAt,
      })),
    ])
    const { code, out } = await eventpost(['account', 'list', '--data', data])
    expect([code, out]).toEqual([0, expect.stringMatching(/^accountId +name +createdAt\nacc_\w+ +Demo .+\nacc_/)])
  })
})
