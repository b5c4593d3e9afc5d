/** Walks through deliveries, outbox, suppressions and sender. */
import type { Page } from 'playwright-core'
import type { DeliveryRow, MessageContent } from '../../src/store/message-types.ts'
import { BATCH, CONTACTS, HOUR } from '../helper.ts'
import type { Served } from './chromium.ts'
import { HOSTILE, SLY } from './seed.ts'

type Step = { name: string; isTall?: true; go(page: Page, server: Served): Promise<unknown> }

const MINUTE = 60_000
const at = ({ url, first }: Served, page: string): string => `${url}/apps/${first.appId}/${page}`

const TAG = SLY.slice(0, 20)

const HOSTILE_MESSAGE: MessageContent = {
  trigger: { event: 'mail_walk' },
  onlyIf: [
    { rule: 'field', field: HOSTILE.slice(0, 60), is: 'absent' },
    { rule: 'tag', lacks: TAG },
  ],
  mail: { subject: '{{ event.headline }}', body: `{{ event.headline }}\n\n${HOSTILE}\n\n[Open]({{ event.url }})` },
}

const RESULT = { headline: 'Your 12 pictures are ready', url: 'https://app.first.example/results/12' }

const PEOPLE: [email: string, properties: object][] = [
  ['hedy@example.com', RESULT],
  ['mallory@example.com', { headline: HOSTILE + SLY.slice(0, 40), url: 'https://evil.example/' }],
  ['grete@example.com', {}],
  ['ruth@example.com', RESULT],
  ['unwilling@example.com', RESULT],
  ['bounced@example.com', RESULT],
]

/** Live messages; emails sent, skipped and waiting. */
async function seedMail(server: Served): Promise<void> {
  const { store } = server.parts()
  const [app] = await store.listApps(server.first.accountId)
  if (!app) throw new Error('no app')
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: server.clock.now() }
  const drafts = [
    { id: null, name: `${HOSTILE} ${SLY.slice(0, 60)}`, content: HOSTILE_MESSAGE, status: 'live' as const },
  ]
  await store.saveMessages({ ...by, drafts })
  for (const { id } of await store.listMessages(app.id)) await store.setMessageStatus({ ...by, id, status: 'live' })
  const now = server.clock.wallMs
  server.clock.wallMs = now - 2 * HOUR
  await send(server, 'mail_walk', PEOPLE)
  await send(server, 'results_ready', PEOPLE)
  const ruth = { app: server.first.appId, email: 'ruth@example.com', tags: [TAG] }
  await server.call('POST', CONTACTS, { body: ruth })
  for (const [email, reason] of [
    ['unwilling@example.com', 'unsubscribed'],
    ['nobody@example.com', 'complained'],
  ] as const) {
    await store.suppress({ appId: app.id, email, reason, at: server.clock.now() })
  }
  server.clock.wallMs += 11 * MINUTE
  await server.sender().sendDue()
  await bounceOne(server, app.id)
  server.clock.wallMs = now
  await send(server, 'results_ready', [['waiting@example.com', RESULT]])
}

async function send(server: Served, event: string, people: [string, object][]): Promise<void> {
  const events = people.map(([email, properties]) => ({
    app: server.first.appId,
    createContact: true,
    email,
    event,
    properties,
  }))
  const { status } = await server.call('POST', BATCH, { body: { events } })
  if (status !== 207) throw new Error(`seeding answered ${status}`)
}

async function bounceOne(server: Served, appId: number): Promise<void> {
  const { store } = server.parts()
  const person = await store.findContact(appId, 'bounced@example.com')
  const query = { appId, messageId: null, contactId: person?.id ?? 0, states: null, before: null, limit: 1 }
  const [delivery] = await store.listDeliveries({ ...query, states: ['kept'] })
  if (!delivery) throw new Error('nothing was kept')
  await sendKept(server, delivery)
  const report = { deliveryId: delivery.id, kind: 'bounced' as const, reason: `No such user ${HOSTILE}` }
  await store.reportDeliveries({ appId, provider: null, at: server.clock.now(), reports: [report] })
}

/** Answers like a mail server. */
async function sendKept(server: Served, { id, appId }: DeliveryRow): Promise<void> {
  const [{ store }, at] = [server.parts(), server.clock.now()]
  await store.resendDelivery({ appId, id, at })
  await store.claimDeliveries({ claimedBy: 'walk', now: at, leaseMs: MINUTE, most: 1, skipApps: [] })
  const claim = { id, claimedBy: 'walk', attempt: 2, at }
  await store.markHanded({ ...claim, record: '{"at":0,"verdicts":[]}' })
  await store.markSent(claim)
}

async function setMailServer(server: Served, smtpUrl: string | null): Promise<void> {
  const { store } = server.parts()
  const [app] = await store.listApps(server.first.accountId)
  if (!app) throw new Error('no app')
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: server.clock.now() }
  await store.setMailSettings({ ...by, settings: { smtpUrl } })
}

const openRow = (text: string) => (page: Page) => page.click(`.deliveries li:has-text("${text}") a >> nth=0`)

/** Before any message is tried. */
export const NO_MAIL_STEPS: Step[] = [
  { name: 'deliveries-empty', go: (page, server) => page.goto(at(server, 'deliveries')) },
  { name: 'outbox-empty', go: (page, server) => page.goto(at(server, 'outbox')) },
  { name: 'suppressions-empty', go: (page, server) => page.goto(at(server, 'suppressions')) },
]

export const MAIL_STEPS: Step[] = [
  {
    name: 'deliveries',
    go: async (page, server) => {
      await seedMail(server)
      await page.goto(at(server, 'deliveries'))
    },
  },
  { name: 'deliveries-none', go: (page, server) => page.goto(at(server, 'deliveries?state=failed')) },
  {
    name: 'deliveries-came-back',
    go: (page, server) => page.goto(at(server, 'deliveries?outcome=cameBack&from=2026-05-01')),
  },
  { name: 'deliveries-skipped', go: (page, server) => page.goto(at(server, 'deliveries?state=skipped')) },
  {
    name: 'deliveries-filter',
    go: async (page, server) => {
      await page.goto(at(server, 'deliveries?state=skipped&reason=unsubscribed&from=2026-05-01'))
    },
  },
  {
    name: 'deliveries-unknown',
    go: async (page) => {
      await page.click('.filter-menu > summary')
      await page.fill('#email', 'nobody@example.invalid')
      await page.click('.filter-menu .primary')
    },
  },
  { name: 'deliveries-skipped-again', go: (page, server) => page.goto(at(server, 'deliveries?state=skipped')) },
  { name: 'delivery-unwanted', go: openRow('unwilling@example.com') },
  {
    name: 'delivery-unwritable',
    go: async (page, server) => {
      await page.goto(at(server, 'deliveries?state=skipped'))
      await openRow('grete@example.com')(page)
    },
  },
  {
    name: 'delivery-skipped',
    go: async (page, server) => {
      await page.goto(at(server, 'deliveries?state=skipped'))
      await openRow('ruth@example.com')(page)
    },
  },
  { name: 'delivery-resend', go: (page) => page.click('[popovertarget=resend]') },
  { name: 'delivery-sent-on', go: (page) => page.click('dialog:popover-open .primary') },
  { name: 'delivery-cancel', go: (page) => page.click('[popovertarget=cancel]') },
  { name: 'delivery-cancelled', go: (page) => page.click('dialog:popover-open .danger') },
  {
    name: 'delivery-hostile',
    go: async (page, server) => {
      await page.goto(at(server, 'deliveries?state=kept'))
      await openRow('mallory@example.com')(page)
    },
  },
  { name: 'delivery-source', isTall: true, go: (page) => page.click('label[for=view-raw]') },
  { name: 'outbox', go: (page, server) => page.goto(at(server, 'outbox')) },
  {
    name: 'outbox-send',
    go: async (page, server) => {
      await setMailServer(server, 'smtp://127.0.0.1:1')
      await page.reload()
      await page.click('[popovertarget=send-all]')
      await setMailServer(server, null)
    },
  },
  {
    name: 'delivery-kept',
    go: async (page) => {
      await page.reload()
      await page.click('tr:has-text("hedy@example.com") .strong >> nth=0')
    },
  },
  {
    name: 'delivery-kept-send',
    go: async (page, server) => {
      await setMailServer(server, 'smtp://127.0.0.1:1')
      await page.reload()
      await page.click('[popovertarget=resend]')
      await setMailServer(server, null)
    },
  },
  {
    name: 'event-mail',
    go: async (page) => {
      await page.reload()
      await page.click('aside a[href*="/events/"]')
    },
  },
  { name: 'person-mail', go: (page) => page.click('aside a[href*="/people/"]') },
  { name: 'suppressions', go: (page, server) => page.goto(at(server, 'suppressions')) },
  {
    name: 'suppressions-found',
    go: async (page) => {
      await page.fill('#email', 'nobody@example.com')
      await page.click('.finder > button')
    },
  },
  { name: 'suppressions-remove', go: (page) => page.click('td.action .button') },
  { name: 'suppressions-remove-wrong', go: (page) => page.click('main .danger') },
  {
    name: 'suppressions-not-found',
    go: async (page, server) => {
      await page.goto(at(server, 'suppressions'))
      await page.fill('#email', HOSTILE)
      await page.click('.finder > button')
    },
  },
  { name: 'suppressions-add', go: (page) => page.click('.page-head .primary') },
  {
    name: 'suppressions-wrong',
    go: async (page) => {
      await page.fill('#addresses', HOSTILE)
      await page.click('main form .primary')
    },
  },
  {
    name: 'suppressions-added',
    go: async (page, server) => {
      await page.goto(at(server, 'suppressions/new'))
      await page.fill('#addresses', 'new@example.com, nobody@example.com')
      await page.fill('#why', 'They called')
      await page.click('main form .primary')
    },
  },
  { name: 'sender', go: (page, server) => page.goto(at(server, 'sender')) },
  {
    name: 'sender-server',
    go: async (page, server) => {
      await setMailServer(server, 'smtp://127.0.0.1:1')
      await page.goto(at(server, 'sender/server'))
      await page.click('#server-check form .button')
      await page.waitForSelector('#server-check .notice')
      await setMailServer(server, null)
    },
  },
  { name: 'sender-preset', go: (page) => page.click('.choices a:has-text("Mailgun")') },
  {
    name: 'sender-refused',
    go: async (page) => {
      await page.fill('#smtpHost', 'smtp.example.invalid')
      await page.click('#server .primary')
      await page.waitForSelector('.notice.error, .field.wrong')
    },
  },
  {
    name: 'sender-ses',
    go: async (page, server) => {
      await setMailServer(server, 'ses://AKIAIOSFODNN7EXAMPLE:secret@email.eu-west-1.amazonaws.com/reports')
      await page.goto(at(server, 'sender/server'))
      await setMailServer(server, null)
    },
  },
  { name: 'sender-domain', go: (page, server) => page.goto(at(server, 'sender/domain')) },
  { name: 'sender-unasked', go: (page) => page.click('form[action$="/sender/check"] .button') },
  { name: 'sender-texts', go: (page, server) => page.goto(at(server, 'sender/texts')) },
  { name: 'sender-layout', go: (page, server) => page.goto(at(server, 'sender/layout')) },
  { name: 'sender-rates', go: (page, server) => page.goto(at(server, 'sender/rates')) },
  { name: 'sender-limits', go: (page, server) => page.goto(at(server, 'sender/limits')) },
  {
    name: 'sender-limits-wrong',
    go: async (page) => {
      await page.fill('#windowFrom', '25:00')
      await page.click('main .primary')
    },
  },
  {
    name: 'sender-wrong',
    go: async (page, server) => {
      await page.goto(at(server, 'sender'))
      await page.fill('#fromEmail', HOSTILE)
      await page.fill('#colour', HOSTILE)
      await page.click('main .primary')
    },
  },
  {
    name: 'sender-saved',
    go: async (page, server) => {
      await page.goto(at(server, 'sender'))
      await page.fill('#fromName', 'First')
      await page.fill('#postalAddress', 'First Inc\n1 Main Street')
      await page.fill('#colour', '#0a7d4f')
      await page.click('main .primary')
    },
  },
  {
    name: 'sender-signed',
    go: async (page, server) => {
      await page.goto(at(server, 'sender/domain'))
      await page.click('#dkim summary')
      await page.click('#dkim form .button')
    },
  },
  { name: 'sender-use-key', go: (page) => page.click('[popovertarget=use-key]') },
  {
    name: 'sender-secret',
    go: async (page, server) => {
      await page.goto(at(server, 'sender/server'))
      await page.click('section:has(#report-url) form .button')
    },
  },
]
