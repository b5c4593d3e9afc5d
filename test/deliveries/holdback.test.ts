/** Who is held back, and that it changes nothing else: frequency, limits and results count alike for both groups. */
import { expect, test } from 'bun:test'
import { decide, type Facts } from '../../src/deliveries/decide.ts'
import { placeInMessage } from '../../src/deliveries/facts.ts'
import { lastDays, readResults } from '../../src/deliveries/results.ts'
import { NOTHING_DONE } from '../../src/deliveries/rules.ts'
import type { DeliveryRow, MessageContent } from '../../src/store/message-types.ts'
import { DAY, HOUR, MINUTE } from '../durations.ts'
import { useSharedServer } from '../helper.ts'
import { page, report, send } from '../api/reports.ts'
import { createMessaging, messageOf, recordOf, RESULT, verdictsOf } from '../messaging.ts'

const openServer = useSharedServer()

async function start() {
  const server = await openServer()
  await server.setPlan({ snippetLimits: false })
  return { server, ...(await createMessaging(server)) }
}

const PEOPLE = 20_000

test('places are spread evenly, and independently for each message', () => {
  const held = (messageId: number) =>
    Array.from({ length: PEOPLE }, (_, index) => placeInMessage({ contactId: index * 16, messageId }) < 10)
  const [first, second] = [held(160), held(176)]
  const count = (is: (index: number) => boolean | undefined) => first.filter((_, index) => is(index)).length
  // four standard deviations
  const near = (share: number) => 4 * Math.sqrt(PEOPLE * share * (1 - share))
  for (const one of [first, second]) expect(Math.abs(one.filter(Boolean).length - PEOPLE * 0.1)).toBeLessThan(near(0.1))
  expect(Math.abs(count((index) => first[index] && second[index]) - PEOPLE * 0.01)).toBeLessThan(near(0.01))
  const buckets = Array.from({ length: 100 }, () => 0)
  for (let contactId = 0; contactId < PEOPLE; contactId += 1) {
    const place = Math.floor(placeInMessage({ contactId, messageId: 3 }))
    buckets[place] = (buckets[place] ?? 0) + 1
  }
  const expected = PEOPLE / 100
  const chiSquare = buckets.reduce((sum, found) => sum + (found - expected) ** 2 / expected, 0)
  // 99 degrees of freedom: above 149 in one of a thousand
  expect([buckets.length, chiSquare < 149]).toEqual([100, true])
})

test('a place is stable', () => {
  expect(placeInMessage({ contactId: 7, messageId: 3 })).toBe(placeInMessage({ contactId: 7, messageId: 3 }))
  expect(placeInMessage({ contactId: 7, messageId: 3 }).toFixed(4)).toBe('80.4266')
})

const content = (changes: Partial<MessageContent>): MessageContent => ({
  trigger: { event: 'ready' },
  mail: { subject: 'S', body: 'B' },
  ...changes,
})
const LIVE = {
  status: 'live' as const,
  settings: { sendWindow: null, timezone: null, giveUpHours: null, perPersonDay: 1, perPersonWeek: null },
}
const AT = Date.UTC(2026, 4, 1)
const FACTS: Facts = {
  ...NOTHING_DONE,
  at: AT,
  triggeredAt: AT,
  plannedAt: AT,
  limitedMs: 0,
  isByHand: false,
  suppression: null,
  topicEndedAt: null,
  brake: null,
  lastHandedAt: null,
  handed: [],
  place: 9.99,
  lastActiveAt: null,
  contact: { status: 'subscribed', tags: [], fields: {} },
  joined: [],
}

test.each<[string, Partial<MessageContent>, Partial<Facts>, object]>([
  ['below the share', { holdback: 10 }, {}, { outcome: 'skip', reason: 'holdback' }],
  ['at the share', { holdback: 10 }, { place: 10 }, { outcome: 'send' }],
  ['without a holdback', {}, {}, { outcome: 'send' }],
  [
    'transactional',
    { holdback: 10, mail: { subject: 'S', body: 'B', category: 'transactional' } },
    {},
    { outcome: 'send' },
  ],
  ['sent by hand', { holdback: 10 }, { isByHand: true }, { outcome: 'send' }],
  ['only when it would be sent now', { holdback: 10 }, { handed: [AT - HOUR] }, { outcome: 'wait', reason: 'perDay' }],
  ['after the rules', { holdback: 10, onlyIf: [{ rule: 'tag', has: 'beta' }] }, {}, { outcome: 'skip', reason: 'tag' }],
])('%s', (_, changes, facts, expected) => {
  expect(decide({ content: content(changes), ...LIVE }, { ...FACTS, ...facts })).toMatchObject(expected)
})

test('the record has the verdict of both groups', () => {
  const verdictOf = (place: number) =>
    decide({ content: content({ holdback: 10 }), ...LIVE }, { ...FACTS, place }).verdicts.at(-1)
  expect(verdictOf(0)).toEqual({ rule: 'holdback', about: '10', value: true, verdict: 'fail' })
  expect(verdictOf(50)).toEqual({ rule: 'holdback', about: '10', value: false, verdict: 'pass' })
})

/** People of either group, of the message that was saved last. */
async function startHolding(changes: Partial<MessageContent> = {}) {
  const started = await start()
  const saved = await started.put(messageOf({ holdback: 50, ...changes }))
  const sendTo = async (name: string, properties: object = RESULT): Promise<void> => {
    const { status } = await started.event({ email: `${name}@example.com`, properties })
    expect(status).toBe(202)
  }
  const ofPerson = async (name: string): Promise<DeliveryRow[]> => {
    const person = await started.store().findContact(started.app.id, `${name}@example.com`)
    return (await started.deliveries()).filter(({ contactId }) => contactId === person?.id)
  }
  const held: string[] = []
  const emailed: string[] = []
  for (let index = 0; held.length === 0 || emailed.length === 0; index += 1) {
    const name = `person${index}`
    await sendTo(name)
    await started.decide()
    const [delivery] = await ofPerson(name)
    ;(delivery?.state === 'skipped' ? held : emailed).push(name)
  }
  return { ...started, messageId: saved.id, sendTo, ofPerson, held: held[0] ?? '', emailed: emailed[0] ?? '' }
}

test('a held-back person has used up once, as one who was emailed has', async () => {
  const holding = await startHolding()
  for (const name of [holding.held, holding.emailed]) {
    await holding.sendTo(name)
    expect(await holding.decide()).toEqual([])
    expect(await holding.ofPerson(name)).toHaveLength(1)
  }
  const [delivery] = await holding.ofPerson(holding.held)
  expect(delivery).toMatchObject({ state: 'skipped', reason: 'holdback', handedAt: null })
  expect(delivery?.heldBackAt).toBe(holding.server.clock.now())
  expect(delivery && recordOf(delivery).verdicts.at(-1)).toMatchObject({ rule: 'holdback', verdict: 'fail' })
})

test('an interval counts from when the person was held back', async () => {
  const holding = await startHolding({ again: { everyHours: 6 } })
  for (const [hours, starts] of [
    [5, 1],
    [7, 2],
  ] as const) {
    holding.server.clock.tick((hours - (hours > 6 ? 5 : 0)) * HOUR)
    for (const name of [holding.held, holding.emailed]) {
      await holding.sendTo(name)
      await holding.decide()
      expect([name, (await holding.ofPerson(name)).length]).toEqual([name, starts])
    }
  }
})

test('each value is used up separately, also by events that joined', async () => {
  const again = { once: 'property' as const, property: 'resultId', collect: { minutes: 30 } }
  const holding = await startHolding({ again, wait: { minutes: 0 } })
  const { held, server } = holding
  await holding.sendTo(held, { resultId: 1 })
  await holding.sendTo(held, { resultId: 2 })
  server.clock.tick(MINUTE)
  expect(verdictsOf(await holding.decide())).toEqual(['holdback'])
  const before = await holding.ofPerson(held)
  for (const resultId of [1, 2]) await holding.sendTo(held, { resultId })
  expect(await holding.ofPerson(held)).toEqual(before)
  await holding.sendTo(held, { resultId: 3 })
  expect(await holding.ofPerson(held)).toHaveLength(before.length + 1)
})

test('being held back does not count towards the limits per person', async () => {
  const holding = await startHolding()
  await holding.set({ perPersonDay: 1 })
  await holding.put(messageOf({ name: 'Another' }))
  for (const [name, reason] of [
    [holding.emailed, 'perDay'],
    [holding.held, 'send'],
  ] as const) {
    await holding.sendTo(name)
    expect(verdictsOf(await holding.decide())).toEqual([reason])
  }
})

test('sending it by hand leaves the person in their group', async () => {
  const holding = await startHolding()
  const groups = async () => {
    const { compared } = await readResults(holding.store(), holding.messageId, lastDays(7, holding.server.clock.now()))
    return [compared.cameBack.emailed.people, compared.cameBack.heldBack.people]
  }
  const before = await groups()
  const [delivery] = await holding.ofPerson(holding.held)
  const resent = await holding.store().resendDelivery({ appId: holding.app.id, id: delivery?.id ?? 0, at: AT })
  expect(resent).toEqual({ done: true })
  expect(verdictsOf(await holding.decide())).toEqual(['send'])
  expect((await holding.ofPerson(holding.held))[0]).toMatchObject({ state: 'sent', heldBackAt: null })
  expect(before).not.toContain(0)
  expect(await groups()).toEqual(before)
})

test('a person who is emailed again counts once, from the first time', async () => {
  const holding = await startHolding({ again: { everyHours: 1 } })
  const first = holding.server.clock.now()
  const groups = async (days: number, now = holding.server.clock.now()) => {
    const { compared } = await readResults(holding.store(), holding.messageId, lastDays(days, now))
    return [compared.cameBack.emailed.people, compared.cameBack.heldBack.people]
  }
  const before = await groups(7)
  holding.server.clock.tick(10 * DAY)
  for (const name of [holding.held, holding.emailed]) await holding.sendTo(name)
  expect((await holding.decide()).length).toBe(2)
  expect([await groups(30), await groups(7), await groups(7, first)]).toEqual([before, [0, 0], before])
})

test('erasing a person takes them out of the comparison', async () => {
  const holding = await startHolding()
  const email = `${holding.held}@example.com`
  const countHeldBack = async (): Promise<number> => {
    const range = lastDays(7, holding.server.clock.now())
    return (await readResults(holding.store(), holding.messageId, range)).compared.cameBack.heldBack.people
  }
  const before = await countHeldBack()
  await holding.store().eraseContact({ ...holding.by, appId: holding.app.id, email })
  expect(await countHeldBack()).toBe(before - 1)
})

test('a return, the result and the goal are recorded for both groups', async () => {
  const holding = await startHolding({ goal: { event: 'paid', days: 10 } })
  const { server, held, emailed } = holding
  server.clock.tick(DAY)
  const at = server.clock.now()
  for (const name of [held, emailed]) {
    const email = `${name}@example.com`
    expect((await send(server, report(server.first, { email, events: [page('/results/1')] }))).status).toBe(202)
    await holding.event({ email: `${name}@example.com`, event: 'paid', properties: {} })
  }
  server.clock.tick(DAY)
  for (const name of [held, emailed])
    await holding.event({ email: `${name}@example.com`, event: 'paid', properties: {} })
  for (const name of [held, emailed]) {
    expect((await holding.ofPerson(name))[0]).toMatchObject({ cameBackAt: at, openedAt: at, goalAt: at })
  }
})

test('a goal after its days does not count', async () => {
  const holding = await startHolding({ goal: { event: 'paid', days: 1 } })
  holding.server.clock.tick(DAY + 1)
  for (const name of [holding.held, holding.emailed]) {
    await holding.event({ email: `${name}@example.com`, event: 'paid', properties: {} })
    expect((await holding.ofPerson(name))[0]?.goalAt).toBeNull()
  }
})
