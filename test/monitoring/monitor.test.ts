/** Real mail servers and a real webhook; the clock is moved. */
import { withSql } from '../data-folder.ts'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createAccount } from '../../src/accounts/accounts.ts'
import { inviteMember } from '../../src/accounts/members.ts'
import type { NewRequest } from '../../src/store/requests.ts'
import { listTold } from '../../src/monitoring/alert-facts.ts'
import { MINUTE_MS } from '../../src/core/clock.ts'
import { createMonitor } from '../../src/monitoring/monitor.ts'
import { createWebhook } from '../../src/monitoring/webhook.ts'
import { type AccountPages, openAccount } from '../dashboard/browser.ts'
import { LOOPBACK_HOSTS, TEST_SERVER } from '../helper.ts'
import { type MailServer, startMailServer } from '../mail/mail-server.ts'
import { letTurnsPass, until } from '../waiting.ts'

type Hook = { type: string; data: { kind?: string; title?: string }; text: string; id: string | null }

const TICK = 10_000
const QUIET = { server: TEST_SERVER, listErrors: () => [], note: () => {} }
let [first, second]: MailServer[] = []
let pages: AccountPages
let hooks: Hook[]
let webhook: ReturnType<typeof Bun.serve>
let isHookBroken = false
/** Statuses of its answers. */
let answerHook: (hook: Hook) => number | Promise<number>

beforeEach(async () => {
  ;[first, second] = await Promise.all([startMailServer(), startMailServer()])
  hooks = []
  isHookBroken = false
  answerHook = () => 200
  webhook = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      if (isHookBroken) return new Response('', { status: 500 })
      const hook = { ...((await request.json()) as Hook), id: request.headers.get('webhook-id') }
      const status = await answerHook(hook)
      if (status === 200) hooks.push(hook)
      return new Response('', { status })
    },
  })
  const defaults = { smtpUrl: first?.url ?? '', from: 'Post <post@example.com>', alertSmtpUrl: second?.url ?? '' }
  const url = `http://127.0.0.1:${webhook.port}/`
  pages = await openAccount({
    mail: { defaults, privateHosts: LOOPBACK_HOSTS, noteServer: () => {} },
    webhook: { url, secret: null, allowed: LOOPBACK_HOSTS },
  })
})
afterEach(async () => {
  await pages.close()
  await Promise.all([first?.stop(), second?.stop()])
  await webhook.stop(true)
})

let monitor: ReturnType<typeof createMonitor>
beforeEach(() => {
  monitor = pages.parts.monitor
})

/** Looks so many times, ten seconds apart. */
async function look(times: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    pages.clock.ms += TICK
    await monitor.check()
    await monitor.settle()
    await monitor.sendDue()
    await monitor.settle()
  }
}
/** As a new process would see it. */
const restart = (): void => {
  const { store, clock, mailer, baseUrl } = pages.parts
  const url = `http://127.0.0.1:${webhook.port}/`
  const callWebhook = createWebhook({ url, secret: null, allowed: LOOPBACK_HOSTS })
  const location = { folder: pages.folder }
  monitor = createMonitor({ store, clock, mailer, baseUrl, location, callWebhook, ...QUIET })
}
const subjectsOf = (server: MailServer | undefined) =>
  (server?.received ?? []).map(({ raw }) => /^Subject: (.*(?:\r\n .*)*)$/m.exec(raw)?.[1]?.replaceAll('\r\n', ''))
const typesOf = () => hooks.map(({ type }) => type)

describe('a mail server that is taken away', () => {
  test('is reported once, within a minute, by the second server and the webhook; its return once, after a restart', async () => {
    await look(3)
    expect([typesOf(), subjectsOf(first)]).toEqual([[], []])
    await first?.stop()
    await look(4)
    const title = `The mail server 127.0.0.1:${first?.port} can't be reached`
    expect(typesOf()).toEqual(['alert.opened'])
    expect(hooks[0]).toMatchObject({ data: { kind: 'sending', title } })
    expect(hooks[0]?.text).toStartWith(`Problem: ${title}. `)
    expect(subjectsOf(second)).toEqual([`Problem: ${title}`])
    expect(second?.received[0]?.to).toEqual(['ada@example.com'])
    restart()
    await look(8)
    expect(typesOf()).toEqual(['alert.opened'])
    first = await startMailServer({}, {}, first?.port)
    await look(6)
    restart()
    await look(6)
    expect(typesOf()).toEqual(['alert.opened', 'alert.resolved'])
    expect(hooks[0]).toMatchObject({ data: { fix: expect.stringContaining('Start the mail server') } })
    const detail = expect.stringMatching(/^The problem is over\. It began on .+ and lasted .+\.$/)
    expect(hooks[1]).toMatchObject({ data: { title, detail, fix: null } })
    expect(new Set(hooks.map(({ id }) => id)).size).toBe(2)
    expect(subjectsOf(second)).toHaveLength(1)
    expect(subjectsOf(first)).toEqual([`Resolved: ${title}`])
  })

  test('is not reported for a moment', async () => {
    await look(2)
    await first?.stop()
    await look(1)
    first = await startMailServer({}, {}, first?.port)
    await look(6)
    expect(typesOf()).toEqual([])
  })
})

test('a webhook that fails is tried again, and learns of a problem once', async () => {
  isHookBroken = true
  await first?.stop()
  await look(6)
  isHookBroken = false
  await look(8)
  expect(typesOf()).toEqual(['alert.opened'])
  const [alert] = await pages.store.listAlerts()
  expect(alert?.notices.map(({ state }) => state)).toEqual(['sent', 'sent'])
})

test('a webhook that failed is tried again although nothing can be read', async () => {
  const { store } = pages.parts
  isHookBroken = true
  await look(2)
  await first?.stop()
  await look(4)
  isHookBroken = false
  store.listBrakes = () => Promise.reject(new Error('the database is gone'))
  pages.clock.ms += MINUTE_MS
  await expect(monitor.check()).rejects.toThrow('the database is gone')
  await monitor.settle()
  expect(typesOf()).toEqual(['alert.opened'])
})

test('the end of a problem is told again without waiting for the next look', async () => {
  await look(2)
  await first?.stop()
  await look(4)
  isHookBroken = true
  first = await startMailServer({}, {}, first?.port)
  await look(4)
  isHookBroken = false
  expect(typesOf()).toEqual(['alert.opened'])
  pages.clock.ms += MINUTE_MS
  await monitor.sendDue()
  await monitor.settle()
  expect(typesOf()).toEqual(['alert.opened', 'alert.resolved'])
})

test('an email that a mail server took without an answer is not sent a hundred times', async () => {
  await Promise.all([first?.stop(), second?.stop()])
  second = await startMailServer({ dot: () => 'drop', keepsDropped: true }, {}, second?.port)
  await look(30)
  expect(subjectsOf(second).length).toBeLessThanOrEqual(2)
})

test('the log says in words why an alert was not sent', async () => {
  const reasons: unknown[] = []
  const { store, clock, mailer, baseUrl } = pages.parts
  const note = (_: string, message: string, { reason }: Record<string, unknown>) =>
    message === 'an alert was not sent' && reasons.push(reason)
  const watch = (callWebhook: ReturnType<typeof createWebhook> | null) =>
    createMonitor({ store, clock, mailer, baseUrl, location: { folder: pages.folder }, callWebhook, ...QUIET, note })
  isHookBroken = true
  await Promise.all([first?.stop(), second?.stop()])
  const callWebhook = createWebhook({ url: `http://127.0.0.1:${webhook.port}/`, secret: null, allowed: LOOPBACK_HOSTS })
  monitor = watch(callWebhook)
  await look(4)
  expect(reasons).toHaveLength(2)
  expect(reasons).toContain(`127.0.0.1:${webhook.port} responded with status 500.`)
  expect(reasons).toContainEqual(expect.stringMatching(/^Nothing responds at the mail server's address/))
  monitor = watch(null)
  await look(4)
  expect(reasons.at(-1)).toBe('No webhook is set up any more.')
})

const logged = (
  change: Pick<NewRequest, 'pool' | 'accountId' | 'status' | 'code' | 'requestId' | 'count'>,
): NewRequest => ({
  appId: 0,
  caller: 'x',
  at: pages.parts.clock.now(),
  method: 'POST',
  path: '/api/v1/events',
  tool: null,
  field: null,
  ...change,
})

test('requests of strangers without a key are no problem, and those of an account are', async () => {
  const { store } = pages.parts
  const { accountId } = pages.begun
  const refused = { status: 401, count: 110 }
  await store.addRequests([
    logged({ ...refused, pool: 'unkeyed', accountId: '', code: 'invalid_api_key', requestId: 'req_1' }),
    logged({ ...refused, pool: 'refused', accountId, code: 'invalid_field', requestId: 'req_2' }),
  ])
  expect(await store.countRefusals(0)).toEqual([{ accountId, code: 'invalid_field', count: 110 }])
})

test('refused requests count beside many accepted ones', async () => {
  const { store } = pages.parts
  const { accountId } = pages.begun
  const refused = { pool: 'refused', status: 400, code: 'invalid_json', requestId: 'req_refused', count: 500 } as const
  // nine a second for ten minutes
  const accepted = Array.from({ length: 5_400 }, (_, index) =>
    logged({ pool: 'accepted', accountId, status: 202, code: null, requestId: `req_${index}`, count: 1 }),
  )
  await store.addRequests([logged({ ...refused, accountId }), ...accepted])
  expect(await store.countRefusals(0)).toContainEqual({ accountId, code: 'invalid_json', count: 500 })
})

test("the email about the end of an account's problem leads to a page that its owners can open", async () => {
  const { accountId, appId } = pages.begun
  const refused = { status: 400, count: 110, code: 'invalid_field', requestId: 'req_1' }
  await pages.store.addRequests([logged({ ...refused, pool: 'refused', accountId })])
  await look(2)
  pages.clock.ms += 660_000
  await look(6)
  const title = 'Many requests are refused'
  expect(subjectsOf(first)).toEqual([`Problem: ${title}`, `Resolved: ${title}`])
  const over = first?.received[1]?.raw
  expect(over).toContain(`/apps/${appId}/requests`)
  expect(over).not.toContain('/system')
})

test('an invited owner is told, until somebody has joined', async () => {
  const { store, begun } = pages
  // the first account is the oldest
  pages.clock.ms += TICK
  const maker = { store, now: pages.clock.now(), actor: 'test' }
  const account = { email: 'zoe@example.com', passwordHash: null, appName: 'Zoe', domains: [], home: null }
  const made = await createAccount(maker, account, { onlyFirst: false, setupToken: null })
  if ('refusal' in made) throw new Error(made.refusal)
  await inviteMember(maker, made.accountId, { email: 'eve@example.com', role: 'viewer' })
  await inviteMember(maker, begun.accountId, { email: 'zoe@example.com', role: 'owner' })
  const toldOf = async (id: string | null) => (await listTold(store, id)).map(({ email }) => email)
  expect([await toldOf(made.accountId), await toldOf(null)]).toEqual([['zoe@example.com'], ['ada@example.com']])
})

test('an invited owner who heard of a problem hears of its end, though somebody joined meanwhile', async () => {
  const { store } = pages
  const { accountId } = pages.begun
  const invited = { memberId: 'mem_zoe', email: 'zoe@example.com' }
  let joined = await store.listOwners(accountId)
  const [ada] = joined
  joined = []
  const listOwners = async () => joined
  const { clock, mailer, baseUrl } = pages.parts
  const given = { clock, mailer, baseUrl, location: { folder: pages.folder }, callWebhook: null, ...QUIET }
  monitor = createMonitor({ ...given, store: { ...store, listOwners, listInvitedOwners: async () => [invited] } })
  await first?.stop()
  await look(4)
  if (ada) joined = [ada]
  await look(2)
  first = await startMailServer({}, {}, first?.port)
  await look(6)
  const toldOf = (server: MailServer | undefined) => server?.received.map(({ to }) => to[0])
  expect(toldOf(second)).toEqual(['zoe@example.com', 'ada@example.com'])
  expect(toldOf(first)?.toSorted()).toEqual(['ada@example.com', 'zoe@example.com'])
})

test('a problem that keeps coming back says why its end is reported late', async () => {
  for (let turn = 0; turn < 3; turn++) {
    await first?.stop()
    await look(4)
    first = await startMailServer({}, {}, first?.port)
    await look(6)
  }
  expect(typesOf()).toEqual(['alert.opened', 'alert.resolved', 'alert.opened', 'alert.resolved', 'alert.opened'])
  const why =
    'The problem has occurred 3 times within a day, so it counts as over only after it has been gone for 60 minutes.'
  expect(hooks.map(({ text }) => text.endsWith(why))).toEqual([false, false, false, false, true])
})

test('a full disk keeps nobody from being told', async () => {
  const { store, clock, mailer, baseUrl } = pages.parts
  const noFault = (listener: (reason: string | null) => void) => listener('database or disk is full')
  const broken = { ...store, onFault: noFault, saveAlerts: async () => ({ refusal: 'unavailable' as const }) }
  const callWebhook = createWebhook({ url: `http://127.0.0.1:${webhook.port}/`, secret: null, allowed: LOOPBACK_HOSTS })
  const location = { folder: pages.folder }
  const given = { clock, mailer, baseUrl, location, callWebhook, ...QUIET }
  monitor = createMonitor({ ...given, store: broken })
  await look(4)
  expect(hooks.map(({ data }) => data.title)).toEqual(['Nothing can be saved'])
})

test('a test that arrives ends the alert about its mail server', async () => {
  await first?.stop()
  await look(4)
  const read = async () => {
    const { alerts, findings } = await monitor.readSystem()
    return [alerts.map(({ resolvedAt }) => resolvedAt !== null), findings.some(({ text }) => /can't be/.test(text))]
  }
  expect(await read()).toEqual([[false], true])
  first = await startMailServer({}, {}, first?.port)
  await monitor.sendTest({ memberId: 'x', email: 'ada@example.com', accountId: pages.begun.accountId })
  expect(await read()).toEqual([[true], false])
  await look(1)
  expect(typesOf()).toEqual(['alert.opened', 'alert.test', 'alert.resolved'])
})

describe('an alert that is over while the webhook is slow to take its beginning', () => {
  /** @returns what answers the webhook */
  async function endMeanwhile(): Promise<(status: number) => Promise<void>> {
    isHookBroken = true
    await first?.stop()
    await look(4)
    isHookBroken = false
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()]
    answerHook = ({ type }) => {
      if (type !== 'alert.opened') return 200
      answerHook = () => 200
      asked.resolve()
      return answer.promise
    }
    pages.clock.ms += MINUTE_MS
    const checked = monitor.check()
    await asked.promise
    first = await startMailServer({}, {}, first?.port)
    await monitor.sendTest({ memberId: 'x', email: 'ada@example.com', accountId: pages.begun.accountId })
    void monitor.sendDue()
    await letTurnsPass()
    return async (status) => {
      answer.resolve(status)
      await checked
      await monitor.settle()
    }
  }

  test('is told as over, if that fails', async () => {
    const answer = await endMeanwhile()
    await answer(500)
    pages.clock.ms += MINUTE_MS
    await look(4)
    expect(typesOf()).toEqual(['alert.test', 'alert.resolved'])
  })

  test('is told as begun, then as over, if that arrives after all', async () => {
    const answer = await endMeanwhile()
    expect(typesOf()).toEqual(['alert.test'])
    await answer(200)
    await look(4)
    expect(typesOf()).toEqual(['alert.test', 'alert.opened', 'alert.resolved'])
  })
})

describe('a mail server that never takes an email', () => {
  let asked: number
  beforeEach(async () => {
    asked = 0
    const hangs = { sender: () => ((asked += 1), 'hang' as const) }
    const ports = [first?.port, second?.port]
    await Promise.all([first?.stop(), second?.stop()])
    ;[first, second] = await Promise.all(ports.map((port) => startMailServer(hangs, {}, port)))
  })
  const refuse = (accountId: string) =>
    pages.store.addRequests([
      logged({ pool: 'refused', accountId, status: 400, count: 110, code: 'invalid_field', requestId: 'req_1' }),
    ])

  test('keeps neither looks nor other alerts waiting, and is asked once at a time', async () => {
    const zoe = await pages.addAccount('zoe@example.com', 'Zoe')
    await refuse(pages.begun.accountId)
    pages.clock.ms += TICK
    await monitor.check()
    await until(() => asked === 1 && hooks.length === 1)
    await refuse(zoe.accountId)
    pages.clock.ms += TICK
    await monitor.check()
    await until(() => asked === 2 && hooks.length === 2)
    pages.clock.ms += 11 * MINUTE_MS
    await monitor.check()
    pages.clock.ms += 3 * TICK
    await monitor.check()
    await monitor.sendDue()
    await until(() => hooks.length === 4)
    await monitor.sendDue()
    await letTurnsPass()
    expect(typesOf()).toEqual(['alert.opened', 'alert.opened', 'alert.resolved', 'alert.resolved'])
    expect(asked).toBe(2)
  }, 10_000)

  test('lets nobody else be told twice after a restart', async () => {
    await refuse(pages.begun.accountId)
    pages.clock.ms += TICK
    void monitor.check()
    const isSaved = async () => (await pages.store.listAlerts())[0]?.notices.some(({ state }) => state === 'sent')
    await until(async () => hooks.length === 1 && (await isSaved()), typesOf)
    restart()
    pages.clock.ms += TICK
    await monitor.check()
    await until(() => asked === 2)
    expect(typesOf()).toEqual(['alert.opened'])
  }, 10_000)
})

test('who was being told when the server stops is not told again', async () => {
  const answer = Promise.withResolvers<number>()
  answerHook = () => answer.promise
  await first?.stop()
  await look(1)
  pages.clock.ms += TICK
  void monitor.check()
  await until(() => (second?.received.length ?? 0) > 0)
  const settled = monitor.settle()
  answer.resolve(200)
  await settled
  const [alert] = await pages.store.listAlerts()
  expect(alert?.notices.map(({ state }) => state)).toEqual(['sent', 'sent'])
})

test("an owner whose mail servers can't be read for a moment is told later", async () => {
  const { store } = pages.parts
  const { listMailSettings } = store
  store.listMailSettings = () => Promise.reject(new Error('the database is gone'))
  await first?.stop()
  await look(4)
  expect([typesOf(), subjectsOf(second)]).toEqual([['alert.opened'], []])
  store.listMailSettings = listMailSettings
  await look(4)
  expect([typesOf(), subjectsOf(second)]).toEqual([['alert.opened'], [expect.stringMatching(/^Problem: /)]])
})

test('a test goes by every route, and says what failed', async () => {
  await first?.stop()
  const { accountId } = pages.begun
  const tested = await monitor.sendTest({ memberId: 'x', email: 'ada@example.com', accountId })
  expect(tested.map(({ route, problem }) => [route, problem])).toEqual([
    [`Email through 127.0.0.1:${first?.port}`, 'erefused'],
    [`Email through 127.0.0.1:${second?.port}`, null],
    ['Webhook', null],
  ])
  expect([typesOf(), subjectsOf(second)]).toEqual([['alert.test'], ['Test alert from Eventpost']])
})

test('the System page takes as many reads for hundreds of apps as for a few', async () => {
  const { store, clock, mailer, baseUrl } = pages.parts
  let reads = 0
  const count = (target: typeof store, name: keyof typeof store) => {
    reads += 1
    return target[name]
  }
  const given = { clock, mailer, baseUrl, location: { folder: pages.folder }, callWebhook: null, ...QUIET }
  const watch = createMonitor({ ...given, store: new Proxy(store, { get: count as never }) })
  const readsOf = async (): Promise<number> => {
    reads = 0
    await watch.readSystem()
    return reads
  }
  const before = await readsOf()
  const { accountId } = pages.begun
  await withSql(pages.folder, async (sql) => {
    const app = sql.prepare(
      'INSERT INTO apps (id, public_id, site_id, account_id, name, created_at) VALUES (?, ?, ?, ?, ?, 1)',
    )
    const settings = sql.prepare('INSERT INTO app_mail_settings (app_id, from_email, smtp_url) VALUES (?, ?, ?)')
    for (let id = 1_000; id < 1_300; id++) {
      await app.run(id, `app_${id}`, `site_${id}`, accountId, `App ${id}`)
      await settings.run(id, `hello@d${id}.example`, `smtp://user:secret@mail${id % 3}.example:587`)
    }
  })
  // two for each of the twenty domains whose records are shown
  expect(await readsOf()).toBeLessThanOrEqual(before + 40)
})
