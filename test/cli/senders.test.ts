import { openTestStore, readStored } from '../data-folder.ts'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { isOnPostgres } from '../postgres/test-databases.ts'
import { type Begun, eventpost, eventpostJson, makeFolder, MANY_MS, setUp, startServer } from './process.ts'
import { refused, wrongUse } from './refused.ts'

const { folder, remove } = makeFolder()
const MASTER_KEY = 'k'.repeat(32)
let first: Begun
let second: Begun
const data = join(folder, 'data')
const FILE = join(folder, 'messages.json')
const SMTP = { EVENTPOST_SMTP_URL: 'smtp://user:the-password@127.0.0.1:9' }

beforeAll(async () => {
  first = await setUp(data)
  second = await eventpostJson<Begun>([
    'account',
    'create',
    '--data',
    data,
    '--email',
    'eve@x.example',
    '--app',
    'Other',
  ])
  writeFileSync(FILE, JSON.stringify([message({})]))
}, MANY_MS)
afterAll(remove)

const message = (mail: object) => ({ name: 'M', trigger: { event: 'x' }, mail: { subject: 'S', body: 'B', ...mail } })
const importLive = (appId = first.appId, how = {}) =>
  eventpost(['message', 'import', FILE, '--data', data, '--app', appId, '--status', 'live'], how)
type Row = { app: string; address: string; isDefault: boolean; domain: string; record: string | null }
const list = (...words: string[]) => eventpostJson<Row[]>(['sender', 'list', '--data', data, ...words])

test(
  'the first sender address of an app is its default',
  async () => {
    const of = ['--data', data, '--app', first.appId]
    expect(await eventpostJson<Row[]>(['sender', 'add', 'first@own.example', ...of])).toMatchObject([
      { address: 'first@own.example', isDefault: true },
    ])
    expect(await eventpostJson<Row[]>(['sender', 'add', 'other@own.example', ...of])).toMatchObject([
      { address: 'first@own.example', isDefault: true },
      { address: 'other@own.example', isDefault: false },
    ])
    for (const address of ['other@own.example', 'first@own.example'])
      expect(await eventpost(['sender', 'remove', address, ...of])).toMatchObject({ code: 0 })
  },
  MANY_MS,
)

describe('beside a server that has a sender', () => {
  test(
    'messages go live whatever the environment of the command says',
    async () => {
      expect(await importLive()).toEqual(refused('There is no sender address.*EVENTPOST_MAIL_FROM'))
      const words = ['--mail-from', 'Demo <post@ours.example>', '--base-url', 'https://post.example']
      const server = await startServer({ data, words, env: SMTP })
      expect(await importLive()).toMatchObject({ code: 0, err: '' })
      expect(await list('--app', first.appId)).toMatchObject([
        { address: 'post@ours.example', isDefault: true, domain: 'installation', record: null },
      ])
      await server.stop()
      // still works when the server has stopped: commands only use the data folder
      expect(await importLive()).toMatchObject({ code: 0 })
      const address = isOnPostgres ? '' : readFileSync(join(data, 'serve.url'), 'utf8')
      const stored = (await readStored(data)) + address
      expect([stored.includes('post@ours.example'), stored.includes('the-password')]).toEqual([true, false])
    },
    MANY_MS,
  )

  test(
    'that started without one, the command refuses again',
    async () => {
      const server = await startServer({ data })
      await server.stop()
      expect(await importLive()).toEqual(refused('There is no sender address.*EVENTPOST_MAIL_FROM'))
      const env = { EVENTPOST_MAIL_FROM: 'post@ours.example' }
      expect(await importLive(first.appId, { env })).toMatchObject({ code: 0 })
    },
    MANY_MS,
  )

  test(
    'whose secrets are sealed, the command names the variable that it needs',
    async () => {
      const sealed = join(folder, 'sealed')
      const env = { EVENTPOST_MASTER_KEY: MASTER_KEY }
      const { appId } = await setUp(sealed, { env })
      const words = ['message', 'import', FILE, '--data', sealed, '--app', appId, '--status', 'live']
      const server = await startServer({ data: sealed, words: ['--mail-from', 'post@ours.example'], env })
      expect(await eventpost(words)).toEqual(refused('EVENTPOST_MASTER_KEY'))
      expect(await eventpost(words, { env })).toMatchObject({ code: 0 })
      await server.stop()
    },
    MANY_MS,
  )
})

describe('sender addresses', () => {
  test(
    'can be added and removed; a domain of a second account must be verified',
    async () => {
      const server = await startServer({ data, words: ['--mail-from', 'post@ours.example'], env: SMTP })
      const of = ['--data', data, '--app', second.appId]
      const record = `_eventpost.mine.example TXT eventpost-account=${second.accountId}`
      expect(await eventpostJson<Row[]>(['sender', 'add', 'Hello@Mine.example', '--default', ...of])).toMatchObject([
        { address: 'hello@mine.example', isDefault: true, domain: 'unverified', record },
        { address: 'post@ours.example', isDefault: false, domain: 'installation', record: null },
      ])
      writeFileSync(FILE, JSON.stringify([message({ fromEmail: 'hello@mine.example' })]))
      expect(await importLive(second.appId)).toEqual(
        refused('mail.fromEmail: mine.example is not verified.*_eventpost'),
      )
      await server.stop()
      const again = await startServer({ data, words: ['--mail-from', 'post@ours.example'], env: SMTP })
      await again.stop()
      expect(again.said.out).toContain(
        `"fix":"eventpost sender bind mine.example --account ${second.accountId}","verifiedBy":null`,
      )
      const account = ['--data', data, '--account', second.accountId]
      expect(await eventpost(['sender', 'bind', 'mine.example', ...account])).toMatchObject({ code: 0 })
      expect(await list('--app', second.appId)).toMatchObject([{ domain: 'verified', record: null }, {}])
      expect(await importLive(second.appId)).toMatchObject({ code: 0 })
      expect(await eventpost(['sender', 'remove', 'hello@mine.example', ...of])).toEqual(
        refused('The message "M" uses hello@mine.example'),
      )
      expect(await eventpost(['sender', 'unbind', 'mine.example', ...account])).toMatchObject({ code: 0 })
      expect(await eventpost(['sender', 'unbind', 'mine.example', ...account])).toEqual(refused('is not bound to'))
      expect(await list('--app', second.appId)).toMatchObject([{ domain: 'unverified', record }, {}])
    },
    MANY_MS * 2,
  )

  test(
    'of a message must belong to the app',
    async () => {
      writeFileSync(FILE, JSON.stringify([message({ fromEmail: 'ceo@bank.example' })]))
      const ran = await eventpost(['message', 'import', FILE, '--data', data, '--app', second.appId])
      expect(ran).toEqual(refused(".0..mail.fromEmail: This is not one of the app's sender addresses. Choose one of"))
      expect(ran.err).not.toContain('bank')
    },
    MANY_MS,
  )

  test('wrong words', async () => {
    const of = ['--data', data, '--app', second.appId]
    expect(await eventpost(['sender', 'add', 'nobody', ...of])).toEqual(wrongUse('one email address'))
    expect(await eventpost(['sender', 'add', ...of])).toEqual(wrongUse('Specify one address'))
    expect(await eventpost(['sender', 'remove', 'nobody@mine.example', ...of])).toEqual(
      refused('nobody@mine.example was not added to this app'),
    )
    expect(await eventpost(['sender', 'bind', 'localhost', '--data', data])).toEqual(wrongUse('Enter a domain'))
    expect(await eventpost(['sender', 'bind', 'co.uk', '--data', data])).toEqual(wrongUse('co.uk is a public suffix'))
  })
})

test(
  'a conflict between accounts is logged at start',
  async () => {
    const store = await openTestStore(data, { rules: STORE_RULES })
    const [app] = await store.listApps(first.accountId)
    const by = { accountId: first.accountId, appId: app?.id ?? 0, actor: 'test', at: Date.now() }
    await store.setMailSettings({ ...by, settings: { fromEmail: 'us@both.example' } })
    await store.bindSenderDomain({ ...by, domain: 'both.example', proof: 'existing' })
    await store.close()
    await eventpost(['sender', 'add', 'we@both.example', '--data', data, '--app', second.appId])
    const server = await startServer({ data, env: SMTP })
    await server.stop()
    const lines = server.said.out.split('\n').filter((line) => line.includes('both.example'))
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'warn', domain: 'both.example', accountId: second.accountId, verifiedBy: first.accountId },
    ])
    expect(server.said.out).not.toContain('we@both')
  },
  MANY_MS,
)
