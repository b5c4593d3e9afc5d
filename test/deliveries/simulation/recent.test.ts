import { beforeEach, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../../src/accounts/first-messages.ts'
import { refuse } from '../../../src/core/refusals.ts'
import type { Simulation, SimulationInput } from '../../../src/deliveries/simulation/index.ts'
import { createRecentSimulations } from '../../../src/deliveries/simulation/recent.ts'
import type { MessageContent } from '../../../src/messages/messages.ts'

const MINUTE = 60_000
const content = FIRST_MESSAGES[0]?.content ?? ({} as MessageContent)
const settings = { sendWindow: null, timezone: null, giveUpHours: null }
const asked = { appId: 1, messageId: 2, content, settings, hosts: [], days: 7 }

const clock = { ms: 0, now: () => clock.ms, monotonicMs: () => clock.ms, steadyNow: () => clock.ms }
type Outcome = Awaited<ReturnType<Parameters<typeof createRecentSimulations>[0]['simulations']['simulate']>>
let runs: { input: SimulationInput; end: PromiseWithResolvers<Outcome> }[]
let ended: number
let recent: ReturnType<typeof createRecentSimulations>

beforeEach(() => {
  clock.ms = 1_000_000
  runs = []
  ended = 0
  const simulate = (input: SimulationInput) => {
    const end = Promise.withResolvers<Outcome>()
    runs.push({ input, end })
    return end.promise
  }
  recent = createRecentSimulations({ simulations: { simulate }, clock, onEnd: () => void (ended += 1) })
})

const line = (contactId: number, outcome: string) => ({
  contactId,
  email: 'a@example.com',
  triggeredAt: 1,
  dueAt: 2,
  outcome,
  verdicts: [],
})
const simulation = (emailed: number, waiting = 0): Simulation => ({
  from: 0,
  until: clock.ms,
  triggered: 5,
  tooOld: 4,
  hasMore: false,
  counts: { send: emailed },
  estimated: 0,
  untried: 0,
  people: { triggered: 5, emailed, unseen: 0, waiting, heldBack: 0 },
  outcomes: [
    { outcome: 'send', people: 1, lines: [line(1, 'send')] },
    { outcome: 'seen', people: 1, lines: [line(2, 'seen')] },
  ],
  lines: [line(1, 'send'), line(1, 'send'), line(2, 'seen')],
})

async function end(outcome: Outcome | Error): Promise<void> {
  const last = runs.at(-1)?.end
  if (outcome instanceof Error) last?.reject(outcome)
  else last?.resolve(outcome)
  await Bun.sleep(0)
}

test('answers at once, runs once, and keeps who would be emailed', async () => {
  expect(recent.find(asked)).toEqual({ result: null, state: 'running' })
  expect(recent.find(asked).state).toBe('running')
  expect(runs.map(({ input }) => input)).toEqual([{ ...asked, now: clock.ms }])
  await end(simulation(3))
  expect(ended).toBe(1)
  const result = {
    people: { triggered: 5, emailed: 3, unseen: 0, waiting: 0, heldBack: 0 },
    tooOld: 4,
    hasMore: false,
    from: 0,
    at: clock.ms,
    lines: [line(1, 'send')],
  }
  expect(recent.find(asked)).toEqual({ result, state: 'ready' })
  expect(runs).toHaveLength(1)
})

test('shows the last result while an old one is counted again', async () => {
  recent.find(asked)
  await end(simulation(3))
  clock.ms += 10 * MINUTE - 1
  expect(recent.find(asked).state).toBe('ready')
  clock.ms += 1
  expect(recent.find(asked)).toMatchObject({ result: { people: { emailed: 3 } }, state: 'running' })
  await end(simulation(4))
  expect(recent.find(asked)).toMatchObject({ result: { people: { emailed: 4 } }, state: 'ready' })
})

test('another text is another result, and another app too', async () => {
  recent.find(asked)
  await end(simulation(3))
  expect(recent.find({ ...asked, content: { ...content, onlyIf: [] } })).toEqual({ result: null, state: 'running' })
  expect(recent.find({ ...asked, appId: 2 })).toEqual({ result: null, state: 'running' })
  expect(runs).toHaveLength(3)
})

test.each<[string, Outcome | Error]>([
  ['a refusal', refuse('unavailable')],
  ['a failure', new Error('disk')],
  ['nothing', null],
])('%s keeps the last result, and is not repeated at once', async (_, outcome) => {
  recent.find(asked)
  await end(outcome)
  expect(recent.find(asked)).toEqual({ result: null, state: 'failed' })
  expect(runs).toHaveLength(1)
  clock.ms += 10 * MINUTE
  recent.find(asked)
  await end(simulation(3))
  clock.ms += 10 * MINUTE
  recent.find(asked)
  await end(outcome)
  expect(recent.find(asked)).toMatchObject({ result: { people: { emailed: 3 } }, state: 'ready' })
})

test('counts again soon while nobody would be emailed, but somebody waits', async () => {
  recent.find(asked)
  await end(simulation(0, 1))
  clock.ms += MINUTE
  expect(recent.find(asked).state).toBe('running')
  await end(simulation(1, 1))
  clock.ms += MINUTE
  expect(recent.find(asked).state).toBe('ready')
})
