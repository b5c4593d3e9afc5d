/** An orderly stop while mail servers have emails whose final dot they have not answered: none is sent twice. */
import { afterEach, expect, test } from 'bun:test'
import type { MessageContent } from '../../src/store/message-types.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openStore } from '../../src/store/store.ts'
import { type Begun, call, makeFolder, setUp, startServer } from '../cli/process.ts'
import { inTurns } from '../helper.ts'
import { startMailServer } from '../mail/mail-server.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const CONTENT: MessageContent = {
  trigger: { event: 'results_ready' },
  ifUnconfirmed: 'resend',
  mail: { subject: 'Ready', body: 'Hello' },
}

/** Answers final dots when `answer` is called, and then at once. */
async function startHolding() {
  const unanswered: (() => void)[] = []
  let isHolding = true
  const server = await startMailServer({
    dot: () => (isHolding ? new Promise((resolve) => unanswered.push(() => resolve('accept'))) : 'accept'),
    keepsDropped: true,
  })
  closing.push(server.stop)
  const answer = (): void => {
    isHolding = false
    for (const resolve of unanswered.splice(0)) resolve()
  }
  return { server, unanswered, answer }
}

async function prepare(): Promise<{ folder: string; begun: Begun }> {
  const { folder, remove } = makeFolder()
  closing.push(remove)
  const begun = await setUp(folder)
  const store = await openStore(folder, { threads: false, rules: STORE_RULES })
  const [app] = await store.listApps((await store.findAccount(null))?.id ?? '')
  if (!app) throw new Error('there is no app')
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: Date.now() }
  await store.saveMessages({ ...by, drafts: [{ id: null, name: 'M', status: 'live', content: CONTENT }] })
  await store.setMailSettings({ ...by, settings: { fromEmail: 'hello@example.com', perSecond: 1_000 } })
  await store.close()
  return { folder, begun }
}

async function countStates(folder: string): Promise<Record<string, number>> {
  const store = await openStore(folder, { threads: false, rules: STORE_RULES })
  const [app] = await store.listApps((await store.findAccount(null))?.id ?? '')
  const query = { appId: app?.id ?? 0, messageId: null, contactId: null, states: null, before: null, limit: 1_000 }
  const rows = await store.listDeliveries(query)
  await store.close()
  const named = rows.map(({ state, resent }) => (resent ? `${state}, sent again` : state))
  return Object.fromEntries(
    Array.from(
      Map.groupBy(named, (name) => name),
      ([name, all]) => [name, all.length],
    ),
  )
}

async function until(is: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 20_000
  while (!(await is())) {
    if (performance.now() > end) throw new Error('it did not come to that')
    await Bun.sleep(20)
  }
}

async function startWithOpenDots(emails: number, env: Record<string, string> = {}) {
  const { folder, begun } = await prepare()
  const { server, unanswered, answer } = await startHolding()
  const start = () => startServer({ data: folder, env: { EVENTPOST_SMTP_URL: server.url, ...env } })
  const service = await start()
  const event = { app: begun.appId, event: 'results_ready', createContact: true }
  await inTurns(emails, (index) =>
    call(service.url, begun.apiKey, 'POST', '/api/v1/events', { ...event, email: `p${index}@example.com` }),
  )
  await until(() => unanswered.length === Math.min(emails, 10))
  return { folder, server, answer, service, start }
}

test('waits for replies: none of 20 emails arrives twice', async () => {
  const { folder, server, answer, service, start } = await startWithOpenDots(20)
  const stopping = service.stop()
  // longer than a stop gives to requests
  await Bun.sleep(11_000)
  answer()
  expect((await stopping).code).toBe(0)
  expect(service.said.out).toContain('"waiting for mail server replies","emails":10,"seconds":60')
  expect(await countStates(folder)).toEqual({ sent: 10, claimed: 10 })
  const next = await start()
  await until(() => server.received.length === 20)
  expect((await next.stop()).code).toBe(0)
  expect(await countStates(folder)).toEqual({ sent: 20 })
  expect(Array.from(server.counts().values(), (all) => all.length)).toEqual(Array(20).fill(1))
})

test('waits for EVENTPOST_STOP_MAIL_S: then the outcome is unknown and visible', async () => {
  const { folder, server, answer, service, start } = await startWithOpenDots(3, { EVENTPOST_STOP_MAIL_S: '2' })
  const { code, ms } = await service.stop()
  expect(code).toBe(0)
  expect(ms).toBeWithin(1_900, 6_000)
  expect(service.said.out).toContain('"stopped without mail server replies","emails":3')
  expect(await countStates(folder)).toEqual({ handed: 3 })
  answer()
  const next = await start()
  await until(() => server.received.length >= 3)
  await until(async () => (await countStates(folder))['sent, sent again'] === 3)
  expect((await next.stop()).code).toBe(0)
})
