/** The product as a whole: a job, someone who leaves, one mail, its link and its end; and someone who stays. */
import { DEFAULT_RETENTION } from '../../src/accounts/retention.ts'
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { BrowserContext, Page } from 'playwright-core'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import { readPresence } from '../api/reports.ts'
import { publicId } from '../../src/core/ids.ts'
import { type Served, serveTest, signIn } from '../browser/chromium.ts'
import { type OpenChromium, openChromium } from '../chromium.ts'
import { type MailServer, startMailServer } from '../mail/mail-server.ts'
import { readMail } from '../mail/reading.ts'
import { EVENTS } from '../helper.ts'
import { createMessaging, messageOf, MINUTE, type Messaging } from '../messaging.ts'
import { until } from '../waiting.ts'
import { tagOf } from '../snippet/site.ts'
import { startSite } from './site.ts'

setDefaultTimeout(120_000)

const ADA = 'ada@example.com'
const HEADLINE = 'Your 12 pictures are ready.'

let browser: OpenChromium
const ends: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  browser = await openChromium()
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
afterAll(() => browser?.close())

type Whole = Awaited<ReturnType<typeof openWhole>>

/** Eventpost with its first draft turned on, a customer's site, and a browser for whoever comes to it. */
async function openWhole(mail: MailServer | null) {
  const smtpUrl = mail?.url ?? null
  const service = await serveTest({ mail: { defaults: { smtpUrl, from: 'Studio <hello@studio.example>' } } })
  const messaging = await createMessaging(service)
  await useLocalhost(service, messaging)
  const [draft] = await messaging.store().listMessages(messaging.app.id)
  await messaging.store().setMessageStatus({ ...messaging.by, id: draft?.id ?? 0, status: 'live' })
  const { appId, siteId, apiKey, identitySecret } = service.first
  const eventpost = { url: service.url, appId, siteId, apiKey, identitySecret }
  const [job, started] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const tag = tagOf(service.url, { siteId, requiresConsent: true })
  const site = startSite({ eventpost, tag, work: () => (started.resolve(), job.promise) })
  const context = await browser.browser.newContext()
  ends.push(service.close, site.stop, () => context.close())
  return { service, messaging, site, context, isStarted: started.promise, finishJob: job.resolve }
}

/** The site of this machine is the customer's own. */
async function useLocalhost({ first }: Served, messaging: Messaging): Promise<void> {
  const { accountId, app, store } = { ...messaging, accountId: first.accountId }
  const { name, timezone, locale } = app
  const snippet = { hosts: [], addsPeople: false }
  const settings = {
    name,
    timezone,
    locale,
    homeUrl: null,
    hosts: ['localhost'],
    snippet,
    retention: DEFAULT_RETENTION,
  }
  await store().updateApp({ accountId, actor: 'test', at: messaging.by.at, appId: app.id, settings })
}

/** Someone signs in at the site, agrees to be seen, and starts a job. */
async function startJob({ site, context, isStarted }: Whole): Promise<Page> {
  const page = await context.newPage()
  await page.goto(site.url)
  await page.fill('[name=email]', ADA)
  await page.fill('[name=firstName]', 'Ada')
  await page.click('button')
  await page.waitForURL('**/home')
  await page.click('#banner [value=yes]')
  await page.click('text=Studio >> nth=1')
  await page.click('#views a[href="/studio/make"]')
  await page.click('#make')
  await isStarted
  return page
}

const findAda = ({ messaging }: Whole) => messaging.store().findContact(messaging.app.id, ADA)

async function whereIsAda(whole: Whole): Promise<string[]> {
  const contact = await findAda(whole)
  const asked = { appId: whole.messaging.app.id, contactId: contact?.id ?? 0 }
  return (await readPresence(whole.service.parts(), asked)).paths
}
const isHere = async (whole: Whole): Promise<boolean> => (await whereIsAda(whole)).length > 0

async function finishJob(whole: Whole): Promise<void> {
  whole.finishJob()
  await until(
    async () => (await whole.messaging.deliveries()).length === 1,
    () => 'the event did not come',
  )
}

/** All that the page of the job reports while it is open. */
async function reachJob(whole: Whole): Promise<void> {
  const path = `${EVENTS}?app=${whole.messaging.app.publicId}&email=${ADA}`
  const isStored = async () =>
    (await whole.service.call('GET', path)).body.data?.some(({ event }) => event === 'pictures_started') ?? false
  await until(
    async () => (await whereIsAda(whole))[0] === '/studio/make' && (await isStored()),
    () => 'nobody came to the page of the job',
  )
}

/** Starts a job, leaves, and is not there when it is done. */
async function leaveBefore(whole: Whole): Promise<void> {
  const page = await startJob(whole)
  await reachJob(whole)
  await page.close({ runBeforeUnload: true })
  await until(
    async () => !(await isHere(whole)),
    () => 'nobody left',
  )
  await finishJob(whole)
}

async function pass({ service }: Whole, minutes: number, context?: BrowserContext): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    service.clock.tick(MINUTE)
    await context?.clock.fastForward(MINUTE)
    await service.sender().sendDue()
  }
}

/** What a member reads on a page of the dashboard. */
async function readPage({ service }: Whole, path: string): Promise<string> {
  const context = await browser.browser.newContext()
  const page = await context.newPage()
  await signIn(page, service)
  await page.goto(`${service.url}/apps/${service.first.appId}/${path}`)
  const text = await page.innerText('main')
  await context.close()
  return text
}

const personPath = async (whole: Whole): Promise<string> => `people/${publicId('con', (await findAda(whole))?.id ?? 0)}`

describe('a person who starts a job', () => {
  test('and leaves gets one email, opens the result from it and unsubscribes', async () => {
    const mail = await startMailServer()
    ends.push(mail.stop)
    const whole = await openWhole(mail)
    await leaveBefore(whole)
    await pass(whole, 9)
    expect(mail.received).toEqual([])
    await pass(whole, 30)
    expect(mail.received.map(({ to }) => to)).toEqual([[ADA]])

    const { headers, parts } = readMail(mail.received[0]?.raw ?? '')
    expect(new Map(headers).get('subject')).toBe(HEADLINE)
    const [text = ''] = parts.map((part) => part.text)
    expect(text).toContain('Hi Ada')
    const link = new RegExp(`${whole.site.url}/results/[\\w-]+`).exec(text)?.[0] ?? ''
    const reader = await whole.context.newPage()
    await reader.goto(link)
    expect(await reader.textContent('main')).toContain(HEADLINE)
    await until(
      async () => (await whole.messaging.deliveries())[0]?.openedAt !== null,
      () => 'nobody opened the result',
    )

    await whole.messaging.put(messageOf({ name: 'Another', trigger: { event: 'other' } }))
    const unsubscribe = new URL(/<(\S+)>/.exec(new Map(headers).get('list-unsubscribe') ?? '')?.[1] ?? '')
    await reader.goto(whole.service.url + unsubscribe.pathname)
    await reader.click('button')
    await reader.waitForSelector('form[action$="/undo"]')
    await whole.messaging.event({ event: 'other' })
    await pass(whole, 1)
    expect(mail.received).toHaveLength(1)
    const shown = await readPage(whole, await personPath(whole))
    expect(shown).toContain('It was sent on 15 May 2026, 12:10 UTC.')
    expect(shown).toContain('Ada unsubscribed.')
    expect(shown).toContain('The message is a draft, so nobody gets it.')
  })

  test('and stays for twenty minutes gets none, with the reason in the dashboard', async () => {
    const mail = await startMailServer()
    ends.push(mail.stop)
    const whole = await openWhole(mail)
    await whole.context.clock.install()
    const page = await startJob(whole)
    await reachJob(whole)
    await finishJob(whole)
    await pass(whole, 20, whole.context)
    expect(await page.textContent('#made')).not.toBe('')
    await page.close({ runBeforeUnload: true })
    await until(
      async () => !(await isHere(whole)),
      () => 'nobody left',
    )
    await pass(whole, 60)
    expect(mail.received).toEqual([])
    expect((await whole.messaging.deliveries()).map(({ state, reason }) => [state, reason])).toEqual([
      ['skipped', 'not_away'],
    ])
    expect(await readPage(whole, await personPath(whole))).toContain(
      'Ada was on /studio/make at the time of the event, so this email was not needed.',
    )
  })

  test('has their email in the outbox without a mail server', async () => {
    const whole = await openWhole(null)
    await leaveBefore(whole)
    await pass(whole, 11)
    const outbox = await readPage(whole, 'outbox')
    expect(outbox).toContain(HEADLINE)
    expect(outbox).toContain(ADA)
    expect(await readPage(whole, await personPath(whole))).toContain('because no mail server was set up')
    expect(await readPage(whole, 'messages')).toContain(FIRST_MESSAGES[0]?.name ?? '')
  })
})
