import { withSql } from '../../data-folder.ts'
import { beforeEach, describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../../src/accounts/first-messages.ts'
import { presenceAt, toLostReport } from '../../../src/visits/presence.ts'
import { estimatePresence } from '../../../src/deliveries/simulation/past.ts'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { DAY, HOUR } from '../../helper.ts'
import { report, send } from '../../api/reports.ts'
import { leave, MINUTE, page } from '../../messaging.ts'
import { outcomesOf, type Simulating, useSimulating } from './simulating.ts'

const openSimulating = useSimulating()

describe('by page views only', () => {
  const NOW = Date.UTC(2026, 4, 15)
  const WHEN = NOW - 3 * DAY
  const viewOf = (at: number, path: string) => ({ id: at, at, occurredAt: at, path })
  const at = (when: number, quietMs: number, ...minutes: number[]) => {
    const views = minutes.map((minute) => viewOf(WHEN + minute * MINUTE, `/${minute}`))
    const asked = { views, reports: [], when, quietMs, reportedSince: NOW - 2 * DAY }
    const { isHere, paths, lastLeftAt, isEstimated } = estimatePresence(asked)
    const leftMinute = lastLeftAt === null ? null : (lastLeftAt - WHEN) / MINUTE
    return { isHere, paths, leftMinute, isEstimated }
  }
  const gone = (leftMinute: number | null) => ({
    isHere: false,
    paths: [] as string[],
    leftMinute,
    isEstimated: true as const,
  })
  const here = (path: string) => ({ isHere: true, paths: [path], leftMinute: null, isEstimated: true as const })
  const QUIET = 30 * MINUTE

  test.each([
    ['nobody opened anything', [], gone(null)],
    ['gone with the last view', [-40, -2], gone(-2)],
    ['there between two views', [-2, 28], here('/-2')],
    ['in order of arrival, late ones last', [28, -2, -9], here('/-2')],
    ['not between two views that are further apart', [-2, 29], gone(-2)],
    ['not before the first view', [1, 2], gone(null)],
  ])('%s', (_, minutes, expected) => {
    expect(at(WHEN, QUIET, ...minutes)).toEqual(expected)
  })

  test('for the silence of the rule', () => {
    expect(at(WHEN, 5 * MINUTE, -2, 3)).toEqual(here('/-2'))
    expect(at(WHEN, 5 * MINUTE, -2, 4)).toEqual(gone(-2))
  })

  test('of two views in a millisecond, names the same as live sending', () => {
    const both = ['/a', '/b'].map((path) => viewOf(NOW - MINUTE, path))
    const pathsOf = (views: typeof both) =>
      estimatePresence({ views, reports: [], when: NOW, quietMs: QUIET, reportedSince: NOW - DAY }).paths
    const live = presenceAt(both.map(toLostReport), NOW)
    expect([pathsOf(both), pathsOf(both.toReversed())]).toEqual([live.paths, live.paths])
  })
})

test('reports after the decision change nothing', async () => {
  const at = await openSimulating()
  const content = { wait: { minutes: 60 }, onlyIf: [{ rule: 'away', at: 'trigger' }] } satisfies Partial<MessageContent>
  await at.putLive(content)
  const say = (id: string, event: object) =>
    send(at.server, report(at.server.first, { email: 'bob@example.com', id, events: [event] }))
  await at.event('bob@example.com', { event: 'signed_up' })
  at.clock.tick(MINUTE)
  await say('load.1', page('/results/1'))
  at.clock.tick(20 * MINUTE)
  await at.event('bob@example.com')
  at.clock.tick(3 * HOUR)
  const live = await at.decideLive()
  await say('load.2', leave('/results/1'))
  at.clock.tick(MINUTE)
  expect([live, outcomesOf(await at.simulate(content))]).toEqual([live, live])
  expect(live).toEqual({ 'bob@example.com': 'send' })
})

test('a late report proves that its page was still open', async () => {
  const at = await openSimulating()
  const content = { onlyIf: [{ rule: 'notSeen' }] } satisfies Partial<MessageContent>
  await at.putLive(content)
  const say = (id: string, event: object) =>
    send(at.server, report(at.server.first, { email: 'bob@example.com', id, events: [event] }))
  await at.event('bob@example.com', { event: 'signed_up' })
  at.clock.tick(50 * MINUTE)
  await say('other.1', leave('/home'))
  at.clock.tick(43 * MINUTE)
  await say('load.2', page('/results/1'))
  at.clock.tick(75 * MINUTE)
  await say('load.1', page('/wait', 120 * MINUTE))
  at.clock.tick(39 * MINUTE)
  await at.event('bob@example.com', { occurredAt: new Date(at.clock.now() - 101 * MINUTE).toISOString() })
  at.clock.tick(MINUTE)
  const live = await at.decideLive()
  expect([live, outcomesOf(await at.simulate(content))]).toEqual([live, live])
  expect(live).toEqual({ 'bob@example.com': 'seen' })
})

test('a view that is reported late, after many others, counts like in live sending', async () => {
  const at = await openSimulating()
  const content: Partial<MessageContent> = {
    wait: { minutes: 120 },
    onlyIf: [{ rule: 'away', at: 'trigger', ifUnknown: 'skip' }],
  }
  await at.putLive(content)
  const say = (id: string, ...events: object[]) =>
    send(at.server, report(at.server.first, { email: 'bob@example.com', id, events }))
  await at.event('bob@example.com', { event: 'signed_up' })
  at.clock.tick(60 * MINUTE)
  await at.event('bob@example.com')
  at.clock.tick(MINUTE)
  for (let load = 0; load < 16; load += 1) {
    await say(`load.${load}`, page(`/${load}`))
    at.clock.tick(MINUTE)
  }
  await say('old.1', page('/earlier', 40 * MINUTE))
  at.clock.tick(3 * HOUR)
  const outcomes = { 'bob@example.com': 'never_reported' }
  expect(await at.decideLive()).toEqual(outcomes)
  expect(outcomesOf(await at.simulate(content))).toEqual(outcomes)
})

describe('three days later', () => {
  let at: Simulating
  beforeEach(async () => {
    at = await openSimulating()
  })

  const [draft] = FIRST_MESSAGES
  const simulate = (content: Partial<MessageContent> = {}) => at.simulate({ ...draft?.content, ...content })

  async function play(left: string[], stayed: string[]): Promise<void> {
    const all = [...left, ...stayed]
    for (const email of all) await at.event(email, { event: 'signed_up' })
    at.clock.tick(HOUR)
    for (const email of all) await at.browse(email, page('/wait'))
    at.clock.tick(MINUTE)
    for (const email of left) await at.browse(email, leave('/wait'))
    at.clock.tick(MINUTE)
    for (const email of all) await at.event(email)
    at.clock.tick(MINUTE)
    for (const email of stayed) await at.browse(email, page('/other'))
    at.clock.tick(HOUR)
  }

  async function forgetReports(): Promise<number> {
    const count = () =>
      withSql(at.server.folder, async (sql) => {
        const text = 'SELECT count(*) AS reports FROM snippet_batches WHERE app_id = ?'
        return (await sql.prepare<{ reports: number }>(text).get(at.messaging.app.id))?.reports ?? 0
      })
    const before = await count()
    await at.messaging.store().cleanUp({ at: at.clock.now() })
    return before - (await count())
  }

  test('the first draft is decided as on that day, and marked as an estimate', async () => {
    await play(['a@example.com', 'b@example.com', 'c@example.com'], ['d@example.com', 'e@example.com'])
    const onTheDay = await simulate()
    expect(onTheDay).toMatchObject({ counts: { send: 3, not_away: 2 }, estimated: 0 })
    expect(onTheDay.lines.flatMap(({ verdicts }) => verdicts.filter(({ isEstimated }) => isEstimated))).toEqual([])
    at.clock.tick(3 * DAY)
    const later = await simulate()
    expect(await forgetReports()).toBe(10)
    expect(await simulate()).toEqual(later)
    expect(later).toMatchObject({ counts: onTheDay.counts, estimated: 5 })
    const marks = later.lines.map(({ verdicts }) => verdicts.map(({ rule, isEstimated }) => `${rule} ${isEstimated}`))
    const all = ['notSeen', 'away', 'away'].map((rule) => `${rule} true`)
    expect(marks).toEqual(Array.from({ length: 5 }, () => all))
    const dueTimes = ({ lines }: typeof later) => lines.map(({ email, dueAt }) => [email, dueAt]).toSorted()
    expect(dueTimes(later)).toEqual(dueTimes(onTheDay))
  })

  test('a page view is not an estimate', async () => {
    await play(['a@example.com'], [])
    await at.browse('a@example.com', page('/results/1'))
    at.clock.tick(3 * DAY)
    await forgetReports()
    const { counts, estimated } = await simulate({ wait: { minutes: 120 }, onlyIf: [{ rule: 'notSeen' }] })
    expect([counts, estimated]).toEqual([{ seen: 1 }, 0])
  })

  test('a message without presence rules is not an estimate', async () => {
    await play(['a@example.com'], [])
    at.clock.tick(3 * DAY)
    expect(await simulate({ onlyIf: [{ rule: 'notDone', event: 'paid' }] })).toMatchObject({ estimated: 0 })
  })
})
