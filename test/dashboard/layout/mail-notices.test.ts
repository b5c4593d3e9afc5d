/** What pages say while a real mail server is gone; the clock is moved. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { createApp } from '../../../src/accounts/accounts.ts'
import type { Outcome } from '../../../src/mail/provider.ts'
import type { MailSettings } from '../../../src/store/message-types.ts'
import { MINUTE_MS } from '../../../src/core/clock.ts'
import { LOOPBACK_HOSTS } from '../../helper.ts'
import { type Behaviour, type MailServer, startMailServer } from '../../mail/mail-server.ts'
import { type AccountPages, appOf, openAccount } from '../browser.ts'
import { recordEvent } from '../events/recording.ts'
import { putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { attributesOf, textOf } from '../pages.ts'

/** Between two looks of the monitor. */
const LOOK_MS = 10_000
const FROM = 'hello@first.example'

let pages: AccountPages
let server: MailServer
let app: AppRow

/** `outcome`: of every email, which reaches no server. */
type Opening = { isShared?: boolean; looks?: number; outcome?: Outcome }

async function open(behaviour: Behaviour = {}, { isShared = false, looks = 1, outcome }: Opening = {}): Promise<void> {
  server = await startMailServer(behaviour)
  const defaults = isShared ? { smtpUrl: server.url, from: FROM } : { smtpUrl: null, from: null }
  const createProvider = outcome && (() => ({ send: async () => outcome, close: () => {} }))
  pages = await openAccount({ mail: { defaults, privateHosts: LOOPBACK_HOSTS, createProvider } })
  app = await appOf(pages)
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  await pages.store.bindSenderDomain({ ...by, domain: 'first.example', proof: 'operator' })
  await putMessage(pages, { app })
  if (!isShared) await set({ smtpUrl: server.url, fromEmail: FROM })
  await sendEvent(pages, { app, email: 'early@example.com' })
  await sendDue(pages)
  await look(looks)
}

async function set(settings: Partial<MailSettings>): Promise<void> {
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  await pages.store.setMailSettings({ ...by, settings })
}

async function addApp(settings: Partial<MailSettings>): Promise<AppRow> {
  const by = { accountId: app.accountId, actor: 'test', at: pages.clock.now() }
  const beginning = { name: 'Other', domains: ['other.example'], home: null }
  const added = await createApp({ store: pages.store, now: by.at, actor: 'test' }, by.accountId, beginning)
  const other = (await pages.store.listApps(by.accountId)).find(({ id }) => id !== app.id)
  if ('refusal' in added || !other) throw new Error('no app was added')
  await pages.store.setMailSettings({ ...by, appId: other.id, settings })
  return other
}

const refuseRequests = (count: number) =>
  pages.store.addRequests([
    {
      pool: 'refused',
      accountId: app.accountId,
      appId: app.id,
      caller: 'x',
      at: pages.clock.now(),
      method: 'POST',
      path: '/api/v1/events',
      tool: null,
      status: 400,
      code: 'invalid_field',
      field: null,
      requestId: 'req_1',
      count,
    },
  ])

async function look(times: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    pages.clock.ms += LOOK_MS
    await pages.monitor.check()
    await sendDue(pages)
  }
}

const trim = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
const show = async (page: string): Promise<string> => (await (await pages.signedIn()).get(pages.at(page))).html
const noticesOf = async (page: string): Promise<string[]> =>
  (await textOf(await show(page), '.notice.problem, .notice.caution')).map(trim)
const attention = async (): Promise<string[]> => (await textOf(await show('overview'), '.attention > li')).map(trim)
const ofServer = (texts: string[]): string[] => texts.filter((text) => /mail server|paused|wait/.test(text))

/** Where a notice about sending is shown. */
const PAGES = ['sender/server', 'deliveries', 'messages'] as const

afterEach(async () => {
  await pages.close()
  await server.stop()
})

/** What Overview says about the mail server, after what it says first. */
async function expectFirst(text: string): Promise<void> {
  const [first, ...others] = await attention()
  expect([first, ...ofServer(others)]).toEqual([text])
  expect((await textOf(await show('overview'), '.attention > li.bad')).map(trim)[0]).toBe(text)
}

async function expectNotices(text: string): Promise<void> {
  for (const page of PAGES) {
    const html = await show(page)
    const texts = ofServer((await textOf(html, '.notice')).map(trim))
    expect([page, ...texts]).toEqual([page, text])
    expect(ofServer((await textOf(html, '.notice.problem')).map(trim))).toEqual(texts)
  }
}

async function expectNothing(): Promise<void> {
  expect(ofServer(await attention())).toEqual([])
  for (const page of PAGES) expect([page, ...ofServer(await noticesOf(page))]).toEqual([page])
}

const UNREACHED =
  "Nothing responds at the mail server's address and port. Check that it is running and that both are correct."

describe('a mail server of the app that is gone', () => {
  const GONE = () => `Problem: The mail server 127.0.0.1:${server.port} can't be reached (since 3 May 2026, 12:00 UTC).`

  beforeEach(async () => {
    await open()
    await set({ giveUpHours: 24 })
    await server.stop()
    await look(4)
  })

  test('is named before an email is due, first on Overview, until it is back', async () => {
    const wait = 'Emails wait for up to 24 hours.'
    await expectFirst(`${GONE()} ${wait}${UNREACHED}Check the connection`)
    await expectNotices(`${GONE()} ${UNREACHED} ${wait} Check the connection.`)
    for (const page of ['overview', 'deliveries', 'messages'])
      expect(await attributesOf(await show(page), 'main a', 'href')).toContain(
        `${pages.at('sender/server')}#server-check`,
      )
    expect(await attributesOf(await show('sender/server'), '.notice a', 'href')).toContain('#server-check')
    const back = await startMailServer({}, {}, server.port)
    await look(1)
    await expectNothing()
    await back.stop()
  })

  test('is named once while an email is due, and not as a pause', async () => {
    await putMessage(pages, { app, name: 'Second' })
    for (const email of ['a', 'b', 'c']) await sendEvent(pages, { app, email: `${email}@example.com` })
    await look(6)
    expect(pages.mailer.findPause(app, await pages.store.mailSettings(app.id))).not.toBe(null)
    const wait = 'Emails wait for up to 24 hours. 6 are waiting now.'
    await expectFirst(`${GONE()} ${wait}${UNREACHED}Check the connection`)
    await expectNotices(`${GONE()} ${UNREACHED} ${wait} Check the connection.`)
  })

  test('is in the first line of Mail server, with when it took an email', async () => {
    const lines = async () => (await textOf(await show('sender/server'), '.lead')).map(trim)
    await look(2)
    const accepted = `127.0.0.1:${server.port}. It accepted an email 1 minute ago.`
    expect(await lines()).toContain(`Emails wait for ${accepted}`)
    const back = await startMailServer({}, {}, server.port)
    await look(1)
    expect(await lines()).toContain(`Emails go through ${accepted}`)
    await back.stop()
  })

  test('is not named by another instance whose email it has accepted since', async () => {
    const back = await startMailServer({}, {}, server.port)
    pages.parts.store.holdDuty = async () => null
    await look(1)
    await expectFirst(`${GONE()} Emails wait for up to 24 hours.${UNREACHED}Check the connection`)
    await sendEvent(pages, { app, email: 'late@example.com' })
    await sendDue(pages)
    expect(back.received).toHaveLength(1)
    await expectNothing()
    await back.stop()
    // the alert of the other instance is still open
    pages.clock.ms += 60 * MINUTE_MS
    await expectFirst(`${GONE()} Emails wait for up to 24 hours.${UNREACHED}Check the connection`)
  })

  test('is no problem of an account that uses another', async () => {
    const other = await pages.addAccount('zoe@example.com', 'Zoe')
    const of = await appOf(pages, other.accountId)
    await recordEvent(pages, of, {})
    const browser = await pages.signedIn('zoe@example.com')
    for (const page of ['overview', ...PAGES])
      expect((await browser.get(`/apps/${other.appId}/${page}`)).html).not.toContain('be reached')
  })
})

test("of the installation's mail server, pages say only that it can't be reached", async () => {
  await open({}, { isShared: true })
  await server.stop()
  await sendEvent(pages, { app, email: 'late@example.com' })
  await look(6)
  const what = "Problem: This installation's mail server can't be reached (since 3 May 2026, 12:00 UTC)."
  const wait = 'Emails wait for up to 72 hours. 1 is waiting now.'
  await expectFirst(`${what} ${wait}Check the connection`)
  await expectNotices(`${what} ${wait} Check the connection.`)
})

test('a mail server that refuses all emails is named with its answer', async () => {
  let isBusy = false
  await open({ sender: () => (isBusy ? 451 : 'accept') })
  isBusy = true
  for (const email of ['a', 'b', 'c', 'd']) await sendEvent(pages, { app, email: `${email}@example.com` })
  await sendDue(pages)
  await look(8)
  const [first = ''] = await attention()
  expect(first).toStartWith(`Problem: The mail server 127.0.0.1:${server.port} refuses all emails for now (since 3 May`)
  expect(first).toContain('Emails wait for up to 72 hours.')
  expect(first).toContain('It asks Eventpost to send every email again later.')
  expect(first).not.toContain('by default')
  expect(ofServer(await attention())).toHaveLength(1)
})

describe('of two apps with logins of their own at a mail server that refuses all emails of one', () => {
  const OTHER_FROM = 'hello@second.example'
  let other: AppRow
  let isBusy: boolean

  const showOther = async (page: string): Promise<string> =>
    (await (await pages.signedIn()).get(`/apps/${other.publicId}/${page}`)).html

  beforeEach(async () => {
    isBusy = false
    // of each email, so that there is no pause
    await open({ dot: (_, raw) => (isBusy || raw.includes(FROM) ? 451 : 'accept') }, { looks: 0 })
    // another URL is another login
    other = await addApp({ smtpUrl: `${server.url}?tls=optional`, fromEmail: OTHER_FROM })
    const by = { accountId: other.accountId, appId: other.id, actor: 'test', at: pages.clock.now() }
    await pages.store.bindSenderDomain({ ...by, domain: 'second.example', proof: 'operator' })
    await putMessage(pages, { app: other })
    for (const email of ['a', 'b', 'c', 'd']) await sendEvent(pages, { app, email: `${email}@example.com` })
    await sendDue(pages)
    await look(8)
    expect((await attention())[0]).toContain('refuses all emails for now')
  })

  test('nothing is said about the other once its email is accepted', async () => {
    await sendEvent(pages, { app: other, email: 'well@example.com' })
    await sendDue(pages)
    expect(server.received.at(-1)).toMatchObject({ from: OTHER_FROM, to: ['well@example.com'] })
    expect((await textOf(await showOther('sender/server'), '.lead')).map(trim)).toEqual([
      `Emails go through 127.0.0.1:${server.port}. It accepted an email just now.`,
    ])
    for (const page of ['overview', ...PAGES]) expect(await showOther(page)).not.toContain('refuses all emails')
    expect((await attention())[0]).toContain('refuses all emails for now')
  })

  test('it is said about the other too while its emails are refused again', async () => {
    await sendEvent(pages, { app: other, email: 'well@example.com' })
    await sendDue(pages)
    isBusy = true
    for (const email of ['e', 'f', 'g', 'h']) await sendEvent(pages, { app: other, email: `${email}@example.com` })
    await sendDue(pages)
    await look(8)
    for (const page of PAGES) expect(await showOther(page)).toContain('refuses all emails')
  })
})

test('a login that is refused is named for the apps with waiting emails', async () => {
  let isRefused = false
  await open({ sender: () => (isRefused ? 535 : 'accept') })
  isRefused = true
  await sendEvent(pages, { app, email: 'a@example.com' })
  await look(2)
  const [first = ''] = await attention()
  expect(first).toStartWith(`Problem: The mail server 127.0.0.1:${server.port} refuses emails (since 3 May`)
  expect(ofServer(await attention())).toHaveLength(1)
  const { smtpUrl } = await pages.store.mailSettings(app.id)
  const other = await addApp({ smtpUrl })
  const browser = await pages.signedIn()
  const { html } = await browser.get(`/apps/${other.publicId}/messages`)
  expect(html).not.toContain('refuses emails')
})

test('a server that asks for a pause is no problem yet', async () => {
  await open({ connect: () => 421 }, { looks: 0 })
  const html = await show('overview')
  const [item = ''] = ofServer((await textOf(html, '.attention > li:not(.bad)')).map(trim))
  expect(item).toMatch(/^Note: The mail server asked Eventpost to pause\. Emails wait until 3 May 2026, .*\./)
  const notices = ofServer((await textOf(await show('messages'), '.notice.caution')).map(trim))
  expect(notices).toHaveLength(1)
  expect(notices[0]).toContain('is paused until 3 May 2026')
  expect(notices[0]).toContain('Emails wait for up to 72 hours.')
})

test('an email API that asks for a pause with Retry-After is no problem yet either', async () => {
  const api = { error: null, isFinal: false, isSuppressed: false, isLimit: false, retryAfterMs: 60_000 }
  const busy: Outcome = { is: 'refused', code: 503, enhanced: null, about: 'mail', api }
  await open({}, { looks: 0, outcome: busy })
  expect(pages.mailer.findPause(app, await pages.store.mailSettings(app.id))?.reason).toBe('api_503')
  expect(ofServer(await attention())).toEqual([
    expect.stringMatching(/^Note: The mail server asked Eventpost to pause\. Emails wait until 3 May 2026, 12:01/),
  ])
})

describe('requests that are refused', () => {
  const NOW_REFUSED =
    'Problem: Many requests are refused (since 3 May 2026, 12:00 UTC). 110 requests in the last 10 minutes were refused with invalid_field. Their data was not recorded.Show requests'
  const WERE_REFUSED = 'Note: 110 requests have been refused since yesterday, with invalid_field.Show requests'
  const refusals = async (): Promise<string[]> => (await attention()).filter((text) => text.includes('refused'))

  beforeEach(async () => {
    await open()
    await refuseRequests(110)
    await look(1)
  })

  test('are a problem as long as many are, and a note afterwards', async () => {
    expect(await refusals()).toEqual([NOW_REFUSED])
    pages.clock.ms += 11 * MINUTE_MS
    await look(1)
    const [alert] = await pages.store.listAlerts()
    expect([alert?.kind, alert?.resolvedAt]).toEqual(['refused', null])
    expect(await refusals()).toEqual([WERE_REFUSED])
  })

  test('are so too on another instance than the one that looks', async () => {
    pages.parts.store.holdDuty = async () => null
    await look(1)
    expect(await refusals()).toEqual([NOW_REFUSED])
    pages.clock.ms += 11 * MINUTE_MS
    expect(await refusals()).toEqual([WERE_REFUSED])
  })
})
