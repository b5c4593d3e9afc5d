import { beforeAll, describe, expect, test } from 'bun:test'
import { placeInMessage } from '../../src/deliveries/facts.ts'
import { sendCaptured } from '../../src/deliveries/delivery-lists.ts'
import { compareShares, lastDays, readResults, type Share, summarizeResults } from '../../src/deliveries/results.ts'
import type { DayCount, MessageResults } from '../../src/store/message-results.ts'
import { page, report, send } from '../api/reports.ts'
import { HOUR } from '../durations.ts'
import { isLong } from '../long-form.ts'
import { RESULTS, startSending } from '../mail/sending.ts'

/** A repeatable sequence (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const POPULATIONS = isLong ? 200 : 100

const FATES = ['arrives', 'is refused', 'cannot be written', 'is opened before a retry'] as const
type Fate = (typeof FATES)[number]
type GroupName = 'emailed' | 'heldBack'

const PEOPLE_OF_FATE = 12

/** How many of those who are assigned to a group count in it, after one of each fate was decided, and then came back. */
async function countFates() {
  const recipient = (to: string) => (to.includes('refused') ? 550 : to.includes('opened') ? 451 : 'accept')
  const onlyIf = [{ rule: 'notSeen', ifUnknown: 'send' } as const]
  const sending = await startSending({ holdback: 50, onlyIf }, { recipient, unknownMailbox: true })
  await sending.setPlan({ snippetLimits: false })
  const messages = await sending.store().listMessages(sending.app.id)
  const messageId = messages.find(({ status }) => status === 'live')?.id ?? 0
  const counted = new Map<Fate, Record<GroupName, Share & { assigned: number }>>()
  let before = (await readResults(sending.store(), messageId, lastDays(30, sending.clock.now()))).compared.cameBack
  for (const fate of FATES) {
    const emails = Array.from(
      { length: PEOPLE_OF_FATE },
      (_, index) => `${fate.replaceAll(' ', '-')}${index}@example.com`,
    )
    const properties = fate === 'cannot be written' ? { url: RESULTS.url } : RESULTS
    for (const email of emails) await sending.sendEvent(email, properties)
    await sending.sendDue()
    sending.clock.tick(1_000)
    const assigned = { emailed: 0, heldBack: 0 }
    for (const email of emails) {
      await send(sending, report(sending.first, { email, events: [page('/results/1')] }))
      const person = await sending.store().findContact(sending.app.id, email)
      assigned[placeInMessage({ contactId: person?.id ?? 0, messageId }) < 50 ? 'heldBack' : 'emailed'] += 1
    }
    const { compared } = await readResults(sending.store(), messageId, lastDays(30, sending.clock.now()))
    const after = compared.cameBack
    const countOf = (group: GroupName) => ({
      assigned: assigned[group],
      people: after[group].people - before[group].people,
      reached: after[group].reached - before[group].reached,
    })
    counted.set(fate, { emailed: countOf('emailed'), heldBack: countOf('heldBack') })
    before = after
  }
  const states = await sending.states()
  await sending.close()
  return { counted, states }
}

let counted: Awaited<ReturnType<typeof countFates>>['counted'] = new Map()
let states: Record<string, number> = {}
beforeAll(async () => void ({ counted, states } = await countFates()))

test('everyone counts in the group they were assigned to, and so do their returns, whatever became of the email', () => {
  const emailed = (fate: Fate): number => counted.get(fate)?.emailed.assigned ?? 0
  expect(states).toEqual({
    'skipped: holdback': FATES.reduce((sum, fate) => sum + (counted.get(fate)?.heldBack.assigned ?? 0), 0),
    sent: emailed('arrives'),
    'failed: no_mailbox': emailed('is refused'),
    'skipped: missing_value': emailed('cannot be written'),
    'skipped: seen': emailed('is opened before a retry'),
  })
  for (const [fate, groups] of counted)
    for (const { assigned, people, reached } of Object.values(groups))
      expect([fate, assigned > 0, people, reached]).toEqual([fate, true, assigned, assigned])
})

describe.each([
  ['a usual lift', { people: 2_000, holdback: 10, base: 0.25, lift: 0.1, dead: 0 }],
  ['no lift', { people: 2_000, holdback: 20, base: 0.3, lift: 0, dead: 0 }],
  ['few people who rarely come back', { people: 400, holdback: 10, base: 0.05, lift: 0.03, dead: 0 }],
  ['nearly everyone comes back', { people: 600, holdback: 50, base: 0.93, lift: 0.05, dead: 0 }],
  ['5% of the mailboxes are dead', { people: 8_000, holdback: 20, base: 0.5, lift: 0.1, dead: 0.05 }],
  ['10% of the mailboxes are dead', { people: 4_000, holdback: 20, base: 0.35, lift: 0, dead: 0.1 }],
])('%s', (_, { people, holdback, base, lift, dead }) => {
  test(`the interval has the true difference in at least 93% of ${POPULATIONS} populations, and not in all`, () => {
    const isCounted = (fate: Fate, group: GroupName): boolean => (counted.get(fate)?.[group].people ?? 0) > 0
    const random = createRandom(20_261_125)
    // people with dead mailboxes have left for good
    const assignedLift = lift * (1 - dead)
    let covered = 0
    for (let messageId = 1; messageId <= POPULATIONS; messageId += 1) {
      const groups = { emailed: { people: 0, reached: 0 }, heldBack: { people: 0, reached: 0 } }
      for (let contactId = 1; contactId <= people; contactId += 1) {
        const name = placeInMessage({ contactId, messageId }) < holdback ? 'heldBack' : 'emailed'
        const isDead = dead > 0 && random() < dead
        if (!isCounted(isDead ? 'is refused' : 'arrives', name)) continue
        groups[name].people += 1
        groups[name].reached += !isDead && random() < base + (name === 'emailed' ? lift : 0) ? 1 : 0
      }
      const { estimate, margin } = compareShares(groups.emailed, groups.heldBack)
      covered += Math.abs(estimate - assignedLift) <= margin ? 1 : 0
    }
    expect(covered).toBeGreaterThanOrEqual(0.93 * POPULATIONS)
    // an interval that is twice too wide would cover all
    expect(covered).toBeLessThan(POPULATIONS)
  })
})

/** When a message first decided about people: while their app had no mail server, or once it had one. */
const STARTS = ['captured', 'sent'] as const
type StartName = (typeof STARTS)[number]

/**
 * How many of those who are assigned to a group count in it. The first emails are captured, then sent by a member, and
 * everyone triggers the message again.
 */
async function countCaptured() {
  const from = 'Demo <hello@first.example>'
  const sending = await startSending(
    { holdback: 50, again: { everyHours: 1 } },
    {},
    { defaults: { smtpUrl: null, from } },
  )
  const messages = await sending.store().listMessages(sending.app.id)
  const messageId = messages.find(({ status }) => status === 'live')?.id ?? 0
  const groups = async () => {
    const range = lastDays(30, sending.clock.now())
    const { emailed, heldBack } = (await readResults(sending.store(), messageId, range)).compared.cameBack
    return { emailed: emailed.people, heldBack: heldBack.people }
  }
  const emailsOf = (start: StartName) => Array.from({ length: 12 }, (_, index) => `${start}${index}@example.com`)
  const trigger = async (start: StartName): Promise<void> => {
    for (const email of emailsOf(start)) await sending.sendEvent(email)
    await sending.sendDue()
  }
  await trigger('captured')
  const whileCapturing = { groups: await groups(), states: await sending.states() }
  await sending.setSettings({ smtpUrl: sending.server.url, perPersonDay: null, perPersonWeek: null })
  const deps = { store: sending.store(), clock: sending.clock, mailer: sending.sender() }
  const sent = await sendCaptured(deps, sending.app, { until: Number.MAX_SAFE_INTEGER - 1, actor: 'test' })
  await sending.sendDue()
  sending.clock.tick(2 * HOUR)
  await trigger('captured')
  const afterSending = { groups: await groups(), states: await sending.states() }
  await trigger('sent')
  const assigned = { emailed: 0, heldBack: 0 }
  for (const email of emailsOf('sent')) {
    const person = await sending.store().findContact(sending.app.id, email)
    assigned[placeInMessage({ contactId: person?.id ?? 0, messageId }) < 50 ? 'heldBack' : 'emailed'] += 1
  }
  const last = await groups()
  await sending.close()
  return { whileCapturing, sent, afterSending, assigned, last }
}

test('without a sender address, nobody enters either group, and everyone later does', async () => {
  const sending = await startSending({ holdback: 50 }, {}, { defaults: { smtpUrl: null, from: null } })
  await sending.setSettings({ smtpUrl: sending.server.url })
  const trigger = async (name: string): Promise<void> => {
    for (let index = 0; index < 12; index++) await sending.sendEvent(`${name}${index}@example.com`)
    await sending.sendDue()
  }
  const messageId =
    (await sending.store().listMessages(sending.app.id)).find(({ status }) => status === 'live')?.id ?? 0
  const groups = async () => {
    const range = lastDays(30, sending.clock.now())
    const { emailed, heldBack } = (await readResults(sending.store(), messageId, range)).compared.cameBack
    return [emailed.people, heldBack.people]
  }
  await trigger('early')
  const states = await sending.states()
  expect(Object.keys(states).sort()).toEqual(['skipped: holdback', 'skipped: no_sender'])
  expect(await groups()).toEqual([0, 0])
  await sending.setSettings({ fromEmail: 'hello@first.example' })
  await trigger('late')
  const later = await groups()
  expect([Math.min(...later) > 0, (later[0] ?? 0) + (later[1] ?? 0)]).toEqual([true, 12])
  await sending.close()
})

describe('emails that are captured first and sent later', () => {
  let found = {} as Awaited<ReturnType<typeof countCaptured>>
  beforeAll(async () => void (found = await countCaptured()))

  test('put nobody into either group, not even when the person triggers the message again', () => {
    const { whileCapturing, sent, afterSending } = found
    const { kept = 0, 'skipped: holdback': held = 0 } = whileCapturing.states
    expect([kept + held, kept > 0, held > 0]).toEqual([12, true, true])
    expect(sent).toEqual({ sent: kept, refused: 0, gone: 0, next: null })
    expect(afterSending.states).toEqual({ sent: 2 * kept, 'skipped: holdback': 2 * held })
    for (const { groups } of [whileCapturing, afterSending]) expect(groups).toEqual({ emailed: 0, heldBack: 0 })
  })

  test('everyone whom the message first decided about later counts', () => {
    expect(Object.values(found.assigned)).not.toContain(0)
    expect(found.last).toEqual(found.assigned)
  })

  test.each([
    ['as they are counted', 0.93, 1, (start: StartName, group: GroupName) => isIn(start, group)],
    // those who came back because of the captured email trigger the message more often
    ['counted from their next email', 0, 0.8, () => true],
  ] as const)(`%s: the interval has the true difference of ${POPULATIONS} populations`, (_, least, most, isCounted) => {
    const random = createRandom(20_261_126)
    const [lift, holdback] = [0.1, 20]
    let covered = 0
    for (let messageId = 1; messageId <= POPULATIONS; messageId += 1) {
      const groups = { emailed: { people: 0, reached: 0 }, heldBack: { people: 0, reached: 0 } }
      for (let contactId = 1; contactId <= 8_000; contactId += 1) {
        const name = placeInMessage({ contactId, messageId }) < holdback ? 'heldBack' : 'emailed'
        const [start, more] = [STARTS[contactId % 2] ?? 'sent', name === 'emailed' ? lift : 0]
        const hasReturned = start === 'captured' && random() < 0.3 + more
        const isTriggering = start === 'sent' || random() < (hasReturned ? 0.8 : 0.3)
        const isBack = random() < (hasReturned ? 0.6 : 0.2) + more
        if (!isTriggering || !isCounted(start, name)) continue
        groups[name].people += 1
        groups[name].reached += isBack ? 1 : 0
      }
      const { estimate, margin } = compareShares(groups.emailed, groups.heldBack)
      covered += Math.abs(estimate - lift) <= margin ? 1 : 0
    }
    expect(covered).toBeGreaterThanOrEqual(least * POPULATIONS)
    expect(covered).toBeLessThan(most * POPULATIONS)
  })

  const isIn = (start: StartName, group: GroupName): boolean =>
    (start === 'captured' ? found.afterSending.groups : found.last)[group] > 0
})

test('the interval by hand', () => {
  // (131 + 1) / 382 and (6 + 1) / 44
  const { estimate, margin } = compareShares({ people: 380, reached: 131 }, { people: 42, reached: 6 })
  expect(estimate).toBeCloseTo(132 / 382 - 7 / 44, 10)
  expect(margin).toBeCloseTo(0.11813, 5)
})

const NOTHING = { cameBack: 0, opened: 0, reachedGoal: 0 }
const day = (changes: Partial<DayCount>): DayCount => ({
  day: 20_000,
  outcome: 'sent',
  reason: '',
  emails: 1,
  ...NOTHING,
  ...changes,
})
const RANGE = { from: 19_999, until: 20_001 }
const EMPTY: MessageResults = { days: [], compared: [], reports: { delivered: 0, bounced: 0, complained: 0 } }
const group = (isHeldBack: boolean, people: number, cameBack = 0) => ({ ...NOTHING, isHeldBack, people, cameBack })

test('the funnel counts emails, and returns of those that were sent only', () => {
  const days = [
    day({ emails: 10, cameBack: 4, opened: 3, reachedGoal: 2 }),
    day({ day: 20_001, emails: 5, cameBack: 1 }),
    day({ outcome: 'heldBack', emails: 3, cameBack: 2, opened: 1, reachedGoal: 1 }),
    day({ outcome: 'waiting', emails: 7 }),
    day({ outcome: 'kept', emails: 2 }),
    day({ outcome: 'failed', reason: 'smtp_550', emails: 1 }),
    day({ outcome: 'skipped', reason: 'seen', emails: 6 }),
  ]
  const results = summarizeResults({ ...EMPTY, days }, RANGE)
  expect(results.funnel).toEqual({ started: 34, wouldSend: 21, sent: 15, cameBack: 5, opened: 3, reachedGoal: 2 })
  expect([results.waiting, results.captured, results.heldBack]).toEqual([7, 2, 3])
  expect(results.days.map(({ day, started, sent, cameBack }) => [day, started, sent, cameBack])).toEqual([
    [19_999, 0, 0, 0],
    [20_000, 29, 10, 4],
    [20_001, 5, 5, 1],
  ])
})

test('reasons are summed over days, the most frequent first', () => {
  const days = [
    day({ outcome: 'skipped', reason: 'seen', emails: 2 }),
    day({ day: 20_001, outcome: 'skipped', reason: 'seen', emails: 3 }),
    day({ outcome: 'skipped', reason: 'not_away', emails: 9 }),
    day({ outcome: 'failed', reason: 'seen', emails: 1 }),
  ]
  expect(summarizeResults({ ...EMPTY, days }, RANGE).reasons).toEqual([
    { state: 'skipped', reason: 'not_away', emails: 9 },
    { state: 'skipped', reason: 'seen', emails: 5 },
    { state: 'failed', reason: 'seen', emails: 1 },
  ])
})

test('tells nothing while one group has fewer than 30 people', () => {
  const compare = (emailed: number, heldBack: number) =>
    summarizeResults({ ...EMPTY, compared: [group(false, emailed), group(true, heldBack)] }, RANGE).compared.cameBack
  expect(compare(30, 30).difference).not.toBeNull()
  expect([compare(29, 500).extra, compare(500, 29).extra, compare(0, 0).extra]).toEqual([null, null, null])
  const none = summarizeResults(EMPTY, RANGE).compared.opened
  expect(none.emailed).toEqual({ people: 0, reached: 0 })
})

test('the extra people are those of the emailed group', () => {
  const { compared } = summarizeResults({ ...EMPTY, compared: [group(false, 380, 131), group(true, 42, 6)] }, RANGE)
  const { emailed, heldBack, difference, extra } = compared.cameBack
  expect([emailed, heldBack]).toEqual([
    { people: 380, reached: 131 },
    { people: 42, reached: 6 },
  ])
  expect([extra?.estimate, extra?.margin]).toEqual([380 * (difference?.estimate ?? 0), 380 * (difference?.margin ?? 0)])
})
