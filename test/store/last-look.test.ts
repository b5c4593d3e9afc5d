/** What is found at the final dot, when several mails to one person were judged at once (messages.md, Sending). */
import { expect, test } from 'bun:test'
import type { MessageContent } from '../../src/store/message-types.ts'
import { useClosing } from '../closing.ts'
import { HOUR } from '../helper.ts'
import { recordOf } from '../messaging.ts'
import type { Doing } from '../mail/mail-server.ts'
import { CONTENT, RESULTS, type Sending, startSending } from '../mail/sending.ts'

const keep = useClosing()
const ADA = 'ada@example.com'

const change = async ({ store, app }: Sending, content: Partial<MessageContent>): Promise<void> => {
  const [message] = (await store().listMessages(app.id)).filter(({ name }) => name === 'Results ready')
  const draft = { id: message?.id ?? 0, name: 'Results ready', status: 'live' as const }
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: 1 }
  const saved = await store().saveMessages({ ...by, drafts: [{ ...draft, content: { ...CONTENT, ...content } }] })
  if ('refusal' in saved) throw new Error(saved.refusal)
}

/** One of a version that came once per result, one of the version of now: their keys do not stand in each other's way. */
async function startTwo(wait: MessageContent['wait']): Promise<Sending> {
  const sending = keep(await startSending({ again: { once: 'property', property: 'n' }, wait }))
  await sending.sendEvent(ADA, { ...RESULTS, n: 1 })
  await change(sending, { again: { everyHours: 24 }, wait })
  await sending.sendEvent(ADA, { ...RESULTS, n: 2 })
  expect(await sending.states()).toEqual({ waiting: 2 })
  return sending
}

test('at most every so many hours: of two that are judged in the same instant only one goes', async () => {
  const sending = await startTwo({ minutes: 60 })
  // each is judged before the other is handed over
  const { store, clock } = sending
  clock.tick(HOUR)
  const at = clock.now()
  const claimed = await store().claimDeliveries({ claimedBy: 'a', now: at, leaseMs: HOUR, most: 9, skipApps: [] })
  const works = 'works' in claimed ? claimed.works : []
  const record = '{"at":1,"verdicts":[{"rule":"wish","about":null,"value":null,"verdict":"pass"}]}'
  const marked = []
  for (const { delivery } of works.toSorted((one, other) => one.delivery.id - other.delivery.id)) {
    const { id, attempt } = delivery
    marked.push(await store().markHanded({ id, attempt, claimedBy: 'a', at, record }))
  }
  expect(marked).toEqual([{ held: true }, { held: false, because: 'again' }])
  const [second] = await sending.deliveries()
  expect(second).toMatchObject({ state: 'skipped', reason: 'again' })
  expect(second && recordOf(second)).toEqual({
    at,
    rulesAt: 1,
    verdicts: [
      { rule: 'again', about: '24', value: at, verdict: 'fail' },
      { rule: 'wish', about: null, value: null, verdict: 'pass' },
    ],
  })
})

test('at most every so many hours: through the sender too', async () => {
  const sending = await startTwo({ minutes: 60 })
  sending.clock.tick(HOUR)
  await sending.sendDue()
  expect(sending.server.received).toHaveLength(1)
})

test('who unsubscribes before the final dot is not written to, and the record says so', async () => {
  const recipient = (): Doing => {
    void sending.store().suppress({ ...person, at: sending.clock.now() })
    return 'accept'
  }
  const sending: Sending = keep(await startSending({}, { recipient }))
  const person = { appId: sending.app.id, email: ADA, reason: 'unsubscribed' as const }
  await sending.sendEvent(ADA)
  await sending.sendDue()
  expect([sending.server.received, await sending.states()]).toEqual([[], { 'skipped: unsubscribed': 1 }])
  const [delivery] = await sending.deliveries()
  const [wish] = delivery ? recordOf(delivery).verdicts : []
  expect(wish).toEqual({ rule: 'wish', about: null, value: 'unsubscribed', verdict: 'fail' })
})
