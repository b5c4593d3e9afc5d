import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readMailUrl } from '../../src/core/mail-apis.ts'
import { findSuppressionList } from '../../src/mail/suppression-lists.ts'
import {
  createSuppressionSyncs,
  type ListedAddress,
  MOST_LISTED,
  MOST_PAGES,
  type ProviderList,
} from '../../src/people/suppression-sync.ts'
import { inTurns } from '../helper.ts'
import { startPostmark } from './postmark-server.ts'
import { type ResendSuppression, startResend } from './resend-server.ts'
import { type Sending, useSharedSending } from './sending.ts'
import { startSes } from './ses-server.ts'
import { SENDGRID_KEY, type SendgridLists, startSendgrid } from './sendgrid-server.ts'

const start = useSharedSending()
const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})
const started = <Server extends { stop(): Promise<void> }>(server: Server): Server => {
  stops.push(server.stop)
  return server
}

let sending: Sending
let pauses: number[] = []
beforeEach(async () => {
  sending = await start()
  pauses = []
})

function listOf(url: string, standIns: Parameters<typeof findSuppressionList>[1] = {}): ProviderList {
  const service = readMailUrl(url)
  const list = service && findSuppressionList(service, standIns)
  if (list === null || 'why' in list) throw new Error(`no list for ${url}`)
  return list
}

async function sync(list: ProviderList) {
  const { store, clock, app } = sending
  const sleep = async (ms: number): Promise<void> => void pauses.push(ms)
  await createSuppressionSyncs({ store: store(), clock, sleep }).start(app, list, 'mem_1')
  return store().findSuppressionSync(app.id)
}

const suppressed = async () => {
  const { store, app } = sending
  const rows = await store().listSuppressions({ appId: app.id, reason: null, before: null, limit: 100 })
  return rows.map(({ email, reason, cause }): unknown[] => [email, reason, cause]).toSorted()
}
const NO_ADDRESS: ListedAddress = { email: 'nobody', reason: 'bounced', text: 'bounce' }
const listed = (provider: string, text: string) => ({ by: 'list', provider, text })

const POSTMARK = [
  { EmailAddress: 'Gone@Example.com', SuppressionReason: 'HardBounce', Origin: 'Recipient' },
  { EmailAddress: 'angry@example.com', SuppressionReason: 'SpamComplaint', Origin: 'Recipient' },
  { EmailAddress: 'tired@example.com', SuppressionReason: 'ManualSuppression', Origin: 'Customer' },
].map((one) => ({ ...one, CreatedAt: '2026-05-01T12:00:00Z' })) as never

test("Postmark's list of the stream is added once, with its reasons", async () => {
  const postmark = started(await startPostmark({ suppressions: POSTMARK }))
  await sending.sendEvent('gone@example.com')
  sending.clock.tick(1)
  await sending.store().suppress({ appId: sending.app.id, email: 'tired@example.com', reason: 'complained', at: 1 })
  expect(await sync(listOf(postmark.url))).toMatchObject({ added: 2, known: 1, unread: 0, fault: null })
  expect(await suppressed()).toEqual([
    ['angry@example.com', 'complained', listed('postmark', 'SpamComplaint, Recipient')],
    ['gone@example.com', 'bounced', listed('postmark', 'HardBounce, Recipient')],
    ['tired@example.com', 'complained', null],
  ])
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'skipped: bounced': 1 })
  const before = await suppressed()
  expect(await sync(listOf(postmark.url))).toMatchObject({ added: 0, known: 3 })
  expect(await suppressed()).toEqual(before)
  const person = await sending.store().findContact(sending.app.id, 'gone@example.com')
  expect(await sending.store().listContactChanges(person?.id ?? 0, null, 10)).toHaveLength(1)
})

test('a stronger reason of the list replaces a weaker one, and never the reverse', async () => {
  const { store, app, clock } = sending
  const rows = [
    { email: 'gone@example.com', reason: 'complained' },
    { email: 'angry@example.com', reason: 'bounced' },
    { email: 'tired@example.com', reason: 'bounced' },
  ] as const
  for (const row of rows) await store().suppress({ appId: app.id, ...row, at: clock.now() })
  clock.tick(1)
  const list = [...(POSTMARK as object[]), { ...(POSTMARK[0] as object), EmailAddress: 'angry@example.com' }] as never
  const postmark = started(await startPostmark({ suppressions: list }))
  expect(await sync(listOf(postmark.url))).toMatchObject({ added: 0, known: 3 })
  expect(await suppressed()).toEqual([
    ['angry@example.com', 'complained', listed('postmark', 'SpamComplaint, Recipient')],
    ['gone@example.com', 'complained', null],
    ['tired@example.com', 'bounced', null],
  ])
})

test.each([
  ['ManualSuppression', 'HardBounce', 'bounced'],
  ['SpamComplaint', 'ManualSuppression', 'complained'],
])('a list with an address as %s and as %s keeps that they unsubscribed', async (first, second, reason) => {
  const { store, app, clock } = sending
  const email = 'gone@example.com'
  const rows = [first, second].map((one) => ({ ...(POSTMARK[0] as object), SuppressionReason: one }))
  const postmark = started(await startPostmark({ suppressions: rows as never }))
  expect(await sync(listOf(postmark.url))).toMatchObject({ added: 1, known: 0 })
  expect(await store().findSuppressed(app.id, email)).toMatchObject({ reason, unsubscribedAt: clock.now() })
  await store().unsuppress({ appId: app.id, email, at: clock.now() })
  expect(await store().findSuppression(app.id, email)).toBe('unsubscribed')
})

test('a login over SMTP may be a key, too', async () => {
  const postmark = started(await startPostmark({ suppressions: POSTMARK }))
  const token = /\/\/([^@]+)@/.exec(postmark.url)?.[1]
  const standIns = { postmark: { host: '127.0.0.1', port: postmark.port } }
  expect(await sync(listOf(`smtp://${token}:${token}@smtp.postmarkapp.com:587`, standIns))).toMatchObject({ added: 3 })
  await sync(listOf(`smtp://${token}:${token}@smtp-broadcasts.postmarkapp.com:587`, standIns))
  expect(postmark.calls.map(({ path }) => path)).toEqual([
    '/message-streams/outbound/suppressions/dump',
    '/message-streams/broadcast/suppressions/dump',
  ])
})

const resendList = (count: number): ResendSuppression[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `id-${index}`,
    email: `p${index}@example.com`,
    origin: index % 2 === 0 ? 'bounce' : 'manual',
  }))

test("Resend's list is read page by page, as slowly as it asks", async () => {
  const slow = { status: 429, body: {}, headers: { 'Retry-After': '2' } }
  const resend = started(
    await startResend({ suppressions: resendList(250), page: (count) => (count === 2 ? slow : null) }),
  )
  expect(await sync(listOf(resend.url))).toMatchObject({ added: 250, known: 0, fault: null })
  expect(pauses).toEqual([2_000])
  expect(await sending.store().findSuppression(sending.app.id, 'p1@example.com')).toBe('unsubscribed')
})

test("Amazon SES's list is read page by page, with signed requests", async () => {
  const suppressions = Array.from({ length: 1_001 }, (_, index) => ({
    EmailAddress: `p${index}@example.com`,
    Reason: index === 0 ? ('COMPLAINT' as const) : ('BOUNCE' as const),
  }))
  const ses = started(await startSes({ suppressions }))
  expect(await sync(listOf(ses.url))).toMatchObject({ added: 1_001, fault: null })
  const find = (email: string) => sending.store().findSuppressed(sending.app.id, email)
  expect([await find('p0@example.com'), await find('p1000@example.com')]).toMatchObject([
    { reason: 'complained', cause: listed('ses', 'COMPLAINT') },
    { reason: 'bounced', cause: listed('ses', 'BOUNCE') },
  ])
  const sendingOnly = started(await startSes({ isSendingOnly: true }))
  expect(await sync(listOf(sendingOnly.url))).toMatchObject({ fault: 'http_403' })
})

test('what was read before a failure stays, and the next time goes on', async () => {
  let isDown = true
  const page = (count: number) => (isDown && count === 2 ? { status: 503, body: {} } : null)
  const resend = started(await startResend({ suppressions: resendList(150), page }))
  expect(await sync(listOf(resend.url))).toMatchObject({ added: 100, fault: 'http_503' })
  isDown = false
  expect(await sync(listOf(resend.url))).toMatchObject({ added: 50, known: 100, fault: null })
})

test('a key that may only send is refused', async () => {
  const resend = started(await startResend({ suppressions: resendList(1) }))
  expect(await sync(listOf(resend.sendingUrl))).toMatchObject({ added: 0, fault: 'http_401' })
})

test("SendGrid's four lists are read, without mailboxes that are full", async () => {
  const bounces = Array.from({ length: 501 }, (_, index) => ({
    email: `p${index}@example.com`,
    reason: '550 no such user',
    status: '5.1.1',
  }))
  const lists: SendgridLists = {
    bounces: [...bounces, { email: 'full@example.com', reason: '452 full', status: '4.2.2' }],
    invalid_emails: [{ email: 'nonsense', reason: 'Mail domain mentioned in email address is unknown' }],
    spam_reports: [{ email: 'angry@example.com' }],
    unsubscribes: [{ email: 'tired@example.com' }],
  }
  const sendgrid = started(await startSendgrid(lists))
  const list = listOf(`smtp://apikey:${SENDGRID_KEY}@smtp.sendgrid.net:587`, { sendgrid: sendgrid.standIn })
  expect(await sync(list)).toMatchObject({ added: 503, unread: 1, fault: null })
  const find = (email: string) => sending.store().findSuppressed(sending.app.id, email)
  expect([await find('angry@example.com'), await find('p1@example.com')]).toMatchObject([
    { reason: 'complained', cause: listed('sendgrid', 'spam report') },
    { reason: 'bounced', cause: listed('sendgrid', 'bounce, 550 no such user') },
  ])
})

test.each([
  ['smtp://u:p@smtp.mailgun.org:587', 'Mailgun'],
  ['smtp://u:p@smtp-relay.brevo.com:587', 'Brevo'],
  ['smtp://u:p@email-smtp.eu-west-1.amazonaws.com:587', 'Amazon SES'],
])('%s can not read it', (url, name) => {
  const service = readMailUrl(url)
  expect(service && findSuppressionList(service)).toMatchObject({
    why: expect.stringContaining(`for ${name} can't read`),
  })
})

test('other mail servers have none', () => {
  const service = readMailUrl('smtp://u:p@smtp.gmail.com:587')
  expect(service && findSuppressionList(service)).toBeNull()
})

test.each<[string, string, number, (count: number) => { rows: ListedAddress[]; next: string | null }]>([
  ['empty pages', 'endless', MOST_PAGES, (count) => ({ rows: [], next: `${count}` })],
  ['a page that is next again', 'endless', 3, (count) => ({ rows: [], next: `${count % 2}` })],
  ['nothing but names', 'too_long', 11, (count) => ({ rows: Array(10_000).fill(NO_ADDRESS), next: `${count}` })],
])('a list of %s ends, and the next one can be read', async (_, fault, pages, pageOf) => {
  const { store, clock, app } = sending
  const syncs = createSuppressionSyncs({ store: store(), clock })
  let count = 0
  const start = (readPage: () => { rows: ListedAddress[]; next: string | null }) =>
    syncs.start(app, { provider: 'resend', readPage: async () => readPage() }, 'mem_1')
  await start(() => pageOf(count++))
  expect([count, await store().findSuppressionSync(app.id)]).toMatchObject([pages, { fault, added: 0 }])
  await start(() => ({ rows: [], next: null }))
  expect(await store().findSuppressionSync(app.id)).toMatchObject({ fault: null, unread: 0 })
})

test('a list that is slowed down without end ends after an hour', async () => {
  const { store, clock, app } = sending
  let count = 0
  const readPage = async () =>
    count++ % 2 === 0 ? { fault: 'http_429', retryAfterMs: 60_000 } : { rows: [], next: `${count}` }
  const sleep = async (ms: number): Promise<void> => clock.tick(ms)
  await createSuppressionSyncs({ store: store(), clock, sleep }).start(app, { provider: 'resend', readPage }, 'mem_1')
  expect([count, await store().findSuppressionSync(app.id)]).toMatchObject([119, { fault: 'endless' }])
})

test('a list is not read on where its next page has no name', async () => {
  const data = [{ id: '\uD800', email: 'p@example.com', origin: 'bounce' }]
  const resend = started(await startResend({ page: () => ({ status: 200, body: { data, has_more: true } }) }))
  expect(await sync(listOf(resend.url))).toMatchObject({ added: 0, fault: 'unreadable' })
})

test('a list that is too long is read up to the limit, and what is no answer is refused', async () => {
  const rows = Array.from({ length: MOST_LISTED + 1 }, (_, index) => ({
    email: `p${index % 3}@example.com`,
    reason: 'bounced' as const,
    text: 'bounce',
  }))
  const pageOf = (page: Awaited<ReturnType<ProviderList['readPage']>>) => ({
    provider: 'resend',
    readPage: async () => page,
  })
  expect(await sync(pageOf({ rows, next: null }))).toMatchObject({ added: 3, fault: 'too_long' })
  expect(await sync(pageOf({ fault: 'http_429', retryAfterMs: 1_000 }))).toMatchObject({ fault: 'http_429' })
  expect(pauses).toHaveLength(10)
  const strange = started(await startResend({ page: () => ({ status: 200, body: { data: 'none' } }) }))
  expect(await sync(listOf(strange.url))).toMatchObject({ fault: 'unreadable' })
  await inTurns(stops.length, async () => stops.shift()?.())
  expect(await sync(listOf(strange.url))).toMatchObject({ fault: 'unreachable' })
})
