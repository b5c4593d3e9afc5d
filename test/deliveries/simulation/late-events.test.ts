import { beforeEach, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../../src/accounts/first-messages.ts'
import { describeSimulation } from '../../../src/deliveries/simulation/index.ts'
import { BATCH, DAY } from '../../helper.ts'
import { messageOf, MINUTE } from '../../messaging.ts'
import { type Simulating, useSimulating } from './simulating.ts'

const openSimulating = useSimulating()
const content = FIRST_MESSAGES.find(({ name }) => name === 'Results ready, they left')?.content
const PEOPLE = Array.from({ length: 150 }, (_, index) => index)
const EVENTS_PER_BATCH = 100

let at: Simulating
beforeEach(async () => {
  at = await openSimulating()
})

/** Of all people, `agoMs` before now; null: no such event of this person. */
async function sendAll(event: string, agoMs: (person: number) => number | null): Promise<void> {
  const { server, messaging, clock } = at
  const events = PEOPLE.flatMap((person) => {
    const ago = agoMs(person)
    const properties = { url: `https://first.example/${event}/${person}/${ago}` }
    const occurredAt = new Date(clock.now() - (ago ?? 0)).toISOString()
    const email = `p${person}@example.com`
    return ago === null ? [] : [{ app: server.first.appId, email, event, properties, occurredAt, createContact: true }]
  })
  for (let first = 0; first < events.length; first += EVENTS_PER_BATCH) {
    const body = { events: events.slice(first, first + EVENTS_PER_BATCH) }
    const { results = [] } = (await server.call('POST', BATCH, { body })).body
    expect(results.map(({ ok }) => ok)).toEqual(body.events.map(() => true))
  }
  await messaging.decide()
}

const backfillSignUps = () => sendAll('signed_up', (person) => (1 + (person % 27)) * DAY)
const sendResults = () => sendAll('results_ready', (person) => (person % 3 === 0 ? 4 * MINUTE : 0))
const sendEarlierResults = () =>
  sendAll('results_ready', (person) => (person % 2 === 0 ? (15 + (person % 30)) * MINUTE : null))

const putLive = () => at.messaging.put({ ...messageOf(), ...content })
const simulate = () => at.simulate(content, { days: 30 })

/** People and emails by outcome, in the words of a simulation. */
async function countLive() {
  const counts: Record<string, number> = {}
  const emailed = new Set<number>()
  for (const { state, contactId } of await at.messaging.deliveries()) {
    const outcome = state === 'sent' ? 'send' : state
    counts[outcome] = (counts[outcome] ?? 0) + 1
    if (state === 'sent') emailed.add(contactId)
  }
  return { counts, emailed: emailed.size }
}

test('decides late events as the live message did', async () => {
  await putLive()
  await backfillSignUps()
  for (const [step, minutes] of [
    [sendResults, 1],
    [sendEarlierResults, 6],
    [async () => {}, 10],
  ] as const) {
    await step()
    at.clock.tick(minutes * MINUTE)
    await at.messaging.decide()
    const { counts, people } = await simulate()
    expect({ counts, emailed: people.emailed }).toEqual(await countLive())
  }
  expect((await countLive()).counts).toEqual({ send: 175, joined: 50 })
})

test('says that the message may have gone live later', async () => {
  await backfillSignUps()
  await sendResults()
  await putLive()
  at.clock.tick(MINUTE)
  await sendEarlierResults()
  const { emailed } = await countLive()
  const found = await simulate()
  // alone, the second result is due at once; the email that the first one would have started still waits
  expect(emailed).toBe(75)
  expect(found.people.emailed).toBeLessThan(75)
  expect(describeSimulation(found)).toContain(
    "Past events and page views are simulated in the order they arrived, as if the message had been live all along, with today's subscriptions, names, tags and fields.",
  )
})
