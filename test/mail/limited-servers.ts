/** Mail servers with ordinary limits. */
import type { Behaviour, Doing } from './mail-server.ts'
import { type Sending, startSending } from './sending.ts'

/** Counts what it takes in fixed periods of a clock. */
export function createQuota({ count, periodMs }: { count: number; periodMs: number }) {
  let [period, used] = [-1, 0]
  return {
    take(at: number): boolean {
      const current = Math.floor(at / periodMs)
      if (current !== period) [period, used] = [current, 0]
      if (used >= count) return false
      used += 1
      return true
    },
  }
}

/** As Amazon SES words it. */
export const THROTTLED = '4.7.0 Throttling failure: Maximum sending rate exceeded.'

/** One connection more gets 421 and is closed. */
export async function startWithConnections(most: number, behaviour: Behaviour = {}) {
  let refused = 0
  const connect = (): Doing => {
    if (sending.server.connections() <= most) return 'accept'
    refused += 1
    return 421
  }
  const sending: Sending = await startSending({}, { ...behaviour, connect })
  return { ...sending, refused: () => refused }
}

type Limited = { count: number; periodMs: number; code: number; words?: string; behaviour?: Behaviour }

/** Refuses recipients beyond the quota, by the moved clock. */
export async function startWithQuota({ count, periodMs, code, words = 'as the test says', behaviour = {} }: Limited) {
  const quota = createQuota({ count, periodMs })
  const accepted: number[] = []
  let now = (): number => 0
  let refused = 0
  const recipient = (to: string): Doing => {
    const own = behaviour.recipient?.(to) ?? 'accept'
    if (own !== 'accept') return own
    if (quota.take(now())) return 'accept'
    refused += 1
    return code
  }
  const dot = (): Doing => {
    accepted.push(now())
    return 'accept'
  }
  const sending = await startSending({}, { ...behaviour, recipient, dot, words: () => words })
  now = sending.clock.now
  return { ...sending, accepted, refused: () => refused }
}

type Hesitant = { afterMs: number; code: number; words: string }

/** Refuses each recipient until some time after the first attempt, by the moved clock. */
export async function startHesitant({ afterMs, code, words }: Hesitant) {
  const askedAt = new Map<string, number>()
  let now = (): number => 0
  const recipient = (to: string): Doing => {
    const firstAt = askedAt.get(to) ?? now()
    askedAt.set(to, firstAt)
    return now() - firstAt >= afterMs ? 'accept' : code
  }
  const sending = await startSending({}, { recipient, words: () => words })
  now = sending.clock.now
  return sending
}

/** Moves the clock in steps and sends what is due. */
export async function liveInSteps(sending: Sending, ms: number, stepMs: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += stepMs) {
    await sending.sendDue()
    sending.clock.tick(stepMs)
  }
}

/** How many of the times are in each period from the first one's on. */
export function countIn(times: readonly number[], periodMs: number): number[] {
  const counts = new Map<number, number>()
  for (const at of times) counts.set(Math.floor(at / periodMs), (counts.get(Math.floor(at / periodMs)) ?? 0) + 1)
  const [first, last] = [Math.min(...counts.keys()), Math.max(...counts.keys())]
  return Array.from({ length: last - first + 1 }, (_, index) => counts.get(first + index) ?? 0)
}

export const findLimits = async ({ sender, store, app }: Sending) =>
  sender().findLimits(await store().mailSettings(app.id))
