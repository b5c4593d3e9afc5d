import { daysAgo } from '../../../src/dashboard/deliveries/deliveries-view.ts'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { publicId } from '../../../src/core/ids.ts'
import { DELIVERY_STATES } from '../../../src/store/message-types.ts'
import type { Sender } from '../../../src/mail/sender.ts'
import { DAY } from '../../durations.ts'
import { LOOPBACK_HOSTS, inTurns } from '../../helper.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { recordEvent } from '../events/recording.ts'
import { MAIL, putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { startMailServer } from '../../mail/mail-server.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
let app: AppRow
beforeEach(async () => {
  pages = await openAccount({ mail: { privateHosts: LOOPBACK_HOSTS } })
  browser = await pages.signedIn()
  app = await appOf(pages)
})
afterEach(() => pages.close())

const BOB = 'bob@example.com'
const see = async (query = '') => (await browser.get(pages.at(`deliveries${query}`))).html
const pathsIn = (html: string) => attributesOf(html, '.feed a', 'href')
const pathOfNewest = async (): Promise<string> => (await pathsIn(await see()))[0] ?? ''
const sayWhy = (html: string) => attributesOf(html, '.feed .why', 'title')

describe('the deliveries', () => {
  test('can be empty', async () => {
    const html = await see()
    expect(await textOf(html, '.empty h2')).toEqual(['No deliveries yet'])
    expect([await textOf(html, '.empty a'), await attributesOf(html, '.empty a', 'href')]).toEqual([
      ['Open Messages'],
      [pages.at('messages')],
    ])
    expect(await textOf(await see('?state=sent'), '.empty h2')).toEqual(['No deliveries match'])
    await putMessage(pages, { app })
    expect(await textOf(await see(), '.empty h2, .empty a')).toEqual(['No deliveries yet'])
  })

  test('show person, message, state and reason', async () => {
    await putMessage(pages, { app })
    await sendEvent(pages, { app, email: BOB })
    await sendEvent(pages, { app, email: 'carol@example.com', properties: {} })
    await sendDue(pages)
    const html = await see()
    expect(await textOf(html, '.feed .who')).toEqual(['carol@example.com', BOB])
    expect(await textOf(html, '.feed .message')).toEqual(['A message', 'A message'])
    expect(await textOf(html, '.feed .badge')).toEqual(['Not sent', 'Captured'])
    // its shape differs from that of waiting emails
    expect(await textOf(html, '.feed .badge.off')).toEqual(['Not sent'])
    expect(await textOf(html, '.feed .why')).toEqual(['Missing value', 'No mail server'])
    expect(await attributesOf(html, '.feed time', 'title')).toEqual(Array(2).fill('3 May 2026, 12:00 UTC'))
    expect(await textOf(html, '.page-head [data-feed-counts=state]')).toEqual(['2 deliveries, newest first.'])
    expect(await sayWhy(html)).toEqual([
      'The event had no headline, and the message has no fallback for it.',
      'It was captured on 3 May 2026, 12:00 UTC, because no mail server was set up.',
    ])
  })

  test('an event in another email links to it, and shows no email of its own', async () => {
    const again = { once: 'property' as const, property: 'url', collect: { minutes: 30 } }
    const mail = { subject: '{{ events.size }} results', body: '{% for event in events %}{{ event.url }} {% endfor %}' }
    await putMessage(pages, { app, content: { ...MAIL, wait: { minutes: 10 }, again, mail } })
    for (const url of ['/1', '/2']) await sendEvent(pages, { app, email: BOB, properties: { url } })
    const [joined, lead] = (await pathsIn(await see())).map(String) as [string, string]
    const { html } = await browser.get(joined)
    expect(await textOf(html, '#mail p')).toEqual(['Another email from this message includes this event.'])
    expect(await attributesOf(html, '#mail a, aside .values a[href*=dlv_]', 'href')).toEqual([`${lead}#mail`, lead])
    expect(await textOf(html, '[data-mail-part], iframe, #mail .mail')).toEqual([])
    expect(await textOf(html, '.empty p')).toEqual(['Rules are checked for the email that includes this event.'])
    expect((await browser.get(`${joined}/mail`)).status).toBe(404)
    expect(await textOf((await browser.get(lead)).html, '#mail [data-mail-part=subject]')).toEqual(['2 results'])
    pages.clock.ms += 600_000
    await sendDue(pages)
    expect((await sayWhy(await see()))[0]).toBe(
      'Added to another email, captured on 3 May 2026, 12:10 UTC, because no mail server was set up.',
    )
  })

  test('filter by message and state', async () => {
    const one = await putMessage(pages, { app, name: 'One' })
    await putMessage(pages, { app, name: 'Two' })
    await sendEvent(pages, { app, email: BOB })
    await sendDue(pages)
    await sendEvent(pages, { app, email: 'carol@example.com' })
    const namesOf = async (query: string) => textOf(await see(query), '.feed .message')
    expect(await namesOf(`?message=${publicId('msg', one)}`)).toEqual(['One', 'One'])
    expect(await namesOf(`?message=${publicId('msg', one)}&state=pending`)).toEqual(['One'])
    expect(await namesOf('?state=failed')).toEqual([])
    expect(await namesOf('?state=pending')).toEqual(['Two', 'One'])
    expect(await namesOf('?state=kept')).toEqual(['Two', 'One'])
    for (const state of ['sent', 'left']) expect(await namesOf(`?state=${state}`)).toEqual([])
    expect(await namesOf('?state=amiss')).toEqual([])
    expect(await namesOf('?state=nothing')).toHaveLength(4)
    expect(await attributesOf(await see('?state=pending'), 'option[selected]', 'value')).toEqual([
      '',
      'pending',
      '',
      '',
    ])
  })

  test('the choices of the state filter use the words of the list, those for several states last', async () => {
    await putMessage(pages, { app })
    await sendEvent(pages, { app, email: BOB })
    expect(await textOf(await see(), '#state option')).toEqual([
      'All states',
      'Waiting, deferred or sending',
      'Handed over',
      'Sent',
      'Bounced',
      'Complained',
      'Unknown',
      'Failed',
      'Not sent',
      'Captured',
      'Joined',
      'Sent, any result',
      'Failed, unknown, bounced or complained',
      'Not sent, captured or failed',
      'Passed the rules',
    ])
    for (const state of ['pending', 'waiting', 'deferred', 'claimed'])
      expect(await textOf(await see(`?state=${state}`), '.chip')).toEqual([
        'Remove the filter State: Waiting, deferred or sending',
      ])
    for (const state of [...DELIVERY_STATES, 'pending', 'left', 'amiss', 'unsent', 'decided'])
      expect(await attributesOf(await see(`?state=${state}`), '#state option[selected]', 'value')).not.toEqual([''])
  })

  test('keep what a link of results asks for, until its chip is removed', async () => {
    await putMessage(pages, { app })
    await sendEvent(pages, { app, email: BOB })
    const query = 'from=2026-05-03&days=utc&rows=emails'
    const html = await see(`?${query}`)
    expect(await textOf(html, '.chip')).toEqual([
      'Remove the filter Created from: 3 May 2026',
      'Remove the filter Days: UTC',
      'Remove the filter Joined events: hidden',
    ])
    expect((await attributesOf(html, '.chip', 'href')).map((href) => (href ?? '').split('?')[1])).toEqual([
      'days=utc&rows=emails',
      'from=2026-05-03&rows=emails',
      'from=2026-05-03&days=utc',
    ])
    const path = pages.at('deliveries')
    const { location } = await browser.submit(`${path}?${query}`, path, { from: '2026-05-02' })
    expect(location).toBe(`${path}?${query.replace('03', '02')}`)
  })

  test('days are of the app, or UTC', async () => {
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
    await pages.store.setMailSettings({ ...by, settings: { timezone: 'Pacific/Auckland' } })
    await putMessage(pages, { app })
    await sendEvent(pages, { app, email: BOB })
    const rowsOf = async (query: string) => (await textOf(await see(query), '.feed .who')).length
    // 12:00 UTC on 3 May
    const queries = ['from=2026-05-04', 'from=2026-05-04&days=utc', 'to=2026-05-03', 'to=2026-05-03&days=utc']
    expect(await Promise.all(queries.map((query) => rowsOf(`?${query}`)))).toEqual([1, 0, 0, 1])
  })

  test('go by the creation of a delivery, which is not when its event happened', async () => {
    await putMessage(pages, { app, content: { ...MAIL, wait: { minutes: 60 } } })
    await recordEvent(pages, app, { email: BOB, occurredAt: Date.UTC(2026, 4, 2, 9) })
    const rowsOf = async (query: string) => textOf(await see(query), '.feed .who')
    expect(await rowsOf('?from=2026-05-03')).toEqual([BOB])
    expect(await rowsOf('?to=2026-05-02')).toEqual([])
    const html = await see('?from=2026-05-03')
    expect((await textOf(html, '.delivery-heads span')).at(-1)).toBe('Created')
    expect(await attributesOf(html, '.feed a > time', 'datetime')).toEqual(['2026-05-03T12:00:00.000Z'])
    const [columns = '', line = ''] = (await browser.get(pages.at('deliveries/export'))).html.split('\r\n')
    const cells = Object.fromEntries(columns.split(',').map((name, nth) => [name, line.split(',')[nth]]))
    expect(cells).toMatchObject({ created: '2026-05-03T12:00:00.000Z', triggered: '2026-05-02T09:00:00.000Z' })
    const path = (await attributesOf(html, '.feed a', 'href'))[0] ?? ''
    const moments = await textOf((await browser.get(path)).html, '.timeline li > div > span')
    expect(moments.slice(-2)).toEqual(['Eventpost received it', 'results_ready happened'])
  })

  test('of the last days are one click away, by the days of the app', async () => {
    await putMessage(pages, { app })
    await sendEvent(pages, { app, email: BOB })
    const html = await see('?state=pending&from=2026-04-27')
    const path = pages.at('deliveries')
    expect(await attributesOf(html, '.ranges a', 'href')).toEqual([
      `${path}?state=pending&from=2026-04-27`,
      `${path}?state=pending&from=2026-04-04`,
      `${path}?state=pending&from=2026-02-03`,
      `${path}?state=pending`,
    ])
    expect(await textOf(html, '.ranges [aria-current]')).toEqual(['7 days'])
    const lateOn3May = Date.UTC(2026, 4, 3, 23, 30)
    expect([daysAgo(7, lateOn3May, 'UTC'), daysAgo(7, lateOn3May, 'Europe/Zurich')]).toEqual([
      '2026-04-27',
      '2026-04-28',
    ])
  })

  test('of a reversed range say so', async () => {
    await putMessage(pages, { app })
    await sendEvent(pages, { app, email: BOB })
    const { status, html } = await browser.get(pages.at('deliveries?from=2026-05-04&to=2026-05-03'))
    expect([status, await textOf(html, '.notice.error')]).toEqual([400, ['Error: The first day is after the last.']])
    expect(await attributesOf(html, '[type=date]', 'value')).toEqual(['2026-05-04', '2026-05-03'])
    expect(await textOf(html, '.empty p')).toEqual(['Change the days in the filter.'])
    const allowed = await browser.get(pages.at('deliveries?from=2026-05-03&to=2026-05-03'))
    expect([allowed.status, await textOf(allowed.html, '.notice.error')]).toEqual([200, []])
    expect(await textOf(await see('?from=2026-02-31&to=2026-05-03'), '.chip')).toHaveLength(1)
  })

  test('of one person are found by the start of the email or a part of the name', async () => {
    await putMessage(pages, { app })
    for (const email of ['w5@example.com', 'w6@example.com']) await sendEvent(pages, { app, email })
    const first = await pages.store.findContact(app.id, 'w5@example.com')
    const find = async (email: string) => {
      const { status, location, html } = await browser.post(pages.at('deliveries'), { email, state: 'pending' })
      return status === 303
        ? location
        : [status, ...(await textOf(html, '#email-fault')), ...(await attributesOf(html, '#email', 'value'))]
    }
    expect(await find('W5')).toBe(pages.at(`deliveries?person=${publicId('con', first?.id ?? 0)}&state=pending`))
    expect(await find('w')).toEqual([400, 'Error: Several people match. Enter more of the email or name.', 'w'])
    expect(await find('zoe')).toEqual([400, 'Error: No person matches this email or name.', 'zoe'])
    expect(await find('zoe@example.com')).toEqual([400, 'Error: No person has this email.', 'zoe@example.com'])
  })

  test('page with their filter', async () => {
    await putMessage(pages, { app })
    await inTurns(120, (i) => sendEvent(pages, { app, email: `p${i}@example.com` }))
    const seen: string[] = []
    for (let query: string | undefined = '?state=pending'; query !== undefined;) {
      const html = await see(query)
      seen.push(...(await textOf(html, '.feed .who')))
      const [href] = await attributesOf(html, '.pager [rel=next]', 'href')
      query = href?.slice(pages.at('deliveries').length)
      if (query) expect(query).toStartWith('?state=pending&before=dlv_')
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, i) => `p${119 - i}@example.com`))
  })

  test('hostile text is text', async () => {
    await putMessage(pages, { app, name: HOSTILE })
    await sendEvent(pages, { app, email: BOB, properties: { headline: HOSTILE } })
    await sendDue(pages)
    await expectHarmless(await see())
    const { html } = await browser.get(await pathOfNewest())
    await expectHarmless(html)
    expect(await textOf(html, 'h1')).toEqual([`Email to ${BOB}`])
  })
})

describe('a delivery', () => {
  const open = async (properties: object = { headline: 'Ready' }): Promise<string> => {
    await putMessage(pages, { app, content: { ...MAIL, onlyIf: [{ rule: 'tag', lacks: 'beta' }] } })
    await sendEvent(pages, { app, email: BOB, properties })
    await sendDue(pages)
    return pathOfNewest()
  }

  test('shows every rule with its finding and verdict', async () => {
    const { html } = await browser.get(await open())
    expect(await textOf(html, 'td[data-label="Finding"]')).toEqual([
      `${BOB} can be emailed.`,
      'The message was live.',
      `${BOB} did not have the tag beta.`,
    ])
    expect(await textOf(html, 'td .badge')).toEqual(['Send', 'Send', 'Send'])
    expect(await textOf(html, '.timeline li span')).toEqual([
      'Captured in the outbox',
      'Rules checked',
      'results_ready happened',
    ])
  })

  test('shows the captured email in a sandboxed frame, with its source', async () => {
    const path = await open()
    const { html } = await browser.get(path)
    expect(await attributesOf(html, 'iframe', 'src')).toEqual([`${path}/mail`, `${path}/mail`])
    expect(await attributesOf(html, 'iframe', 'sandbox')).toEqual(
      Array(2).fill('allow-same-origin allow-popups allow-popups-to-escape-sandbox'),
    )
    expect(await textOf(html, '.mail dd')).toEqual(['Demo <hello@first.example>', 'Ready'])
    expect((await textOf(html, '.raw'))[0]).toContain('Message-ID: <dlv_')
    const mail = await browser.get(`${path}/mail`)
    expect(mail.headers.get('content-security-policy')).toStartWith("default-src 'none'; style-src 'unsafe-inline'")
    expect(mail.html).toContain(`Hello ${BOB}`)
  })

  test('that waits for a limit is waiting, as in the CSV', async () => {
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: 1 }
    for (const name of ['First', 'Second']) await putMessage(pages, { app, name })
    await pages.store.setMailSettings({ ...by, settings: { perPersonDay: 1 } })
    await sendEvent(pages, { app, email: BOB, properties: { headline: 'Ready' } })
    await sendDue(pages)
    expect(await textOf(await see(), '.feed .badge')).toEqual(['Waiting', 'Captured'])
    const { html: csv, headers } = await browser.get(pages.at('deliveries/export'))
    expect(headers.get('content-disposition')).toBe('attachment; filename="deliveries-engine-2026-05-03.csv"')
    const filtered = await browser.get(pages.at('deliveries/export?state=pending'))
    expect(filtered.headers.get('content-disposition')).toContain('"deliveries-engine-2026-05-03-filtered.csv"')
    const [columns = '', line = ''] = csv.split('\r\n')
    const cells = Object.fromEntries(columns.split(',').map((name, nth) => [name, line.split(',')[nth]]))
    expect(cells).toMatchObject({ state: 'deferred', label: 'Waiting', reason: 'perDay' })
  })

  test('that waits previews the email', async () => {
    await putMessage(pages, { app, content: { ...MAIL, wait: { minutes: 60 } } })
    await sendEvent(pages, { app, email: BOB })
    const { html } = await browser.get(await pathOfNewest())
    expect(await textOf(html, '#mail > .hint')).toEqual(['This is how it renders now.'])
    expect(await textOf(html, '.empty h2')).toEqual(['Not checked yet'])
    expect(await attributesOf(html, '[popovertarget=resend]', 'type')).toEqual([])
  })

  test('that cannot be rendered says why', async () => {
    const { html } = await browser.get(await open({}))
    expect(await textOf(html, '#mail .notice')).toEqual([
      "Caution: It can't be previewed now. The event had no headline, and the message has no fallback for it.",
    ])
    expect(await textOf(html, '[popovertarget=resend]')).toEqual([])
    expect(await textOf(html, 'p.hint')).toContain(
      "This email can't be sent until the message is fixed. Fix the message, then send the email here.",
    )
  })

  test.each([
    ['No such user', '550', true],
    ['5.7.1 Spam', '550 5.7.1', false],
    ['5.1.1 No such user', '550 5.1.1', false],
  ])('that was refused with 550 %s says whether it is no bounce', async (words, reply, isUntold) => {
    const server = await startMailServer({ recipient: () => 550, words: () => words })
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: 1 }
    await pages.store.setMailSettings({ ...by, settings: { smtpUrl: server.url } })
    const { html } = await browser.get(await open())
    expect(await textOf(html, 'aside .badge')).toEqual(['Failed'])
    expect(await textOf(html, 'aside dd > code')).toContain(reply)
    const note = "A refusal without an enhanced status code isn't counted as a bounce."
    expect((await textOf(html, 'aside .hint')).includes(note)).toBe(isUntold)
    expect((await attributesOf(html, 'aside .hint a', 'href')).includes('/docs/bounces#suppressed-addresses')).toBe(
      isUntold,
    )
    await (pages.mailer as Sender).stop()
    await server.stop()
  })

  test('that the mail server refused explains its reply without its text', async () => {
    const words = { says: `5.7.1 ${HOSTILE}` }
    const server = await startMailServer({ recipient: () => 451, words: () => words.says })
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: 1 }
    await pages.store.setMailSettings({ ...by, settings: { smtpUrl: server.url } })
    const path = await open()
    const { html } = await browser.get(path)
    await expectHarmless(html)
    const texts = await textOf(html, 'main p, main td')
    expect(texts.filter((text) => text.includes('its policy does not allow'))).toHaveLength(1)
    expect(texts).toContain('The full reply is in the log.')
    expect(html).not.toContain('alert(1)')
    expect(await textOf(html, '.page-head .lead bdi')).toEqual([
      expect.stringContaining('its policy does not allow the email (451 5.7.1). It will be retried'),
    ])
    await expectHarmless(await see())
    words.says = '4.2.2 Come again'
    pages.clock.ms += 60_000
    await sendDue(pages)
    expect((await browser.get(path)).html).toContain('The mailbox is full (451 4.2.2).')
    await (pages.mailer as Sender).stop()
    await server.stop()
  })

  test('that may have arrived twice says so on every page, also when sent', async () => {
    let [dots, recipients] = [0, 0]
    const server = await startMailServer({
      dot: () => (dots++ === 0 ? 'drop' : 'accept'),
      // the second try is deferred
      recipient: () => (recipients++ === 1 ? 451 : 'accept'),
      keepsDropped: true,
    })
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: 1 }
    await pages.store.setMailSettings({ ...by, settings: { smtpUrl: server.url } })
    const path = await open()
    const already = /It may already have arrived: the mail server didn't confirm the attempt on 3 May 2026, 12:00 UTC\./
    expect(await textOf((await browser.get(path)).html, '.page-head .lead bdi')).toEqual([
      expect.stringMatching(already),
    ])
    expect(await textOf((await browser.get(path)).html, '#resend p')).toContain('They may already have received it.')
    pages.clock.ms += 60_000
    await sendDue(pages)
    expect(server.received).toHaveLength(2)
    const twice =
      "It was sent on 3 May 2026, 12:01 UTC. It may have arrived twice: the mail server didn't confirm the attempt on 3 May 2026, 12:00 UTC."
    const { html } = await browser.get(path)
    expect(await textOf(html, '.page-head .lead bdi')).toEqual([twice])
    expect(await textOf(html, 'aside .badge')).toEqual(['Sent', 'Possible duplicate'])
    expect(await textOf(html, '.timeline li span')).toContain('Handed over, not confirmed')
    const list = await see('?state=sent')
    expect([await textOf(list, '.feed .badge'), await sayWhy(list)]).toEqual([['Sent', 'Possible duplicate'], [twice]])
    const [person = ''] = await attributesOf(html, 'aside a[href*=people]', 'href')
    const [event = ''] = await attributesOf(html, 'aside a[href*=events]', 'href')
    for (const page of [person, event]) {
      const shown = (await browser.get(page ?? '')).html
      expect(await textOf(shown, '#mail .badge')).toContain('Possible duplicate')
      expect(await textOf(shown, '#mail .hint')).toContain(twice)
    }
    await (pages.mailer as Sender).stop()
    await server.stop()
  })

  test('of another app is unknown', async () => {
    const path = await open()
    await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    expect((await eve.get(path)).status).toBe(404)
    const [other] = await pages.store.listApps((await pages.store.listAccounts())[1]?.id ?? '')
    const elsewhere = path.replace(app.publicId, other?.publicId ?? '')
    for (const one of [elsewhere, `${elsewhere}/mail`]) expect((await eve.get(one)).status).toBe(404)
    expect((await eve.post(`${elsewhere}/resend`)).status).toBe(404)
    expect((await browser.get(pages.at('deliveries/dlv_nothing'))).status).toBe(404)
  })
})

describe('resending', () => {
  const skip = async (): Promise<string> => {
    await putMessage(pages, { app, content: { ...MAIL, onlyIf: [{ rule: 'tag', has: 'beta' }] } })
    await sendEvent(pages, { app, email: BOB })
    await sendDue(pages)
    return pathOfNewest()
  }
  const stateOf = async (path: string) => (await textOf((await browser.get(path)).html, 'aside .badge'))[0]

  test('checks no rule, and is in the audit log', async () => {
    const path = await skip()
    expect(await stateOf(path)).toBe('Not sent')
    const { status, location } = await browser.post(`${path}/resend`)
    expect([status, location]).toEqual([303, path])
    expect(await textOf((await browser.get(path)).html, '[role=status] > .notice')).toEqual([
      'Done: The email was queued. Only suppressions are checked before it is sent.',
    ])
    expect(await textOf((await browser.get(path)).html, 'td .badge')).toEqual(['Send', 'Send', "Don't send"])
    await sendDue(pages)
    expect(await stateOf(path)).toBe('Captured')
    const { html } = await browser.get(path)
    expect((await textOf(html, '.page-head .lead'))[0]).toContain(
      `It was blocked on 3 May 2026, 12:00 UTC: ${BOB} did not have the tag beta, but this message goes only to people with it. ada@example.com sent it anyway on 3 May 2026, 12:00 UTC.`,
    )
    const moments = (await textOf(html, '.timeline li')).join()
    expect(moments).toContain("Blocked: Tags don't match")
    expect(moments).toContain('ada@example.com sent it anyway')
    const audit = (await browser.get(pages.at('audit'))).html
    expect(await textOf(audit, 'td[data-label=What]')).toContain(`sent the email “A message” to ${BOB}`)
  })

  test('takes the newest version if its own cannot be rendered', async () => {
    const id = await putMessage(pages, { app })
    await sendEvent(pages, { app, email: BOB, properties: {} })
    await sendDue(pages)
    const path = await pathOfNewest()
    expect(await textOf((await browser.get(path)).html, '[popovertarget=resend]')).toEqual([])
    const content = { ...MAIL, mail: { ...MAIL.mail, subject: '{{ event.headline | default: "Ready" }}' } }
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
    await pages.store.saveMessages({ ...by, drafts: [{ id, name: 'A message', content, status: 'live' }] })
    const { html } = await browser.get(path)
    expect(await textOf(html, '#mail > .hint')).toEqual(['This is how it renders with version 2, the newest.'])
    expect(await textOf(html, '#resend p')).toContain('It is sent with version 2 of the message, the newest.')
    expect((await browser.post(`${path}/resend`)).status).toBe(303)
    await sendDue(pages)
    expect(await stateOf(path)).toBe('Captured')
    expect(await textOf((await browser.get(path)).html, 'aside dd')).toContain('A message, version 2')
  })

  test('does not resend an email on its way', async () => {
    const path = await skip()
    await browser.post(`${path}/resend`)
    const { status, html } = await browser.post(`${path}/resend`)
    expect(status).toBe(409)
    expect((await textOf(html, '[role=alert]'))[0]).toContain('This email is being sent, or its state is final')
  })

  test('still checks the subscription', async () => {
    const path = await skip()
    await pages.store.suppress({ appId: app.id, email: BOB, reason: 'unsubscribed', at: pages.clock.now() })
    await browser.post(`${path}/resend`)
    await sendDue(pages)
    expect(await stateOf(path)).toBe('Not sent')
    expect(await textOf((await browser.get(path)).html, '.page-head .lead bdi')).toEqual([`${BOB} unsubscribed.`])
  })

  test('is for editors', async () => {
    const path = await skip()
    for (const [role, isOffered, status] of [
      ['viewer', 0, 403],
      ['editor', 1, 303],
    ] as const) {
      await pages.addMember(`${role}@example.com`, role)
      const member = await pages.signedIn(`${role}@example.com`)
      const { html } = await member.get(path)
      expect(await attributesOf(html, '[popovertarget=resend].plain:not(.close)', 'class')).toHaveLength(isOffered)
      expect((await member.post(`${path}/resend`)).status).toBe(status)
    }
  })
})

describe('the banner', () => {
  const noticesOn = async (page: string) => textOf((await browser.get(pages.at(page))).html, '.notice.caution')

  test('is the first line of the pages of Sender that it concerns', async () => {
    for (const page of ['sender', 'sender/server']) {
      const { html } = await browser.get(pages.at(page))
      expect((await textOf(html, '.page-head .lead')).join()).toContain('No mail server yet.')
      expect((await noticesOn(page)).join()).not.toContain('No mail server yet.')
    }
  })

  test.each(['messages', 'deliveries', 'outbox', 'suppressions'])(
    'is on %s while no mail server is set up',
    async (page) => {
      expect((await noticesOn(page))[0]).toStartWith('Caution: No mail server yet. Emails are captured')
      const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: 1 }
      await pages.store.setMailSettings({ ...by, settings: { smtpUrl: 'smtp://127.0.0.1:1' } })
      expect((await noticesOn(page)).join()).not.toContain('No mail server yet.')
    },
  )

  test('is in the first lines of sender', async () => {
    const leadOf = async () => (await textOf((await browser.get(pages.at('sender'))).html, '.page-head .lead')).join()
    expect(await leadOf()).toContain('No mail server yet. Set up a mail server.')
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: 1 }
    await pages.store.setMailSettings({ ...by, settings: { smtpUrl: 'smtp://127.0.0.1:1' } })
    expect(await leadOf()).not.toContain('No mail server yet.')
  })
})

describe('the page of a person', () => {
  test('explains each message sent or not sent', async () => {
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
    for (const { id } of await pages.store.listMessages(app.id)) await pages.store.deleteMessage({ ...by, id })
    await putMessage(pages, { app, name: 'Sent' })
    await putMessage(pages, { app, name: 'Never', content: { ...MAIL, trigger: { event: 'other' } } })
    await sendEvent(pages, { app, email: BOB })
    await sendDue(pages)
    const person = await pages.store.findContact(app.id, BOB)
    const { html } = await browser.get(pages.at(`people/${publicId('con', person?.id ?? 0)}`))
    expect(await textOf(html, '.fact-list .hint')).toEqual([
      'It was captured on 3 May 2026, 12:00 UTC, because no mail server was set up.',
      `other has not arrived for ${BOB} yet.`,
    ])
    expect(await textOf(html, '.fact-list .badge')).toEqual(['Captured', 'Never triggered'])
  })

  test.each([
    [{ wait: { minutes: 0 } }, 'live', 'The email is due then.', 'Scheduled'],
    [{ wait: { minutes: 120 } }, 'live', 'The email is due 2 hours later.', 'Scheduled'],
    [{}, 'paused', 'The email is due then. The message is paused now.', 'Paused'],
  ] as const)('says when a message of inactivity comes with %j, %s', async (content, status, ends, badge) => {
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
    for (const { id } of await pages.store.listMessages(app.id)) await pages.store.deleteMessage({ ...by, id })
    const whole = { ...MAIL, trigger: { inactiveDays: 14 }, ...content }
    await pages.store.saveMessages({ ...by, drafts: [{ id: null, name: 'Back', status, content: whole }] })
    const { location } = await browser.post(pages.at('people/new'), { email: BOB })
    const { html } = await browser.get(location ?? '')
    expect(await textOf(html, '#mail .hint')).toEqual([
      `${BOB} was last active on 3 May 2026, 12:00 UTC. Unless they are active again, this message is triggered on 17 May 2026, 12:00 UTC. ${ends}`,
    ])
    expect(await textOf(html, '#mail .badge')).toEqual([badge])
  })

  test('says for how long somebody had been inactive when nothing was sent', async () => {
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
    for (const { id } of await pages.store.listMessages(app.id)) await pages.store.deleteMessage({ ...by, id })
    const content = { ...MAIL, trigger: { inactiveDays: 1 } }
    await pages.store.saveMessages({ ...by, drafts: [{ id: null, name: 'Back', status: 'paused', content }] })
    const { location } = await browser.post(pages.at('people/new'), { email: BOB })
    pages.clock.ms += 2 * DAY
    const { html } = await (await pages.signedIn()).get(location ?? '')
    expect((await textOf(html, '#mail .hint'))[0]).toStartWith(
      `${BOB} had been inactive for 1 day on 4 May 2026, 12:00 UTC.`,
    )
  })

  test.each([
    ['unsubscribed', 'lifecycle', 'is unsubscribed'],
    ['bounced', 'lifecycle', 'has an address that bounced'],
    ['complained', 'transactional', 'reported an email as spam'],
    ['unsubscribed', 'transactional', null],
  ] as const)('says to somebody who is %s that a %s message of a date is not sent', async (reason, category, cause) => {
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
    for (const { id } of await pages.store.listMessages(app.id)) await pages.store.deleteMessage({ ...by, id })
    const trigger = { date: 'trialEndsAt', days: 3, when: 'before' } as const
    await putMessage(pages, { app, name: 'Trial', content: { trigger, mail: { ...MAIL.mail, category } } })
    const typed = { email: BOB, 'fields[0].name': 'trialEndsAt', 'fields[0].value': '2026-06-10T10:00:00Z' }
    const { location } = await browser.post(pages.at('people/new'), typed)
    await pages.store.suppress({ appId: app.id, email: BOB, reason, at: pages.clock.now() })
    const { html } = await browser.get(location ?? '')
    const due = `This message is triggered 3 days before ${BOB}'s trialEndsAt, on 7 June 2026, 10:00 UTC.`
    const unsent = `${BOB} ${cause}, so this email won't be sent unless that changes.`
    expect(await textOf(html, '#mail .hint')).toEqual([`${due} ${cause === null ? 'The email is due then.' : unsent}`])
    expect(await textOf(html, '#mail .badge')).toEqual([cause === null ? 'Scheduled' : 'Never triggered'])
  })

  test('says when a message of a date comes', async () => {
    const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
    for (const { id } of await pages.store.listMessages(app.id)) await pages.store.deleteMessage({ ...by, id })
    const trigger = { date: 'trialEndsAt', days: 3, when: 'before' } as const
    await putMessage(pages, { app, name: 'Trial', content: { ...MAIL, trigger, wait: { minutes: 120 } } })
    const typed = { email: BOB, 'fields[0].name': 'trialEndsAt', 'fields[0].value': '2026-06-10T10:00:00Z' }
    const { location } = await browser.post(pages.at('people/new'), typed)
    const { html } = await browser.get(location ?? '')
    expect(await textOf(html, '#mail .hint')).toEqual([
      `This message is triggered 3 days before ${BOB}'s trialEndsAt, on 7 June 2026, 10:00 UTC. The email is due 2 hours later.`,
    ])
    expect(await textOf(html, '#mail .badge')).toEqual(['Scheduled'])
  })
})
