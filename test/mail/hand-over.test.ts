import { describe, expect, test } from 'bun:test'
import { RETRY_MS, SPREAD } from '../../src/mail/marks.ts'
import type { Provider } from '../../src/mail/provider.ts'
import type { DeliveryState } from '../../src/store/message-types.ts'
import { createTestSender, HOUR, LOOPBACK_HOSTS } from '../helper.ts'
import { recordOf } from '../messaging.ts'
import { countEach, impatient, live, LONG_STEP, MINUTE, type Sending, useSharedSending } from './sending.ts'

const start = useSharedSending()

describe('one recipient among a hundred', () => {
  test('that does not exist gets no more email; the others get theirs', async () => {
    const sending = await start({}, { recipient: (to) => (to === 'p50@example.com' ? 550 : 'accept') })
    await sending.sendEvents(100)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 99, 'failed: smtp_550': 1 })
    expect(countEach(sending)).toEqual(Array(99).fill(1))
  })

  test('whose mailbox is full gets it later, and delays no one', async () => {
    let isFull = true
    const sending = await start({}, { recipient: (to) => (to === 'p50@example.com' && isFull ? 452 : 'accept') })
    await sending.sendEvents(100)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 99, 'deferred: smtp_452': 1 })
    await live(sending, 30 * MINUTE)
    isFull = false
    await live(sending, 4 * HOUR)
    expect(await sending.states()).toEqual({ sent: 100 })
  })

  test('whose mailbox is full is tried less and less often, also across send windows', async () => {
    const tries: number[] = []
    let now = (): number => 0
    const sending = await start({}, { recipient: () => (tries.push(now()), 452) })
    now = sending.clock.now
    const noon = sending.clock.now()
    await sending.setSettings({ sendWindow: { days: [0, 1, 2, 3, 4, 5, 6], from: '11:00', until: '14:00' } })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    await live(sending, 30 * HOUR)
    const [first, second] = [tries.filter((at) => at < noon + 12 * HOUR), tries.filter((at) => at > noon + 12 * HOUR)]
    const waited = first.map((at, index) => (at - (first[index - 1] ?? noon)) / MINUTE)
    // each wait may be a fifth shorter
    for (const [index, longest] of [0, 1, 5, 15, 60].entries())
      expect(waited[index]).toBeWithin(longest * 0.8 - 0.01, longest + 0.01)
    expect(waited).toHaveLength(5)
    // the next waits are four and eight hours
    expect(second).toHaveLength(1)
  })

  test('whose server hangs delays no one', async () => {
    const sending = await start(
      {},
      { recipient: (to) => (to === 'p5@example.com' ? 'hang' : 'accept') },
      { createProvider: impatient },
    )
    await sending.sendEvents(100)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 99, 'deferred: etimedout': 1 })
  })
})

test('an email that waits for its retry is sent by the server after a restart', async () => {
  let isFull = true
  const sending = await start({}, { recipient: () => (isFull ? 452 : 'accept') })
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  isFull = false
  await sending.restart()
  await live(sending, 2 * MINUTE)
  expect(await sending.states()).toEqual({ sent: 1 })
})

test('an unknown mailbox is suppressed', async () => {
  const sending = await start({ again: { everyHours: 1 } }, { recipient: () => 550, unknownMailbox: true })
  await sending.sendEvent('gone@example.com')
  await sending.sendDue()
  expect(await sending.store().findSuppression(sending.app.id, 'gone@example.com')).toBe('bounced')
  sending.clock.tick(2 * HOUR)
  await sending.sendEvent('gone@example.com')
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'failed: no_mailbox': 1, 'skipped: bounced': 1 })
})

test('a person erased while the server refused their mailbox is not suppressed', async () => {
  const refuse = Promise.withResolvers<void>()
  const handed = Promise.withResolvers<void>()
  const createProvider = (): Provider => ({
    async send(_, handOver) {
      await handOver()
      handed.resolve()
      await refuse.promise
      return { is: 'refused', code: 550, enhanced: '5.1.1', about: 'recipient' }
    },
    close: () => {},
  })
  const sending = await start({}, {}, { createProvider })
  await sending.sendEvent('gone@example.com')
  const sent = sending.sendDue()
  await handed.promise
  const erasing = { appId: sending.app.id, accountId: sending.app.accountId, actor: 'test', at: sending.clock.now() }
  await sending.store().eraseContact({ ...erasing, email: 'gone@example.com' })
  refuse.resolve()
  await sent
  expect(await sending.store().findSuppression(sending.app.id, 'gone@example.com')).toBeNull()
})

test('an unknown mailbox is suppressed even though the disk was full', async () => {
  const sending = await start({}, { recipient: () => 550, unknownMailbox: true })
  await sending.sendEvent('gone@example.com')
  const store = sending.store()
  const { suppress } = store
  let refused = 0
  store.suppress = async (input) => (refused++ === 0 ? { refusal: 'unavailable' } : suppress(input))
  await sending.sendDue()
  expect([refused, await store.findSuppression(sending.app.id, 'gone@example.com')]).toEqual([2, 'bounced'])
  expect(await sending.states()).toEqual({ 'failed: no_mailbox': 1 })
})

test('an email is tried less and less often, and given up after 72 hours', async () => {
  const sending = await start({}, { recipient: () => 451 })
  await sending.sendEvent('ada@example.com')
  const tries: number[] = []
  while (true) {
    await sending.sendDue()
    const [delivery] = await sending.deliveries()
    if (delivery?.state === 'deferred') tries.push(sending.clock.now())
    if (delivery?.state !== 'deferred') break
    sending.clock.tick(delivery.dueAt - sending.clock.now())
  }
  const gaps = tries.slice(1).map((at, index) => at - (tries[index] ?? 0))
  const longest = gaps.map((_, index) => RETRY_MS[index] ?? 8 * HOUR)
  for (const [index, gap] of gaps.entries()) {
    const most = longest[index] ?? 0
    expect(gap).toBeWithin(most * (1 - SPREAD), most + 1)
  }
  expect(gaps.length).toBeGreaterThan(10)
  expect(sending.clock.now() - (tries[0] ?? 0)).toBeWithin(64 * HOUR, 72 * HOUR)
  expect(await sending.states()).toEqual({ 'failed: smtp_451': 1 })
})

describe('the verdicts of the rules stay', () => {
  test.each<[string, Parameters<typeof start>, DeliveryState, number]>([
    ['a person refused for good', [{}, { recipient: () => 550 }], 'failed', 1],
    ['an email that the server deferred', [{}, { recipient: () => 451 }], 'deferred', 1],
    ['an email given up after its last try', [{}, { recipient: () => 451 }], 'failed', 4],
    [
      'an email that may have arrived',
      [{ ifUnconfirmed: 'leave' }, { dot: () => 'drop', keepsDropped: true }],
      'unknown',
      1,
    ],
  ])('of %s', async (_, given, state, tries) => {
    const sending = await start(...given)
    await sending.setSettings({ giveUpHours: 1 })
    await sending.sendEvent('ada@example.com')
    for (let tried = 0; tried < tries; tried += 1) {
      await sending.sendDue()
      sending.clock.tick(20 * MINUTE)
    }
    const [delivery] = await sending.deliveries()
    expect(delivery?.state).toBe(state)
    expect(delivery && recordOf(delivery).verdicts.map(({ rule }) => rule)).toEqual(['suppression', 'message'])
  })
})

describe('the outcome of a hand-over is stored, also if storing fails at first', () => {
  /** Refuses the first write of that name, like a stalled disk. */
  function refuseOnce(sending: Sending, name: 'markDeferred' | 'markFailed'): void {
    const store = sending.store()
    const write = store[name] as (input: unknown) => unknown
    let refused = 0
    Object.assign(store, {
      [name]: async (input: unknown) => (refused++ === 0 ? { refusal: 'unavailable' } : write(input)),
    })
  }

  test.each(['resend', 'leave'] as const)(
    'a mail that was not taken after its dot comes later: %s',
    async (ifUnconfirmed) => {
      let dots = 0
      const sending = await start({ ifUnconfirmed }, { dot: () => (dots++ === 0 ? 451 : 'accept') })
      refuseOnce(sending, 'markDeferred')
      await sending.sendEvents(1)
      await sending.sendDue()
      expect(await sending.states()).toEqual({ 'deferred: smtp_451': 1 })
      await live(sending, 5 * MINUTE)
      expect([await sending.states(), countEach(sending)]).toEqual([{ sent: 1 }, [1]])
    },
  )

  test('a hand-over whose commit is not confirmed does not happen, and is retried', async () => {
    const sending = await start()
    const store = sending.store()
    const { markHanded } = store
    let handed = 0
    store.markHanded = async (input) => {
      const marked = await markHanded(input)
      return handed++ === 0 ? { refusal: 'commit_unconfirmed' } : marked
    }
    refuseOnce(sending, 'markDeferred')
    await sending.sendEvents(1)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ 'deferred: not_saved': 1 })
    await live(sending, 20 * MINUTE)
    expect([await sending.states(), countEach(sending)]).toEqual([{ sent: 1 }, [1]])
  })

  test('an email that is given up is recorded', async () => {
    const sending = await start({}, { dot: () => 451 })
    await sending.sendEvents(1)
    await sending.sendDue()
    refuseOnce(sending, 'markFailed')
    await live(sending, 5 * 24 * HOUR, LONG_STEP)
    expect(await sending.states()).toEqual({ 'failed: smtp_451': 1 })
  }, 120_000)
})

test('an instance that stood still while it was told that an email is marked as handed over does not send it', async () => {
  const sending = await start({ ifUnconfirmed: 'leave' })
  await sending.sendEvent('ada@example.com')
  const [store, { clock, server }] = [sending.store(), sending]
  const frozen = createTestSender(
    {
      store: {
        ...store,
        markHanded: async (claim) => {
          const marked = await store.markHanded(claim)
          clock.tick(MINUTE)
          return marked
        },
      },
      clock,
    },
    { defaults: { smtpUrl: server.url, from: 'Demo <hello@first.example>' }, privateHosts: LOOPBACK_HOSTS },
  )
  await frozen.sendDue()
  expect(server.received).toEqual([])
  expect(await sending.states()).toEqual({ 'deferred: not_saved': 1 })
  await live(sending, 2 * MINUTE)
  expect(countEach(sending)).toEqual([1])
  await frozen.stop()
})
