import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestServer, DAY, type TestServer } from '../helper.ts'
import { createMessaging, messageOf, type Messaging, MINUTE } from '../messaging.ts'

let server: TestServer
let messaging: Messaging
beforeAll(async () => {
  server = await createTestServer()
  messaging = await createMessaging(server)
})
afterAll(() => server.close())

const UNTIL_PAID = [{ rule: 'notDone', event: 'paid', since: 'trigger' }]
const oneOf = (email: string, event = 'results_ready') => ({ event, email, createContact: true })

/** Hands the next due email over without an answer from the mail server. */
async function handOverWithoutAnswer() {
  const store = messaging.store()
  const at = server.clock.now()
  const claimed = await store.claimDeliveries({ claimedBy: 'test', now: at, leaseMs: MINUTE, most: 1, skipApps: [] })
  if ('refusal' in claimed) throw new Error(claimed.refusal)
  const [decision] = claimed.decisions
  const [work] = claimed.works
  if (!work || decision?.outcome !== 'send') throw new Error('one email is due')
  const claim = { id: work.delivery.id, claimedBy: 'test', attempt: work.delivery.attempt, at }
  expect(await store.markHanded({ ...claim, record: JSON.stringify(decision.record) })).toEqual({ isMarked: true })
  await store.markUnknown({ ...claim, reason: 'etimedout' })
  return work.delivery
}

const verdicts = (decided: { verdict: string; reason: string | null }[]) =>
  decided.map(({ verdict, reason }) => `${verdict} ${reason}`)

describe('an email that may have arrived and was cancelled before it was sent again', () => {
  test('counts for the hours between two emails of a message', async () => {
    await messaging.put(messageOf({ name: 'Daily', again: { everyHours: 24 }, onlyIf: UNTIL_PAID } as never))
    const ada = 'daily@example.com'
    await messaging.event(oneOf(ada))
    await handOverWithoutAnswer()
    server.clock.tick(MINUTE)
    await messaging.event(oneOf(ada, 'paid'))
    server.clock.tick(MINUTE)
    await messaging.event(oneOf(ada))
    server.clock.tick(MINUTE)
    expect(verdicts(await messaging.decide())).toEqual([])
    server.clock.tick(DAY)
    await messaging.event(oneOf(ada))
    expect(verdicts(await messaging.decide())).toEqual(['send null'])
  })

  test('counts for the emails a day of a person', async () => {
    await messaging.set({ perPersonDay: 1 } as never)
    await messaging.put(
      messageOf({ name: 'First', trigger: { event: 'first' }, ifUnconfirmed: 'resend', onlyIf: UNTIL_PAID } as never),
    )
    await messaging.put(messageOf({ name: 'Second', trigger: { event: 'second' } }))
    const bob = 'limited@example.com'
    await messaging.event(oneOf(bob, 'first'))
    await handOverWithoutAnswer()
    server.clock.tick(MINUTE)
    await messaging.event(oneOf(bob, 'paid'))
    await messaging.event(oneOf(bob, 'second'))
    server.clock.tick(MINUTE)
    expect(verdicts(await messaging.decide())).toEqual(['wait perDay'])
  })

  test('never counts for itself when it is sent again', async () => {
    await messaging.set({ perPersonDay: 1 } as never)
    await messaging.put(
      messageOf({ name: 'Again', trigger: { event: 'again' }, ifUnconfirmed: 'resend', again: { everyHours: 24 } }),
    )
    const eve = 'again@example.com'
    await messaging.event(oneOf(eve, 'again'))
    const { id } = await handOverWithoutAnswer()
    server.clock.tick(DAY / 2)
    expect(verdicts(await messaging.decide())).toContain('send null')
    expect((await messaging.deliveries()).find((one) => one.id === id)?.state).toBe('sent')
  })
})
