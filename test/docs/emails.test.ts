/** The message file of the documentation: downloaded, imported, and triggered as its page says. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import PostalMime from 'postal-mime'
import { isRefusal } from '../../src/core/refusals.ts'
import { importMessages } from '../../src/messages/message-files.ts'
import { API, BASE_URL, CONTACTS, DAY, HOUR, NOW } from '../helper.ts'
import { type Sending, startSending } from '../mail/sending.ts'
import { ADA, createMessaging, leave, type Messaging, MINUTE, page } from '../messaging.ts'

const BOB = 'bob@example.com'
const TRIAL_ENDS_AT = new Date(NOW + 14 * DAY).toISOString()

let sending: Sending
let messaging: Messaging
beforeEach(async () => {
  sending = await startSending({ trigger: { event: 'other' } })
  messaging = await createMessaging(sending)
})
afterEach(() => sending.close())

async function importFile(given: { dryRun: boolean }) {
  const file = await (await sending.send(new Request(`${BASE_URL}/docs/emails.json`))).json()
  const outcome = await importMessages(messaging.context(), messaging.by, { file, status: 'live', ...given })
  if (isRefusal(outcome)) throw new Error(JSON.stringify(outcome))
  return outcome
}

const addPerson = (email: string, fields: object = { trialEndsAt: TRIAL_ENDS_AT }) =>
  sending.call('POST', CONTACTS, { body: { app: sending.app.publicId, email, fields } })
const record = (event: string, properties: object = {}, email = ADA) => messaging.event({ event, properties, email })
const sendReceipt = (properties: object) =>
  sending.call('POST', `${API}/send`, {
    body: { app: sending.app.publicId, email: ADA, message: 'Receipt', properties },
  })

async function advance(ms: number): Promise<void> {
  sending.clock.tick(ms)
  await messaging.store().runSchedules({ at: sending.clock.now() })
  await sending.sendDue()
}

async function subjectsTo(email: string): Promise<(string | undefined)[]> {
  const mails = await Promise.all(sending.server.received.map(async ({ raw }) => PostalMime.parse(raw)))
  return mails.filter(({ to }) => to?.[0]?.address === email).map(({ subject }) => subject)
}

test('each variable has a fallback: events and people without values stop no email', async () => {
  const { messages, warnings } = await importFile({ dryRun: true })
  expect(messages).toHaveLength(10)
  const untried = /No (?:events|people) to check yet|^No person has `fields\.trialEndsAt` yet\.$/
  for (const { message } of warnings) expect(message).toMatch(untried)
  await addPerson(ADA, {})
  await addPerson(BOB)
  for (const event of ['signed_up', 'results_ready', 'invoice.failed', 'weekly_limit_reached', 'invitation_accepted'])
    await record(event)
  const { warnings: left } = await importFile({ dryRun: true })
  expect(left.filter(({ code }) => code !== 'unfit_data')).toEqual([])
  await importFile({ dryRun: false })
  expect((await sendReceipt({})).status).toBe(202)
})

test('each trigger sends its email once', async () => {
  await importFile({ dryRun: false })
  for (const email of [ADA, BOB]) await addPerson(email)
  await record('checkout.paid', {}, BOB)
  for (const _ of ['sent', 'retried']) await record('signed_up')
  await messaging.browse('load', page('/start'), leave())
  await advance(HOUR)
  const result = { url: 'https://first.example/results/1', headline: 'Your 12 pictures are ready' }
  for (const _ of ['sent', 'retried']) await record('results_ready', result)
  await advance(10 * MINUTE)
  await advance(2 * DAY)
  await advance(9 * DAY)
  // at noon; the email waits for 09:00
  await advance(3 * DAY)
  await advance(DAY)
  for (const invoiceId of ['2', '3']) await record('invoice.failed', { invoiceId, total: '$29.00' })
  await record('invoice.paid', { invoiceId: '3' })
  await advance(HOUR)
  for (const _ of ['first run', 'second run'])
    await record('weekly_limit_reached', { limit: 50, resetsAt: '2026-06-01' })
  for (const [index, name] of ['Grace', 'Linus'].entries())
    await record('invitation_accepted', { invitationId: index, name })
  await sending.sendDue()
  await advance(5 * MINUTE)
  expect((await sendReceipt({ number: 'R-7', total: '$29.00' })).status).toBe(202)
  await advance(MINUTE)
  expect(await subjectsTo(ADA)).toEqual([
    'Welcome to first',
    'Your 12 pictures are ready',
    'Reminder: Your 12 pictures are ready',
    'Your trial ends in 3 days',
    'Your trial has ended',
    "Your $29.00 payment didn't go through",
    "You've reached your weekly limit",
    '2 people accepted your invitation',
    'Your receipt from first: R-7',
  ])
  expect(await subjectsTo(BOB)).toEqual(['Can we help with anything?'])
})
