/** What is read for a decision, and how what was read is put together, with reads that are plain functions. */
import { describe, expect, test } from 'bun:test'
import { type DecidedWork, type FactReads, readFacts, readStart } from '../../src/deliveries/facts.ts'
import { longestQuietMs } from '../../src/deliveries/rules.ts'
import type { DeliveryRow, MessageContent, Rule } from '../../src/store/message-types.ts'
import { VISIT_REPORT_MS, type ReportRow } from '../../src/store/visit-reports.ts'
import { PRESENCE_MS } from '../../src/visits/presence.ts'
import { DAY, HOUR, MINUTE, NOW } from '../durations.ts'
import { deliveryOf } from './explaining.ts'

const TRIGGERED = NOW - HOUR
const NO_SETTINGS = { sendWindow: null, timezone: null, giveUpHours: null, perPersonDay: null, perPersonWeek: null }

type WorkChanges = Partial<Omit<DecidedWork, 'delivery' | 'message'>> & {
  delivery?: Partial<DecidedWork['delivery']>
  content?: Partial<MessageContent>
}
const workOf = ({ delivery, content, ...changes }: WorkChanges = {}): DecidedWork => ({
  delivery: deliveryOf({ id: 9, contactId: 3, triggeredAt: TRIGGERED, plannedAt: TRIGGERED + 1, ...delivery }),
  message: { content: { trigger: { event: 'ready' }, mail: { subject: 'S', body: 'B' }, ...content } },
  contact: { email: 'ada@example.com', status: 'subscribed', tags: null, fields: null },
  event: { properties: '{"url":"https://a.example/results/1"}' },
  joined: [],
  settings: NO_SETTINGS,
  app: { hosts: ['a.example'] },
  ...changes,
})

/** Reads that say what they were asked. */
function readsOf(changes: Partial<FactReads> = {}) {
  const asked: unknown[][] = []
  const reads: FactReads = {
    findSuppression: async () => null,
    findTopicEnd: async () => NOW - DAY,
    lastHandedAt: async () => NOW - DAY,
    listHanded: async () => [
      { at: NOW - HOUR, mail: {} },
      { at: NOW - 2 * HOUR, mail: { category: 'transactional' } },
      { at: NOW - 3 * HOUR, mail: { category: 'lifecycle' } },
    ],
    listReports: async () => [],
    listViews: async () => [],
    // whoever has viewed a page has a first view
    firstViewAt: async () => (await changes.listViews?.(3, 0))?.[0]?.occurredAt ?? null,
    lastDoneAt: async () => null,
    lastActiveAt: async () => null,
    ...changes,
  }
  const noting = Object.fromEntries(
    Object.entries(reads).map(([name, read]) => [
      name,
      (...args: never[]) => {
        asked.push([name, ...args])
        return (read as (...args: never[]) => unknown)(...args)
      },
    ]),
  ) as FactReads
  return { reads: noting, asked, names: () => asked.map(([name]) => name) }
}
const reportOf = (changes: Partial<ReportRow>): ReportRow => ({
  pageLoad: 1,
  reportNumber: 1,
  receivedAt: TRIGGERED,
  reportedAt: TRIGGERED,
  path: '/',
  isHere: true,
  isReturn: false,
  ...changes,
})
const AWAY: Rule = { rule: 'away' }

describe('the facts that are read', () => {
  test('are only the suppression if nothing else is needed', async () => {
    const { reads, asked } = readsOf({ findSuppression: async () => 'bounced' })
    const facts = await readFacts(reads, workOf(), NOW)
    expect(facts).toMatchObject({ at: NOW, plannedAt: TRIGGERED + 1, triggeredAt: TRIGGERED, suppression: 'bounced' })
    expect(facts).toMatchObject({ isByHand: false, lastHandedAt: null, handed: [], firstReportedAt: null })
    expect(facts.contact).toEqual({ status: 'subscribed', tags: [], fields: {} })
    expect(facts.resultPath).toBe('/results/1')
    expect(asked).toEqual([['findSuppression', 1, 'ada@example.com']])
  })
  test('include when the person ended the topic, if the message has one', async () => {
    const { reads, asked } = readsOf()
    expect((await readFacts(reads, workOf({ content: { topic: 'Tips' } }), NOW)).topicEndedAt).toBe(NOW - DAY)
    expect(asked).toContainEqual(['findTopicEnd', 1, 'ada@example.com', 'Tips'])
    expect((await readFacts(readsOf().reads, workOf(), NOW)).topicEndedAt).toBeNull()
  })
  test('include the current contact', async () => {
    const contact = { email: 'a@b.example', status: 'bounced' as const, tags: ['a'], fields: { n: 1 } }
    expect((await readFacts(readsOf().reads, workOf({ contact }), NOW)).contact).toEqual({
      status: 'bounced',
      tags: ['a'],
      fields: { n: 1 },
    })
  })
  test('include the last hand-over if "once" is by time and it is not resent', async () => {
    const timed = { again: { everyHours: 24 } }
    expect((await readFacts(readsOf().reads, workOf({ content: timed }), NOW)).lastHandedAt).toBe(NOW - DAY)
    const byHand = await readFacts(readsOf().reads, workOf({ content: timed, delivery: { byHand: true } }), NOW)
    expect([byHand.isByHand, byHand.lastHandedAt]).toEqual([true, null])
    expect(
      (await readFacts(readsOf().reads, workOf({ content: { again: { once: 'person' } } }), NOW)).lastHandedAt,
    ).toBeNull()
  })
  test('include the lifecycle emails of the last week if a limit applies', async () => {
    for (const limit of [{ perPersonDay: 1 }, { perPersonWeek: 1 }]) {
      const settings = { ...NO_SETTINGS, ...limit }
      const { reads, asked } = readsOf()
      expect((await readFacts(reads, workOf({ settings }), NOW)).handed).toEqual([NOW - HOUR, NOW - 3 * HOUR])
      const about = expect.objectContaining({ id: 9, appId: 1, contactId: 3 })
      expect(asked).toContainEqual(['listHanded', about, NOW - 7 * DAY])
      expect((await readFacts(readsOf().reads, workOf({ settings, delivery: { byHand: true } }), NOW)).handed).toEqual(
        [],
      )
      const mail = { subject: 'S', body: 'B', category: 'transactional' as const }
      expect((await readFacts(readsOf().reads, workOf({ settings, content: { mail } }), NOW)).handed).toEqual([])
    }
  })
  test.each<[rule: Rule, looks: boolean]>([
    [AWAY, true],
    [{ rule: 'seen' }, true],
    [{ rule: 'notSeen' }, true],
    [{ rule: 'tag', has: 'a' }, false],
  ])('include visits only for rules that need them: %j', async (rule, looks) => {
    const { reads, names } = readsOf({ firstViewAt: async () => 5 })
    const facts = await readFacts(reads, workOf({ content: { onlyIf: [{ rule: 'tag', has: 'b' }, rule] } }), NOW)
    expect(facts.firstReportedAt).toBe(looks ? 5 : null)
    expect(names().includes('listReports')).toBe(looks)
    expect(names().includes('listViews')).toBe(looks)
  })
  test('include no visits if verdicts are known or a member resends it', async () => {
    const content = { onlyIf: [AWAY, { rule: 'done', event: 'paid' }] satisfies Rule[] }
    const known = readsOf()
    expect(await readFacts(known.reads, workOf({ content }), NOW, [])).toMatchObject({
      known: [],
      triggeredAt: TRIGGERED,
    })
    expect(known.names()).toEqual(['findSuppression'])
    const byHand = readsOf()
    expect((await readFacts(byHand.reads, workOf({ content, delivery: { byHand: true } }), NOW)).resultPath).toBeNull()
    expect(byHand.names()).toEqual(['findSuppression'])
  })
  test('go back as far as reports are stored, and views as far as a page may be silent', async () => {
    const { reads, asked } = readsOf({ firstViewAt: async () => 5 })
    await readFacts(reads, workOf({ content: { onlyIf: [{ rule: 'away', quietMinutes: 90 }] } }), NOW)
    expect(asked).toContainEqual(['listReports', 1, 3, TRIGGERED - VISIT_REPORT_MS])
    expect(asked.filter(([name]) => name === 'listViews')).toEqual([['listViews', 3, TRIGGERED - 90 * MINUTE]])
  })
  test('include no views of someone who never opened a page', async () => {
    const { reads, names } = readsOf()
    await readFacts(reads, workOf({ content: { onlyIf: [AWAY] } }), NOW)
    expect(names()).toContain('listReports')
    expect(names()).not.toContain('listViews')
  })
})

test('a page may be silent as long as the longest rule allows, at least half an hour', () => {
  expect(longestQuietMs([])).toBe(PRESENCE_MS)
  expect(longestQuietMs([{ rule: 'away', quietMinutes: 5 }])).toBe(PRESENCE_MS)
  expect(longestQuietMs([{ rule: 'away', quietMinutes: 60 }, { rule: 'seen' }])).toBe(60 * MINUTE)
})

describe('visits', () => {
  const content = { onlyIf: [AWAY] }
  const read = (changes: Partial<FactReads>, work: WorkChanges = {}) =>
    readFacts(readsOf(changes).reads, workOf({ content, ...work }), NOW)

  test('the first view is the earliest page view or return', async () => {
    const back = reportOf({ isReturn: true, reportedAt: 70 })
    expect((await read({ firstViewAt: async () => 80, listReports: async () => [back] })).firstReportedAt).toBe(70)
    expect((await read({ firstViewAt: async () => 60, listReports: async () => [back] })).firstReportedAt).toBe(60)
    expect((await read({ firstViewAt: async () => null, listReports: async () => [back] })).firstReportedAt).toBe(70)
    expect((await read({ listReports: async () => [reportOf({ reportedAt: 70 })] })).firstReportedAt).toBeNull()
  })
  test('the first view of a path is the earliest view or return', async () => {
    const facts = await read({
      listViews: async () => [
        { path: '/a', occurredAt: TRIGGERED + 30 },
        { path: '/a/', occurredAt: TRIGGERED + 20 },
        { path: '/b', occurredAt: TRIGGERED + 5 },
      ],
      listReports: async () => [reportOf({ isReturn: true, path: '/a', reportedAt: TRIGGERED + 10 })],
    })
    expect(facts.firstOnPageSince('/a', TRIGGERED)).toBe(TRIGGERED + 10)
    expect(facts.firstOnPageSince('/a', TRIGGERED + 10)).toBe(TRIGGERED + 10)
    expect(facts.firstOnPageSince('/a', TRIGGERED + 11)).toBe(TRIGGERED + 20)
    expect(facts.firstOnPageSince('/c', TRIGGERED)).toBeNull()
    expect(facts.firstVisitSince(TRIGGERED)).toBe(TRIGGERED + 5)
    expect(facts.firstVisitSince(TRIGGERED + 6)).toBe(TRIGGERED + 10)
    expect(facts.firstVisitSince(TRIGGERED + 31)).toBeNull()
    const before = await read({ listViews: async () => [{ path: '/a', occurredAt: TRIGGERED - 1 }] })
    expect(before.firstOnPageSince('/a', 0)).toBeNull()
  })
  test('presence comes from reports, at the event also from views without later reports', async () => {
    const lost = { path: '/lost', occurredAt: TRIGGERED - MINUTE }
    const facts = await read({ listViews: async () => [lost] })
    expect(facts.presence(TRIGGERED, PRESENCE_MS).paths).toEqual(['/lost'])
    expect(facts.presence(TRIGGERED + 1, PRESENCE_MS).paths).toEqual([])
    const left = reportOf({ isHere: false, reportedAt: TRIGGERED - MINUTE })
    const followed = await read({ listViews: async () => [lost], listReports: async () => [left] })
    expect(followed.presence(TRIGGERED, PRESENCE_MS).paths).toEqual([])
    const onTime = await read({ listViews: async () => [{ path: '/x', occurredAt: TRIGGERED }] })
    expect(onTime.presence(TRIGGERED, PRESENCE_MS).paths).toEqual(['/x'])
    const later = await read({
      listViews: async () => [{ path: '/x', occurredAt: TRIGGERED + 1 }],
      listReports: async () => [left],
    })
    expect(later.presence(TRIGGERED, PRESENCE_MS).lastReportAt).toBe(TRIGGERED - MINUTE)
  })
  test('presence of a simulation replaces the reports', async () => {
    const simulated = { isHere: true, paths: ['/s'], pages: [], lastReportAt: null, lastLeftAt: null }
    const facts = await read({ presenceAt: ({ when }) => (when === NOW ? simulated : null) })
    expect(facts.presence(NOW, 1)).toBe(simulated)
    expect(facts.presence(NOW - 1, 1).isHere).toBe(false)
  })
  test('events are read from the time that each rule needs, without the event itself', async () => {
    const onlyIf: Rule[] = [
      { rule: 'done', event: 'paid', since: 'ever' },
      { rule: 'notDone', event: 'paid' },
      { rule: 'notDone', event: 'left', since: { days: 1 } },
    ]
    const { reads, asked } = readsOf({
      lastDoneAt: async ({ name, since }) => (name === 'paid' && since > 0 ? 77 : null),
    })
    const facts = await readFacts(reads, workOf({ content: { onlyIf }, delivery: { eventId: 4 } }), NOW)
    expect(facts.doneAt('paid', 0)).toBeNull()
    expect(facts.doneAt('paid', TRIGGERED)).toBe(77)
    expect(facts.doneAt('paid', 5)).toBeNull()
    const one = { appId: 1, contactId: 3, exceptId: 4 }
    expect(asked.filter(([name]) => name === 'lastDoneAt').map(([, query]) => query)).toEqual([
      { ...one, name: 'paid', since: 0 },
      { ...one, name: 'paid', since: TRIGGERED },
      { ...one, name: 'left', since: NOW - DAY },
    ])
  })
  test('joined events are read by their own time and page', async () => {
    const event = { id: 12, properties: '{"url":"https://a.example/results/2"}' }
    const { reads, asked } = readsOf()
    const onlyIf: Rule[] = [{ rule: 'notDone', event: 'paid' }]
    const joined = [{ triggeredAt: TRIGGERED + 5, event }]
    const facts = await readFacts(reads, workOf({ content: { onlyIf }, joined }), NOW)
    expect(facts.joined.map((one) => [one.triggeredAt, one.resultPath])).toEqual([[TRIGGERED + 5, '/results/2']])
    expect(asked.at(-1)).toEqual([
      'lastDoneAt',
      { appId: 1, contactId: 3, name: 'paid', since: TRIGGERED + 5, exceptId: 12 },
    ])
    expect((await readFacts(readsOf().reads, workOf({ event: null }), NOW)).resultPath).toBeNull()
  })
})

test.each<[content: Partial<MessageContent>, known: [] | undefined]>([
  [{ onlyIf: [{ rule: 'notDone', event: 'paid' }] }, []],
  [{ onlyIf: [{ rule: 'done', event: 'paid', since: 'ever' }] }, undefined],
])('joined events are read only for rules about each event, and once: %j, %j', async (content, known) => {
  const joined = [{ triggeredAt: TRIGGERED + 5, event: { id: 12, properties: null } }]
  const { reads, asked } = readsOf()
  expect((await readFacts(reads, workOf({ content, joined }), NOW, known)).joined).toEqual([])
  expect(asked).not.toContainEqual(['lastDoneAt', expect.objectContaining({ exceptId: 12 })])
})

describe('earlier deliveries of a message', () => {
  const start = (deliveries: DeliveryRow[]) =>
    readStart({ deliveries, timezone: 'Asia/Tokyo' }, { at: NOW, occurredAt: NOW - 1, properties: '{"n":1}' })
  const waiting = (changes: Partial<DeliveryRow> = {}) => deliveryOf({ state: 'waiting', version: 2, ...changes })

  test('are passed on with the event', () => {
    const facts = start([])
    expect(facts).toMatchObject({ at: NOW, occurredAt: NOW - 1, timezone: 'Asia/Tokyo' })
    expect(facts.properties()).toEqual({ n: 1 })
    expect([facts.hasAny(), facts.lastHandedAt(), facts.isUsedUp(''), facts.leads]).toEqual([false, null, false, null])
  })
  test('use up "once" while on their way or after the hand-over', () => {
    const facts = start([
      waiting({ dedupeKey: 'a' }),
      waiting({ dedupeKey: 'b', state: 'skipped' }),
      waiting({ dedupeKey: 'c', state: 'failed', handedAt: 5 }),
    ])
    expect(['a', 'b', 'c', 'd'].map(facts.isUsedUp)).toEqual([true, false, true, false])
    expect(facts.hasAny()).toBe(true)
    expect(start([waiting({ state: 'skipped' })]).hasAny()).toBe(false)
  })
  test('the last email that may have arrived counts, whatever became of it', () => {
    const sent = (handedAt: number | null, state: DeliveryRow['state'] = 'sent') => waiting({ state, handedAt })
    expect(start([sent(50), sent(70), sent(null)]).lastHandedAt()).toBe(70)
    expect(start([sent(50), sent(70, 'failed'), sent(null, 'skipped')]).lastHandedAt()).toBe(70)
    expect(start([waiting()]).lastHandedAt()).toBeNull()
  })
})
