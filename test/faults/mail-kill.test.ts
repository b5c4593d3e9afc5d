/**
 * kill -9 at every step of many mails: none is lost; none comes twice where the message says
 * so, and otherwise only those of which nobody could know, all of them visible. `bun run test:faults` sends 2,000.
 */
import { afterEach, expect, test } from 'bun:test'
import { SIDE_BY_SIDE } from '../../src/mail/lanes.ts'
import type { DeliveryRow, MessageContent } from '../../src/store/message-types.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openStore } from '../../src/store/store.ts'
import type { AppRow, EventWrite } from '../../src/store/types.ts'
import { type Begun, makeFolder, setUp, startServer } from '../cli/process.ts'
import { inTurns } from '../helper.ts'
import { type Doing, startMailServer } from '../mail/mail-server.ts'
import { startResend } from '../mail/resend-server.ts'
import { report } from './figures.ts'

const MAILS = Number(process.env.KILLED_MAILS ?? 110)
/** At each step in turn, and once more. */
const KILLS = Number(process.env.MAIL_KILLS ?? 6)
const MAILS_A_KILL = Math.floor(MAILS / KILLS)
const TEST_MS = 300_000
const STEPS = ['sender', 'recipient', 'data', 'dot', 'sent'] as const
type Step = (typeof STEPS)[number]

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A mail server that kills the service at a step, when its turn has come; what it had whole, it keeps. */
async function startKillingServer(kill: () => void) {
  let [seen, kills] = [0, 0]
  const at = (step: Step): Doing => {
    const isTurn = seen >= (kills + 1) * MAILS_A_KILL && STEPS[kills % STEPS.length] === step
    if (!isTurn) return 'accept'
    kills += 1
    kill()
    return 'drop'
  }
  const server = await startMailServer({
    sender: () => at('sender'),
    recipient: () => at('recipient'),
    data: () => at('data'),
    dot: () => {
      seen += 1
      const doing = at('dot')
      // answered, and killed before the answer can be written down
      return doing === 'accept' && at('sent') === 'drop' ? 'accept' : doing
    },
    keepsDropped: true,
  })
  return { ...server, kills: () => kills }
}

const API_STEPS = ['asked', 'accepted', 'answered'] as const
/** Repeated ones come last: none of them is killed again, which would make it wait for a minute. */
const API_MAILS = 2 * API_STEPS.length * MAILS_A_KILL + 2 * SIDE_BY_SIDE

/** The API of Resend, which recognizes repeated emails for a day; it kills the service as the mail server above does. */
async function startKillingApi(kill: () => void) {
  let [seen, kills] = [0, 0]
  const behaviour: NonNullable<Parameters<typeof startResend>[0]> = {
    email() {
      seen += 1
      const step = API_STEPS[kills % API_STEPS.length]
      if (seen < (kills + 1) * MAILS_A_KILL || kills === 2 * API_STEPS.length) return 'accept'
      kills += 1
      kill()
      behaviour.keepsCut = step === 'accepted'
      return step === 'answered' ? 'accept' : 'cut'
    },
  }
  const server = await startResend(behaviour)
  return { ...server, kills: () => kills }
}

type Prepared = { ifUnconfirmed: 'resend' | 'leave'; mails: number }

async function prepare(folder: string, { appId }: Begun, { ifUnconfirmed, mails }: Prepared): Promise<void> {
  const store = await openStore(folder, { threads: false, rules: STORE_RULES })
  const account = await store.findAccount(null)
  const [app] = await store.listApps(account?.id ?? '')
  if (!app || app.publicId !== appId) throw new Error('there is no app')
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: Date.now() }
  const mail = { subject: '{{ event.headline }}', body: 'Hello' }
  const content: MessageContent = { trigger: { event: 'results_ready' }, ifUnconfirmed, mail }
  await store.saveMessages({ ...by, drafts: [{ id: null, name: 'Killed', status: 'live', content }] })
  await store.setMailSettings({ ...by, settings: { perSecond: 10_000, fromEmail: 'hello@example.com' } })
  await inTurns(mails, (index) => store.recordEvent(makeEvent(app, `p${index}@example.com`)))
  await store.close()
}

const makeEvent = ({ accountId, id: appId }: AppRow, email: string): EventWrite => ({
  accountId,
  appId,
  email,
  shownEmail: null,
  newPeoplePerMonth: null,
  createContact: true,
  firstName: null,
  lastName: null,
  type: 'event',
  name: 'results_ready',
  properties: '{"headline":"Ready"}',
  path: null,
  via: 'api',
  at: Date.now(),
  occurredAt: null,
  limits: [],
  idempotency: null,
})

async function listDeliveries(folder: string): Promise<DeliveryRow[]> {
  const store = await openStore(folder, { threads: false, rules: STORE_RULES })
  const [app] = await store.listApps((await store.findAccount(null))?.id ?? '')
  const query = { appId: app?.id ?? 0, messageId: null, contactId: null, states: null, before: null, limit: 10_000 }
  const rows = await store.listDeliveries(query)
  await store.close()
  return rows
}

const OPEN = ['waiting', 'claimed', 'handed', 'deferred']

/** Sends them all, starting the service again whenever it was killed. */
async function run(ifUnconfirmed: 'resend' | 'leave', { count = MAILS, startMails = startKillingMails } = {}) {
  const { folder, remove } = makeFolder()
  closing.push(remove)
  const begun = await setUp(folder)
  await prepare(folder, begun, { ifUnconfirmed, mails: count })
  let pid = 0
  const mails = await startMails(() => process.kill(pid, 'SIGKILL'))
  closing.push(mails.stop)
  const start = () => startServer({ data: folder, env: { EVENTPOST_SMTP_URL: mails.url } })
  for (;;) {
    const server = await start()
    pid = server.pid
    const ended = await Promise.race([server.ended().then(() => true), untilDone(folder, () => mails.received.length)])
    if (ended === true) continue
    expect((await server.stop()).code).toBe(0)
    break
  }
  return { deliveries: await listDeliveries(folder), counts: mails.counts(), kills: mails.kills() }
}

type Killing = {
  url: string
  received: unknown[]
  counts: () => Map<string, unknown[]>
  kills: () => number
  stop: () => Promise<void>
}
const startKillingMails = (kill: () => void): Promise<Killing> => startKillingServer(kill)

/** Resolves when nothing is left to do. It looks only while no mail comes: a look costs as much as ten of them. */
async function untilDone(folder: string, countMails: () => number): Promise<false> {
  for (let before = -1; ;) {
    const now = countMails()
    if (now === before && !(await listDeliveries(folder)).some(({ state }) => OPEN.includes(state))) return false
    before = now
    await Bun.sleep(500)
  }
}

test(
  'a message that is resent after an unknown outcome',
  async () => {
    const { deliveries, counts, kills } = await run('resend')
    expect(kills).toBeGreaterThanOrEqual(KILLS - 1)
    expect(deliveries).toHaveLength(MAILS)
    expect(counts.size).toBe(MAILS)
    const twice = Array.from(counts.values()).filter((all) => all.length > 1)
    report({
      target: 'SIGKILL while sending: emails lost',
      asked: `0 of ${MAILS.toLocaleString('en')}`,
      measured: `${MAILS - counts.size} in ${kills} kills, ${twice.length} sent twice`,
      isReached: counts.size === MAILS,
    })
    const resent = deliveries.filter((delivery) => delivery.resent)
    expect(twice.length).toBeLessThanOrEqual(resent.length)
    expect(resent.length).toBeLessThanOrEqual(kills * SIDE_BY_SIDE)
    expect(new Set(deliveries.map(({ state }) => state))).toBeOneOf([new Set(['sent']), new Set(['sent', 'unknown'])])
  },
  TEST_MS,
)

test(
  'a message that is not resent automatically',
  async () => {
    const { deliveries, counts, kills } = await run('leave')
    expect(kills).toBeGreaterThanOrEqual(KILLS - 1)
    expect(deliveries).toHaveLength(MAILS)
    const unknown = deliveries.filter(({ state }) => state === 'unknown')
    const twice = Array.from(counts.values()).filter((all) => all.length > 1)
    report({
      target: 'The same for messages that are not resent: sent twice',
      asked: '0',
      measured: `${twice.length} in ${kills} kills, ${unknown.length} marked unknown`,
      isReached: twice.length === 0,
    })
    expect(twice).toEqual([])
    expect(deliveries.filter(({ state }) => state === 'sent')).toHaveLength(MAILS - unknown.length)
    // every mail that did not come is one of those, and each of them says what happened
    expect(counts.size).toBeGreaterThanOrEqual(MAILS - unknown.length)
    expect(new Set(unknown.map(({ reason }) => reason))).toEqual(new Set(['stopped']))
    expect(unknown.length).toBeLessThanOrEqual(kills * SIDE_BY_SIDE)
  },
  TEST_MS,
)

test(
  'emails through an API that recognizes repeated ones arrive once, whatever the message says',
  async () => {
    const { deliveries, counts, kills } = await run('leave', { count: API_MAILS, startMails: startKillingApi })
    expect(kills).toBe(2 * API_STEPS.length)
    expect(deliveries.map(({ state }) => state)).toEqual(Array(API_MAILS).fill('sent'))
    expect(Array.from(counts.values(), (all) => all.length)).toEqual(Array(API_MAILS).fill(1))
    expect(deliveries.some(({ resent }) => resent)).toBe(true)
  },
  TEST_MS,
)
