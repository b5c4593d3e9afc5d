import { describe, expect, test } from 'bun:test'
import {
  begin,
  type Begun,
  createSendRate,
  isOverdue,
  noteAccepted,
  noteNothing,
  noteRefused,
  roomAt,
  type SendRate,
  waitMsAt,
} from '../../src/mail/send-rate.ts'
import { createRandom } from '../random.ts'

const SECOND = 1_000
const HOUR = 3_600_000

/** Whether a server accepts an email that arrives then. */
type Server = (at: number) => boolean

/** In fixed periods, as by the clock on the wall. */
function inPeriods(count: number, periodMs: number, offsetMs = 0): Server {
  let [period, used] = [-1, 0]
  return (at) => {
    const current = Math.floor((at + offsetMs) / periodMs)
    if (current !== period) [period, used] = [current, 0]
    if (used === count) return false
    used += 1
    return true
  }
}

/** In any period. */
function inAny(count: number, periodMs: number): Server {
  const taken: number[] = []
  return (at) => {
    while ((taken[0] ?? at) <= at - periodMs) taken.shift()
    return taken.length < count && taken.push(at) > 0
  }
}

/** So many at once, and then as fast as the bucket is filled. */
function byBucket(count: number, periodMs: number, most = count): Server {
  let [tokens, filledAt] = [most, 0]
  return (at) => {
    tokens = Math.min(most, tokens + ((at - filledAt) * count) / periodMs)
    filledAt = at
    if (tokens < 1) return false
    tokens -= 1
    return true
  }
}

const inBoth =
  (first: Server, second: Server): Server =>
  (at) =>
    first(at) && second(at)

type Run = { ms: number; stepMs?: number; replyMs?: number; seed?: number }
type Sent = { acceptedAt: number[]; refused: number; rate: SendRate }

/** Ten connections, 100 emails a second at most, and always more emails. */
function send(server: Server, { ms, stepMs = 1, replyMs = 5, seed = 1 }: Run): Sent {
  const { next: random } = createRandom(seed)
  let rate = createSendRate(0)
  let [open, refused, tokens]: [{ repliedAt: number; begun: Begun; isAccepted: boolean }[], number, number] = [[], 0, 0]
  const acceptedAt: number[] = []
  for (let at = 0; at < ms; at += stepMs) {
    for (const { begun, isAccepted } of open.filter(({ repliedAt }) => repliedAt <= at)) {
      rate = isAccepted ? noteAccepted(rate, begun, at) : noteRefused(rate, begun, at)
      if (isAccepted) acceptedAt.push(at)
      else refused += 1
    }
    open = open.filter(({ repliedAt }) => repliedAt > at)
    tokens = Math.min(100, tokens + stepMs / 10)
    while (open.length < 10 && tokens >= 1 && roomAt(rate, at) > 0) {
      const next = begin(rate, at)
      rate = next.rate
      tokens -= 1
      open.push({ begun: next.begun, isAccepted: server(at), repliedAt: at + replyMs * (0.5 + random()) })
    }
  }
  return { acceptedAt, refused, rate }
}

describe('a server that accepts 14 emails a second gets nine of ten', () => {
  test.each<[string, () => Server]>([
    ['in fixed seconds', () => inPeriods(14, SECOND)],
    ['in fixed seconds that began before', () => inPeriods(14, SECOND, 430)],
    ['in any second', () => inAny(14, SECOND)],
    ['from a bucket', () => byBucket(14, SECOND)],
  ])('%s', (_, start) => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { acceptedAt, refused } = send(start(), { ms: 20 * SECOND, seed })
      expect(acceptedAt.length).toBeGreaterThanOrEqual(0.9 * 14 * 20)
      expect(refused).toBeLessThan(0.15 * acceptedAt.length)
    }
  })

  test('one at a time, after some seconds', () => {
    const { acceptedAt } = send(byBucket(14, SECOND, 1), { ms: 60 * SECOND })
    expect(acceptedAt.filter((at) => at >= 20 * SECOND).length).toBeGreaterThanOrEqual(0.9 * 14 * 40)
  })
})

describe('a server that accepts 100 emails an hour gets nine of ten in each hour, and few more are tried', () => {
  test.each<[string, () => Server, number]>([
    ['in fixed hours', () => inPeriods(100, HOUR), 100],
    ['in any hour', () => inAny(100, HOUR), 100],
    ['from a bucket', () => byBucket(100, HOUR), 100],
  ])('%s', (_, start, count) => {
    const { acceptedAt, refused } = send(start(), { ms: 12 * HOUR, stepMs: 50 })
    const hours = Map.groupBy(acceptedAt, (at) => Math.floor(at / HOUR))
    expect(hours.size).toBe(12)
    for (const all of hours.values()) expect(all.length).toBeGreaterThanOrEqual(0.9 * count)
    expect(refused).toBeLessThan(40 * 12)
  })

  test('and no more than 14 a second', () => {
    const { acceptedAt } = send(inBoth(inPeriods(500, HOUR), inPeriods(14, SECOND)), { ms: 4 * HOUR, stepMs: 20 })
    expect(acceptedAt.length).toBeGreaterThanOrEqual(0.9 * 500 * 4)
  })
})

test('the period of a server is found, and its count', () => {
  const { rate } = send(inAny(30, 60 * SECOND), { ms: 1_200 * SECOND, stepMs: 5 })
  expect(rate.limit?.periodMs).toBe(60 * SECOND * 1.02)
  expect(rate.limit?.count).toBeWithin(29, 33)
})

test('a limit that is lifted is forgotten within a minute', () => {
  const limited = inPeriods(14, SECOND)
  const { acceptedAt } = send((at) => at > 20 * SECOND || limited(at), { ms: 90 * SECOND })
  expect(acceptedAt.filter((at) => at >= 80 * SECOND).length).toBeGreaterThan(950)
})

test('a server that accepts nothing is tried less and less often, at most every 15 minutes', () => {
  const day = send(() => false, { ms: 24 * HOUR, stepMs: 250 })
  expect(day.refused).toBeLessThan(170)
  expect(day.rate.closed?.waitMs).toBe(15 * 60 * SECOND)
})

const limitOf = (count: number, periodMs: number) => ({
  ...createSendRate(0),
  limit: { count, periodMs, isSure: true, learnedAt: 0 },
})

test('emails are spread over a second, and sent at once in an hour', () => {
  const beginAll = (rate: SendRate, ms: number): number[] => {
    let current = rate
    return Array.from({ length: ms }, (_, at) => {
      let count = 0
      for (; roomAt(current, at) > 0; count += 1) current = begin(current, at).rate
      return count
    }).flatMap((count, at) => Array<number>(count).fill(at))
  }
  expect(beginAll(limitOf(4, SECOND), 1_000)).toEqual([0, 100, 200, 300])
  expect(beginAll(limitOf(20, SECOND), 1_000)).toEqual(Array.from({ length: 20 }, (_, n) => Math.floor(n / 2) * 100))
  expect(beginAll(limitOf(3, HOUR), 1_000)).toEqual([0, 100, 200])
})

test('says how long to wait', () => {
  let rate: SendRate = limitOf(2, SECOND)
  expect(waitMsAt(rate, 0)).toBe(0)
  rate = begin(rate, 0).rate
  expect(waitMsAt(rate, 30)).toBe(70)
  rate = begin(rate, 100).rate
  expect(waitMsAt(rate, 100)).toBe(900)
  expect(waitMsAt(rate, 1_000)).toBe(0)
})

describe('while closed', () => {
  const close = () => {
    const first = begin(createSendRate(0), 0)
    const second = begin(first.rate, 1)
    const rate = noteRefused(noteAccepted(second.rate, first.begun, 10), second.begun, 20)
    return { rate, early: first.begun }
  }

  test('one email tries, after a second', () => {
    const { rate } = close()
    expect([roomAt(rate, 21), waitMsAt(rate, 20)]).toEqual([0, 1_000])
    expect(roomAt(rate, 1_020)).toBe(1)
    const tried = begin(rate, 1_020)
    expect([tried.begun.isTry, roomAt(tried.rate, 1_021)]).toEqual([true, 0])
    expect(roomAt(noteNothing(tried.rate, tried.begun, { isUnused: true }), 1_021)).toBe(1)
    expect(roomAt(noteAccepted(tried.rate, tried.begun, 1_030), 1_030)).toBe(0)
    expect(noteAccepted(tried.rate, tried.begun, 1_030)).toMatchObject({ closed: null, limit: { count: 1 } })
  })

  test('emails that were claimed before are not offered, and their refusals count once', () => {
    const { rate, early } = close()
    expect([isOverdue(rate, early), isOverdue(rate, begin(rate, 1_020).begun)]).toEqual([true, false])
    expect(noteRefused(rate, early, 30)).toBe(rate)
    const late = begin(rate, 30)
    expect([late.rate, isOverdue(rate, late.begun)]).toEqual([rate, true])
  })

  test('a server that names the time of the next try is not asked before', () => {
    const { rate, early } = close()
    const later = noteRefused(rate, early, 30, 60_000)
    expect([roomAt(later, 60_029), roomAt(later, 60_030)]).toEqual([0, 1])
    const tried = begin(later, 60_030)
    const again = noteRefused(tried.rate, tried.begun, 60_040, 600_000)
    expect([waitMsAt(again, 60_040), roomAt(again, 660_040)]).toEqual([600_000, 1])
    // a shorter one changes nothing
    expect(noteRefused(again, early, 60_050, 1_000)).toBe(again)
  })

  test('a refusal from before does not close it again', () => {
    const { rate, early } = close()
    const tried = begin(rate, 1_020)
    const open = noteAccepted(tried.rate, tried.begun, 1_030)
    expect(noteRefused(open, early, 1_040)).toBe(open)
  })
})
