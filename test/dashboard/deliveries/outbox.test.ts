import { withSql } from '../../data-folder.ts'
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { MOST_RESENT } from '../../../src/deliveries/delivery-lists.ts'
import { startMailServer } from '../../mail/mail-server.ts'
import { LOOPBACK_HOSTS } from '../../helper.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { isOnPostgres } from '../../postgres/test-databases.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
beforeEach(async () => {
  pages = await openAccount({ mail: { privateHosts: LOOPBACK_HOSTS } })
  browser = await pages.signedIn()
})
afterEach(() => pages.close())

const see = async (query = '') => (await browser.get(pages.at(`outbox${query}`))).html

async function keep(mails: { email: string; headline: string }[]): Promise<void> {
  const app = await appOf(pages)
  await putMessage(pages, { app })
  for (const { email, headline } of mails) await sendEvent(pages, { app, email, properties: { headline } })
  await sendDue(pages)
}

describe('the outbox', () => {
  test('is empty', async () => {
    expect(await textOf(await see(), '.empty h2')).toEqual(['No captured emails yet'])
    const app = await appOf(pages)
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: 1 }
    await pages.store.setMailSettings({ ...by, settings: { smtpUrl: 'smtp://127.0.0.1:1' } })
    expect(await textOf(await see(), '.empty h2')).toEqual(['No captured emails'])
  })

  test('lists captured emails with links', async () => {
    await keep([{ email: 'bob@example.com', headline: 'Zwölf Bilder 👩‍🚀' }])
    const html = await see()
    expect(await attributesOf(html, '.notice a', 'href')).toEqual([pages.at('sender/server')])
    expect(await textOf(html, 'main > section > p.hint')).toEqual([expect.stringContaining("but don't count as sent")])
    expect(await textOf(html, 'td .strong')).toEqual(['Zwölf Bilder 👩‍🚀'])
    expect(await textOf(html, 'td[data-label=To]')).toEqual(['bob@example.com'])
    const [path] = await attributesOf(html, 'td .strong', 'href')
    expect((await browser.get((path ?? '').replace('#mail', ''))).status).toBe(200)
  })

  test('shows an email with its source only, as in older data', async () => {
    await keep([{ email: 'bob@example.com', headline: 'Zwölf Bilder' }])
    const empty = 'UPDATE captured_mails SET sender = NULL, recipient = NULL, subject = NULL, html = NULL, text = NULL'
    await withSql(pages.folder, async (sql) => await sql.prepare(empty).run())
    const html = await see()
    expect(await textOf(html, 'td .strong')).toEqual(['Zwölf Bilder'])
    expect(await textOf(html, 'td[data-label=To]')).toEqual(['bob@example.com'])
    const [path] = await attributesOf(html, 'td .strong', 'href')
    expect((await browser.get((path ?? '').replace('#mail', ''))).html).toContain('Zwölf Bilder')
  })

  test('pages', async () => {
    await keep(Array.from({ length: 60 }, (_, i) => ({ email: `p${i}@example.com`, headline: `Number ${i}` })))
    const first = await see()
    expect(await textOf(first, 'td .strong')).toHaveLength(36)
    const [older] = await attributesOf(first, '.pager [rel=next]', 'href')
    const second = await see((older ?? '').slice(pages.at('outbox').length))
    const all = [...(await textOf(first, 'td .strong')), ...(await textOf(second, 'td .strong'))]
    expect(new Set(all).size).toBe(60)
    expect(await attributesOf(second, '.pager [rel=next]', 'href')).toEqual([])
  })

  test('hostile text is text', async () => {
    await keep([{ email: 'bob@example.com', headline: HOSTILE }])
    await expectHarmless(await see())
  })

  test('belongs to the app', async () => {
    await keep([{ email: 'bob@example.com', headline: 'Ready' }])
    const { appId } = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    expect((await eve.get(pages.at('outbox'))).status).toBe(404)
    expect(await textOf((await eve.get(`/apps/${appId}/outbox`)).html, 'td')).toEqual([])
  })
})

describe('sending all captured emails', () => {
  const EMAILS = ['bob@example.com', 'eve@example.com', 'zoe@example.com']
  const capture = () => keep(EMAILS.map((email) => ({ email, headline: email })))
  const offered = async (query = '') => textOf(await see(query), '#send-all form button')
  const setServer = async (url: string | null): Promise<void> => {
    const app = await appOf(pages)
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
    await pages.store.setMailSettings({ ...by, settings: { smtpUrl: url } })
  }

  test('is offered to editors once a mail server is set up, with their number', async () => {
    expect(await offered()).toEqual([])
    await capture()
    expect(await offered()).toEqual([])
    await setServer('smtp://127.0.0.1:1')
    expect(await offered()).toEqual(['Send 3 captured emails'])
    const server = (await browser.get(pages.at('sender/server'))).html
    expect(await textOf(server, '.notice.info')).toEqual(['Note: 3 captured emails can be sent now. Open the outbox'])
    expect(await attributesOf(server, '.notice.info a', 'href')).toEqual([pages.at('outbox')])
    await pages.addMember('vic@example.com', 'viewer')
    const viewer = await pages.signedIn('vic@example.com')
    const sees = (await viewer.get(pages.at('outbox'))).html
    expect(sees).not.toContain('send-all')
    expect(sees).not.toContain('from its page')
    expect((await browser.get(pages.at('outbox'))).html).toContain('from its page')
  })

  test('sends those that the member saw, but to nobody who unsubscribed', async () => {
    await capture()
    const mailServer = await startMailServer()
    try {
      await setServer(mailServer.url)
      const html = await see()
      await setServer(null)
      await sendEvent(pages, { app: await appOf(pages), email: 'new@example.com', properties: { headline: 'New' } })
      await sendDue(pages)
      await setServer(mailServer.url)
      await browser.post(pages.at('suppressions/new'), {
        addresses: 'zoe@example.com',
        why: 'x',
        reason: 'unsubscribed',
      })
      const until = (await attributesOf(html, '#send-all [name=until]', 'value'))[0] ?? ''
      const { location } = await browser.post(pages.at('outbox/send'), { until })
      const done = async () => textOf((await browser.get(location ?? '')).html, '[role=status]')
      expect(await done()).toEqual(["Done: 3 emails go out in a moment, except to people who can't be emailed."])
      expect(await done()).toEqual([])
      await sendDue(pages)
      expect(mailServer.received.map(({ to }) => to[0]).toSorted()).toEqual(EMAILS.slice(0, 2))
      expect(await textOf(await see(), 'td[data-label=To]')).toEqual(['new@example.com'])
    } finally {
      await mailServer.stop()
    }
  })

  test('is not offered for emails that failed, which say so, and names who is suppressed', async () => {
    await capture()
    const mailServer = await startMailServer({ recipient: (to) => (to === 'bob@example.com' ? 550 : 'accept') })
    try {
      await setServer(mailServer.url)
      await pages.store.suppress({
        appId: (await appOf(pages)).id,
        email: 'eve@example.com',
        reason: 'bounced',
        at: pages.clock.now(),
      })
      const states = async () => textOf(await see(), 'td[data-label=State]')
      expect(await states()).toEqual(['Captured', 'Address bounced', 'Captured'])
      const html = await see()
      expect((await textOf(html, '#send-all p'))[0]).toStartWith('They are rendered again with the same version')
      const until = (await attributesOf(html, '#send-all [name=until]', 'value'))[0] ?? ''
      await browser.post(pages.at('outbox/send'), { until })
      await sendDue(pages)
      expect(await states()).toEqual(['Failed'])
      expect(await see()).not.toContain('send-all')
    } finally {
      await mailServer.stop()
    }
  })

  test.each(['unavailable', 'commit_unconfirmed'] as const)('says how many were sent before %s', async (refusal) => {
    await capture()
    await setServer('smtp://127.0.0.1:1')
    const [until] = await attributesOf(await see(), '#send-all [name=until]', 'value')
    const real = pages.store.resendDelivery
    let calls = 0
    const failing = spyOn(pages.store, 'resendDelivery').mockImplementation((resending) => {
      calls += 1
      return calls === 1 ? real(resending) : Promise.resolve({ refusal })
    })
    const partly = await browser.post(pages.at('outbox/send'), { until: until ?? '' })
    expect(partly.location).toStartWith(`${pages.at('outbox')}?next=dlv_`)
    const { html } = await browser.get(partly.location ?? '')
    expect((await textOf(html, '.notice.done'))[0]).toContain('One email goes out in a moment')
    expect(await textOf(html, '.notice.info')).toEqual(['Note: 2 captured emails are left.Send the next 2'])
    const none = await browser.post(pages.at('outbox/send'), { until: until ?? '' })
    failing.mockRestore()
    expect([none.status, (await textOf(none.html, '[role=alert]')).length]).toEqual([503, 1])
  })

  test('sends a bounded number at once, the newest first, and goes on from there', async () => {
    const count = MOST_RESENT + 2
    await keep([{ email: 'first@example.com', headline: 'First' }])
    await withSql(pages.folder, async (sql) => {
      const copy = async (table: string, changes: Record<string, string>): Promise<void> => {
        const names = Object.keys((await sql.prepare<object>(`SELECT * FROM ${table}`).get()) ?? {})
        const values = names.map((name) => changes[name] ?? name)
        const text = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})
          INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM ${table}, n`
        await sql.prepare(text).run()
      }
      await copy('captured_mails', { delivery_id: 'delivery_id + 16 * i' })
      await copy('deliveries', { id: 'id + 16 * i', contact_id: 'contact_id + 16 * i' })
    })
    await setServer('smtp://127.0.0.1:1')
    expect(await offered()).toEqual([`Send the newest ${MOST_RESENT}`])
    const [until] = await attributesOf(await see(), '#send-all [name=until]', 'value')
    const first = await browser.post(pages.at('outbox/send'), { until: until ?? '' })
    expect(first.location).toStartWith(`${pages.at('outbox')}?next=dlv_`)
    const { html } = await browser.get(first.location ?? '')
    expect((await textOf(html, '.notice.done'))[0]).toContain('1000 emails go out in a moment')
    expect(await textOf(html, '.notice.info button')).toEqual(['Send the next 2'])
    expect(await textOf(html, 'td .strong')).toHaveLength(36)
    const [next] = await attributesOf(html, '.notice.info [name=until]', 'value')
    const second = await browser.post(pages.at('outbox/send'), { until: next ?? '' })
    expect(second.location).toBe(pages.at('outbox'))
    expect(await textOf((await browser.get(first.location ?? '')).html, '.notice.info button')).toEqual([])
  })

  test('twice says that nothing was left to send', async () => {
    await capture()
    await setServer('smtp://127.0.0.1:1')
    const [until] = await attributesOf(await see(), '#send-all [name=until]', 'value')
    const other = await pages.signedIn()
    const sendAs = async (member: Browser) => {
      const { location } = await member.post(pages.at('outbox/send'), { until: until ?? '' })
      return textOf((await member.get(location ?? '')).html, '[role=status]')
    }
    const notices = (await Promise.all([sendAs(browser), sendAs(other)])).flat()
    const counts = notices.map(
      (text) => /^Done: (\d+|One) emails? goe?s? out/.exec(text)?.[1]?.replace('One', '1') ?? '0',
    )
    expect(counts.reduce((sum, count) => sum + Number(count), 0)).toBe(3)
    // PostgreSQL may run both at the same time, so each sends some
    if (!isOnPostgres) expect(counts).toEqual(['3', '0'])
    expect(await sendAs(other)).toEqual(['Done: These emails were already sent or removed.'])
  })

  test('is refused without a mail server, and an address says nothing of what was sent', async () => {
    await capture()
    const { status, html } = await browser.post(pages.at('outbox/send'), { until: 'dlv_zzzzzzzzzzzz' })
    expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([409, expect.stringContaining('No mail server')])
    expect(await textOf(await see('?sent=1&refused=2'), '[role=status]')).toEqual([])
  })
})

describe('a captured email', () => {
  const BOB = 'bob@example.com'
  const open = async (): Promise<string> => {
    await keep([{ email: BOB, headline: 'Ready' }])
    const [path] = await attributesOf(await see(), 'td .strong', 'href')
    return (path ?? '').replace('#mail', '')
  }
  const offeredOn = async (path: string) => textOf((await browser.get(path)).html, '#resend form button')

  test('is counted separately from sent emails, and as not sent', async () => {
    await open()
    const { html } = await browser.get(pages.at('messages'))
    expect(await textOf(html, 'td[data-label=Sent] a')).toEqual([])
    expect(await textOf(html, 'td[data-label="Not sent"] a')).toEqual(['1'])
    expect(await textOf(html, 'td[data-label=Captured] a')).toEqual(['1'])
    const [kept] = await attributesOf(html, 'td[data-label=Captured] a', 'href')
    expect(await textOf((await browser.get(kept ?? '')).html, '.deliveries .badge')).toEqual(['Captured'])
    const message = (await attributesOf(html, '.message-name', 'href')).at(-1)
    expect(await textOf((await browser.get(message ?? '')).html, '.page-head .with-badge')).toEqual([
      'LiveVersion 1. None waiting, none sent, 1 captured in the outbox.',
    ])
  })

  test('cannot be sent without a mail server', async () => {
    const path = await open()
    expect(await offeredOn(path)).toEqual([])
    const { status, html } = await browser.post(`${path}/resend`)
    expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([
      409,
      expect.stringContaining('No mail server is set up'),
    ])
    expect(await textOf(html, 'aside .badge')).toEqual(['Captured'])
  })

  test('can be sent with a mail server, and then leaves the outbox', async () => {
    const path = await open()
    const verdicts = await textOf((await browser.get(path)).html, '[aria-label="Rules"] td')
    const mailServer = await startMailServer()
    try {
      const app = await appOf(pages)
      const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
      await pages.store.setMailSettings({ ...by, settings: { smtpUrl: mailServer.url } })
      expect(await offeredOn(path)).toEqual(['Send it'])
      expect((await browser.post(`${path}/resend`)).status).toBe(303)
      await sendDue(pages)
      expect(mailServer.received.map(({ to }) => to)).toEqual([[BOB]])
      const { html } = await browser.get(path)
      expect(await textOf(html, 'aside .badge')).toEqual(['Sent'])
      expect(html).not.toContain('did not leave this installation')
      // the recorded decision stays
      expect(verdicts.length).toBeGreaterThan(3)
      expect(await textOf(html, '[aria-label="Rules"] td')).toEqual(verdicts)
      expect(await textOf(await see(), 'td')).toEqual([])
    } finally {
      await mailServer.stop()
    }
  })
})
