import { createPrivateKey, createPublicKey } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { createApp } from '../../../src/accounts/accounts.ts'
import { readDkimKeys, writeDkimKeys } from '../../../src/accounts/dkim.ts'
import { describeRate } from '../../../src/dashboard/sender/learned-limits.tsx'
import type { MailSettings } from '../../../src/store/message-types.ts'
import { LOOPBACK_HOSTS } from '../../helper.ts'
import { type AccountPages, appOf, type Browser, hiddenFieldsOf, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
let app: AppRow
/** DNS answers, and the names that were queried. */
let asked: string[] = []
let answer: (name: string) => string[] | null = () => null
beforeEach(async () => {
  asked = []
  const mail = { privateHosts: LOOPBACK_HOSTS }
  pages = await openAccount({ resolveTxt: async (name) => (asked.push(name), answer(name)), mail })
  browser = await pages.signedIn()
  app = await appOf(pages)
})
afterEach(() => {
  answer = () => null
  return pages.close()
})

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const LOST = expect.stringContaining("Recipients can't unsubscribe") as unknown as string
const path = (what = '') => pages.at(`sender${what}`)
const see = async (query = '') => (await browser.get(path(query))).html
const settings = (): Promise<MailSettings> => Promise.resolve(pages.store.mailSettings(app.id))
const EVERY_DAY = Object.fromEntries([0, 1, 2, 3, 4, 5, 6].map((day) => [`day${day}`, 'on']))
const save = (fields: Record<string, string>) => browser.submit(path(), path(), fields)
const LIMITS = '/limits'
const saveLimits = (fields: Record<string, string>) =>
  browser.submit(path(LIMITS), path(LIMITS), { ...EVERY_DAY, ...fields })
const setServer = (smtpUrl: string | null) =>
  pages.store.setMailSettings({
    accountId: app.accountId,
    appId: app.id,
    actor: 'test',
    at: pages.clock.now(),
    settings: { smtpUrl },
  })

test('each page has its own name as heading and in the tab', async () => {
  const names = await textOf(await see(), 'nav[aria-label=Sender] a')
  const paths = await attributesOf(await see(), 'nav[aria-label=Sender] a', 'href')
  const titles: (string | undefined)[] = []
  for (const [index, to] of paths.entries()) {
    const { html } = await browser.get(String(to))
    titles.push(...(await textOf(html, 'h1')))
    expect(await textOf(html, 'title')).toEqual([`${names[index]} - Sender - ${app.name} - Eventpost`])
  }
  expect([titles, new Set(titles).size]).toEqual([names, 9])
})

describe('the sender', () => {
  test('is the setting, or that of the installation', async () => {
    expect(await textOf(await see(), '.page-head .lead bdi')).toEqual(['Demo <hello@first.example>'])
    const { status, location } = await save({ fromName: 'Ada', fromEmail: 'ada@engine.example', colour: '#0a7d4f' })
    expect([status, location]).toEqual([303, path()])
    await save({ fromName: 'Ada', fromEmail: 'ada@engine.example', colour: '#0A7' })
    expect(await settings()).toMatchObject({ colour: '#00aa77' })
    await save({ fromName: 'Ada', fromEmail: 'ada@engine.example', colour: '#0a7d4f' })
    const html = await see()
    expect(await textOf(html, '[role=status]')).toEqual(['Done: The sender was saved. It applies from the next email.'])
    expect(await textOf(html, '.page-head .lead bdi')).toEqual(['Ada <ada@engine.example>'])
    expect(await attributesOf(html, '#fromName, #fromEmail, #colour', 'value')).toEqual([
      'Ada',
      'ada@engine.example',
      '#0a7d4f',
    ])
    expect(await settings()).toMatchObject({ fromName: 'Ada', sendWindow: null, smtpUrl: null })
  })

  test('refuses invalid input and keeps it', async () => {
    const { status, html } = await browser.post(path(), { fromName: HOSTILE, colour: 'red' })
    expect(status).toBe(400)
    await expectHarmless(html)
    expect(await attributesOf(html, '[aria-invalid]', 'name')).toEqual(['fromName', 'colour'])
    expect(await attributesOf(html, '#fromName, #colour', 'value')).toEqual([HOSTILE, 'red'])
    expect((await settings()).fromName).toBe(null)
  })

  test('previews the saved email beside the form', async () => {
    await save({ postalAddress: '1 Main Street', colour: '#0a7d4f' })
    expect(await attributesOf(await see(), 'aside iframe', 'src')).toEqual([path('/sample'), path('/sample')])
    const mail = await browser.get(path('/sample'))
    expect(mail.headers.get('content-security-policy')).toStartWith("default-src 'none'; style-src 'unsafe-inline'")
    expect(mail.html).toContain('1 Main Street')
    expect(mail.html).toContain('#0a7d4f')
  })

  test('previews unsaved input without saving it', async () => {
    const typed = { fromName: 'New', colour: '#123456', postalAddress: '2 Side Street' }
    const { status, html } = await save({ ...typed, do: 'preview' })
    expect([status, await attributesOf(html, '#colour', 'value')]).toEqual([200, ['#123456']])
    expect(await textOf(html, '[data-mail-part=from] bdi')).toEqual(['New <hello@first.example>'])
    const [src] = await attributesOf(html, 'iframe', 'src')
    const mail = await browser.get(src ?? '')
    expect([mail.html.includes('#123456'), mail.html.includes('2 Side Street')]).toEqual([true, true])
    expect(await settings()).toMatchObject({ fromName: null, colour: null })
    expect((await browser.get(path(`/sample?colour=${encodeURIComponent('red;}')}`))).html).not.toContain('red;}')
  })

  test('can be changed by owners, and seen by others', async () => {
    await setServer('smtp://secret-user:pa55@127.0.0.1:1')
    await pages.addMember('editor@example.com', 'editor')
    const editor = await pages.signedIn('editor@example.com')
    const shown = ['', '/server', '/domain', '/limits']
    const seen = await Promise.all(shown.map(async (what) => (await editor.get(path(what))).html))
    const buttons = await Promise.all(seen.map((html) => textOf(html, 'main .button')))
    expect(buttons).toEqual([
      [],
      ['Check the connection', 'Send a test email'],
      ['Check the records', 'Check this email'],
      [],
    ])
    expect(seen.join()).not.toContain('pa55')
    expect(await attributesOf(seen[0] ?? '', '#from input[type=text]', 'readonly')).toHaveLength(5)
    for (const what of ['', '/server', '/server/remove', '/limits', '/dkim', '/dkim/remove', '/reports']) {
      expect((await editor.post(path(what), EVERY_DAY)).status).toBe(403)
    }
    await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    for (const what of [...shown, '/sample']) expect((await eve.get(path(what))).status).toBe(404)
    for (const what of ['', '/server', '/server/check', '/limits'])
      expect((await eve.post(path(what), EVERY_DAY)).status).toBe(404)
  })
})

describe('hours and limits', () => {
  const leads = async () => textOf((await browser.get(path(LIMITS))).html, '.page-head .lead')

  test('are saved, and summed up', async () => {
    expect(await leads()).toEqual(['Lifecycle emails are sent at any time, at most 1 a day per person.'])
    const weekdays = { day0: '', day6: '', windowFrom: '09:00', windowUntil: '17:00', perPersonDay: '2' }
    expect((await saveLimits(weekdays)).location).toBe(path(LIMITS))
    expect(await settings()).toMatchObject({
      perPersonDay: 2,
      sendWindow: { days: [1, 2, 3, 4, 5], from: '09:00', until: '17:00' },
    })
    expect(await leads()).toEqual([
      'Lifecycle emails are sent Monday, Tuesday, Wednesday, Thursday, Friday, 09:00 to 17:00, at most 2 a day per person.',
    ])
  })

  test('that are invalid are refused, and kept in the form', async () => {
    const typed = { day1: 'on', windowFrom: '25:00', perPersonDay: '0', perSecond: 'x' }
    const { status, html } = await browser.post(path(LIMITS), typed)
    const wrong = await attributesOf(html, '[aria-invalid]', 'name')
    expect([status, wrong]).toEqual([400, ['windowFrom', 'perPersonDay', 'perSecond']])
    expect(await attributesOf(html, '[autofocus]', 'name')).toEqual(['windowFrom'])
    expect(await attributesOf(html, '#windowFrom, #perSecond', 'value')).toEqual(['25:00', 'x'])
    expect(await attributesOf(html, '.days [checked]', 'name')).toEqual(['day1'])
    const noDays = (await browser.post(path(LIMITS), { perSecond: 'x' })).html
    expect(await attributesOf(noDays, '[autofocus]', 'name')).toEqual(['day1'])
  })
})

test('a mail server that is paused is reported on the pages of the app', async () => {
  await setServer('smtps://user:pa55@127.0.0.1:465')
  const until = pages.clock.now() + MINUTE
  pages.mailer.findPause = () => ({ reason: 'smtp_421', until, isOwn: false, isAsked: true })
  expect(await textOf(await see(), '.notice.caution, .notice.problem')).toEqual([LOST])
  expect(await textOf(await see('/domain'), '.notice.caution')).toEqual([])
  expect(await textOf(await see('/server'), '.notice.caution')).toEqual([
    'Caution: Sending through 127.0.0.1:465 is paused until 3 May 2026, 12:01 UTC. The mail server asked Eventpost to try again later (it replied 421). Emails wait for up to 72 hours.',
  ])
})

test('what a mail server was seen to accept is shown', async () => {
  const noLimits = await Promise.all(
    [see('/server'), see(LIMITS)].map(async (html) => textOf(await html, '#learned-limits')),
  )
  expect(noLimits).toEqual([[], []])
  await setServer('smtps://user:pa55@127.0.0.1:465')
  const at = pages.clock.now()
  const closed = { at: at + MINUTE, tryAt: at + 2 * MINUTE }
  const rate = { count: 14_000, periodMs: 3_672_000, at }
  pages.mailer.findLimits = () => ({ connections: { most: 3, at }, rate, closed, reply: '454 4.7.0' })
  const text = [
    'This server accepts 3 connections at a time (learned on 3 May 2026, 12:00 UTC).',
    'This server accepts 14,000 emails an hour (learned on 3 May 2026, 12:00 UTC).',
    'This server has accepted no emails since 3 May 2026, 12:01 UTC (it replied 454 4.7.0). The next attempt is on 3 May 2026, 12:02 UTC.',
    'Further emails wait. None are lost.',
  ].join(' ')
  expect(await textOf(await see('/server'), '#learned-limits')).toEqual([text])
  expect(await textOf(await see(LIMITS), '#learned-limits')).toEqual([text])
})

test.each([
  [14, 1_020, '14 emails a second'],
  [1, 61_200, '1 email a minute'],
  [500, 88_128_000, '500 emails a day'],
  [300, 918_000, '300 emails in 15 min'],
])('%d emails in %d ms are %s', (count, periodMs, text) => expect(describeRate({ count, periodMs })).toBe(text))

test('the most connections are saved, and named in the audit log', async () => {
  expect((await saveLimits({ connections: '3' })).status).toBe(303)
  expect((await settings()).connections).toBe(3)
  expect(await attributesOf(await see(LIMITS), '#connections', 'value')).toEqual(['3'])
  const { html } = await browser.get(pages.at('audit'))
  expect(html).toContain('Connections at a time')
})

test('a refused sender is reported on the pages of the app', async () => {
  await setServer('smtp://127.0.0.1:2525')
  await save({ fromEmail: 'wrong@first.example' })
  const until = pages.clock.now() + MINUTE
  pages.mailer.findPause = () => ({ reason: 'from_553', until, isOwn: true, isAsked: false })
  const refused =
    "Problem: The mail server 127.0.0.1:2525 refuses this app's emails. The mail server refused the sender address (it replied 553). Emails wait for up to 72 hours."
  expect(await textOf(await see(), '.notice.caution, .notice.problem')).toEqual([refused, LOST])
  expect(await textOf(await see('/server'), '.notice.caution, .notice.problem')).toEqual([
    `${refused} Check the connection.`,
    expect.stringContaining('The connection is encrypted only if'),
  ])
})

describe('the signature', () => {
  const make = (fields: Record<string, string> = {}) =>
    browser.submit(path('/domain'), path('/dkim'), { dkimDomain: 'Engine.example', dkimSelector: 'post', ...fields })

  const keys = async () => readDkimKeys(await settings())

  test('is created with a matching record', async () => {
    expect(await attributesOf(await see('/domain'), '#dkimDomain, #dkimSelector', 'value')).toEqual([
      'first.example',
      'eventpost',
    ])
    expect((await make()).status).toBe(303)
    const { signing, waiting } = await keys()
    expect([signing, waiting]).toEqual([
      null,
      { domain: 'engine.example', selector: 'post', key: expect.stringContaining('PRIVATE KEY') },
    ])
    const key = createPublicKey(createPrivateKey(waiting?.key ?? ''))
    expect(key.asymmetricKeyDetails?.modulusLength).toBe(2_048)
    const html = await see('/domain')
    const published = key.export({ type: 'spki', format: 'der' }).toString('base64')
    expect(await textOf(html, '[id$=-name]')).toEqual(['post._domainkey.engine.example'])
    expect(await textOf(html, '[id$=-value]')).toEqual([`v=DKIM1; k=rsa; p=${published}`])
    expect(html).not.toContain('PRIVATE')
  })

  test('starts with a new key once its record is found, and until then the current key signs', async () => {
    const find = () => browser.submit(path('/domain'), path('/check'))
    const recordOf = async () => (await textOf(await see('/domain'), '#check-New-DKIM-key-value'))[0] ?? ''
    await make({ dkimDomain: 'first.example' })
    const first = (await keys()).waiting
    answer = () => []
    await find()
    expect(await keys()).toEqual({ signing: null, waiting: first })
    const published = await recordOf()
    answer = (name) => (name === 'post._domainkey.first.example' ? [published] : [])
    await find()
    expect(await keys()).toEqual({ signing: first, waiting: null })
    expect(await textOf(await see('/domain'), '#checks .badge')).toEqual(['Missing', 'Good', 'Good', 'Missing'])

    const same = await make({ dkimDomain: 'first.example' })
    expect([same.status, await textOf(same.html, '#dkimSelector-fault')]).toEqual([
      400,
      [expect.stringContaining('Choose another one')],
    ])
    expect(await attributesOf(await see('/domain'), '#dkimSelector', 'value')).toEqual(['post2'])
    await make({ dkimDomain: 'first.example', dkimSelector: 'post2' })
    const second = (await keys()).waiting
    await find()
    expect(await keys()).toEqual({ signing: first, waiting: second })
    const both = await see('/domain')
    expect(await textOf(both, '#checks .badge')).toEqual(['Missing', 'Good', 'Missing', 'Good', 'Missing'])
    const next = await recordOf()
    answer = (name) => (name === 'post2._domainkey.first.example' ? [next] : [])
    await find()
    expect(await keys()).toEqual({ signing: second, waiting: null })
    const [newest] = await pages.store.listAudit({ accountId: app.accountId, kind: 'changes', before: null, limit: 1 })
    expect(newest).toMatchObject({ actor: 'eventpost', action: 'mail.set' })
  })

  test('starts with a new key anyway if an owner wants it, or goes on without it', async () => {
    await make()
    const first = (await keys()).waiting
    expect((await browser.submit(path('/domain'), path('/dkim/use'))).status).toBe(303)
    expect(await keys()).toEqual({ signing: first, waiting: null })
    await make({ dkimSelector: 'other' })
    expect((await keys()).signing).toEqual(first)
    expect(await textOf(await see('/domain'), '#use-key p')).toEqual([
      expect.stringContaining('The current key stops signing. Until receivers find the record, the signature fails'),
    ])
    expect((await browser.submit(path('/domain'), path('/dkim/discard'))).status).toBe(303)
    expect(await keys()).toEqual({ signing: first, waiting: null })
  })

  test.each([
    ['use', 'No new DKIM key is waiting for its record. Nothing was changed.'],
    ['discard', 'No new DKIM key is waiting for its record. Nothing was changed.'],
    ['remove', 'This app has no DKIM key. Nothing was changed.'],
  ])('refuses to %s a key that is not there', async (what, message) => {
    await make()
    const { html } = await browser.get(path('/domain'))
    const fields = await hiddenFieldsOf(html, `form[action="${path('/dkim')}"]`)
    await browser.submit(path('/domain'), path('/dkim/discard'))
    const { status, html: refused } = await browser.post(path(`/dkim/${what}`), fields)
    expect([status, (await textOf(refused, '[role=alert]'))[0]]).toEqual([409, `Error: ${message}`])
    expect(await keys()).toEqual({ signing: null, waiting: null })
  })

  test('says before that a new key discards the one that waits, and proposes a selector that no app of the account uses', async () => {
    const hints = async () => (await textOf(await see('/domain'), '#dkim details > p'))[0]
    const proposed = async () => (await attributesOf(await see('/domain'), '#dkimSelector', 'value'))[0]
    await make({ dkimDomain: 'first.example', dkimSelector: 'eventpost' })
    expect(await proposed()).toBe('eventpost2')
    expect(await hints()).toBe('This discards the new key above, which is waiting for its record.')
    await browser.submit(path('/domain'), path('/dkim/use'))
    await make({ dkimDomain: 'first.example', dkimSelector: 'eventpost2' })
    expect(await proposed()).toBe('eventpost3')
    expect(await hints()).toBe(
      "This discards the new key above, which is waiting for its record. The current key signs emails until the new key's record is found.",
    )
    const taken = writeDkimKeys(await keys())
    await browser.submit(path('/domain'), path('/dkim/remove'))
    expect(await proposed()).toBe('eventpost')
    const { store, clock } = pages
    const maker = { store, now: clock.now(), actor: 'test' }
    await createApp(maker, app.accountId, { name: 'Other', domains: ['other.example'], home: null })
    const other = (await store.listApps(app.accountId)).find(({ id }) => id !== app.id)
    const by = { accountId: app.accountId, appId: other?.id ?? 0, actor: 'test', at: clock.now() }
    await store.setMailSettings({ ...by, settings: taken })
    expect(await proposed()).toBe('eventpost3')
  })

  test('is checked every hour while it waits, and the page says so', async () => {
    answer = () => []
    const often = async () => {
      await browser.submit(path('/domain'), path('/check'))
      return (await textOf(await see('/domain'), '#checks > .hint')).find((text) => text.includes('Checked again'))
    }
    expect(await often()).toContain('Checked again at most once a day, when an email is sent')
    await make({ dkimDomain: 'first.example' })
    expect(await often()).toContain('Checked again at most once an hour, when an email is sent')
    expect(await textOf(await see('/domain'), '#checks li .hint')).toContain(
      "Not found yet. Add this record. Eventpost doesn't sign emails until the record is found.",
    )
  })

  test('with several records does not start with a new key by itself', async () => {
    await make({ dkimDomain: 'first.example' })
    const [record = ''] = await textOf(await see('/domain'), '#check-New-DKIM-key-value')
    answer = (name) => (name === 'post._domainkey.first.example' ? ['v=DKIM1; k=rsa; p=OTHER', record] : [])
    await browser.submit(path('/domain'), path('/check'))
    expect(await keys()).toMatchObject({ signing: null, waiting: { selector: 'post' } })
    expect((await textOf(await see('/domain'), '#checks li')).join()).toContain('has 2 DKIM records')
  })

  test('of another domain is reported as useless', async () => {
    await save({ fromEmail: 'ada@news.first.example' })
    for (const [dkimDomain, cautions] of [
      ['other.example', 1],
      ['first.example', 0],
      ['news.first.example', 0],
      ['shop.first.example', 0],
    ] as const) {
      await make({ dkimDomain })
      expect((await textOf(await see('/domain'), '#dkim .notice.caution')).length).toBe(cautions)
    }
  })

  test('asks for the password once the fields are right', async () => {
    pages.clock.ms += 10 * MINUTE
    const wrong = await make({ dkimDomain: 'nothing' })
    expect([wrong.status, await textOf(wrong.html, 'h1')]).toEqual([400, ['Domain']])
    expect(await attributesOf(wrong.html, '[aria-invalid]', 'name')).toEqual(['dkimDomain'])
    expect(await textOf((await make()).html, 'h1')).toEqual(['Confirm your password'])
  })

  test('can be removed', async () => {
    await make()
    await browser.submit(path('/domain'), path('/dkim/use'))
    expect((await browser.submit(path('/domain'), path('/dkim/remove'))).status).toBe(303)
    expect(await settings()).toMatchObject({ dkimDomain: null, dkimSelector: null, dkimKey: null })
  })

  test.each([
    [{ dkimDomain: HOSTILE }, ['dkimDomain']],
    [{ dkimDomain: 'localhost', dkimSelector: 'a.b' }, ['dkimDomain', 'dkimSelector']],
    [{ dkimSelector: '' }, ['dkimSelector']],
  ])('needs a domain and a selector (%j)', async (fields, wrong) => {
    const { status, html } = await make(fields)
    expect(status).toBe(400)
    await expectHarmless(html)
    expect(await attributesOf(html, '[aria-invalid]', 'name')).toEqual(wrong)
    expect((await settings()).dkimKey).toBe(null)
  })

  test('asks for the password after 10 minutes', async () => {
    pages.clock.ms += 11 * MINUTE
    expect((await make()).status).toBe(200)
    expect((await settings()).dkimKey).toBe(null)
    expect((await make({ confirmPassword: PASSWORD })).status).toBe(303)
    expect((await settings()).dkimKey).not.toBe(null)
  })

  test('is looked up when the page is seen, also if no record ever was', async () => {
    await make()
    expect(await see('/domain')).toContain('The records are being checked. Reload the page in a moment.')
  })
})

describe('the records of the domain', () => {
  const check = () => browser.submit(path('/domain'), path('/check'), {})
  const ask = async (): Promise<string> => {
    const { status, headers } = await check()
    expect([status, headers.get('location')]).toEqual([303, `${path('/domain')}#checks`])
    return see('/domain')
  }
  const badges = (html: string) => textOf(html, '#checks .fact-list .badge')

  test('are looked up 20 times in 10 minutes, then limited', async () => {
    for (let nth = 0; nth < 20; nth += 1) expect((await check()).status).toBe(303)
    const { status, html } = await check()
    expect([status, await badges(html)]).toEqual([429, ['No response', 'To do', 'Good', 'No response']])
    pages.clock.ms += 600_000
    expect((await check()).status).toBe(303)
  })

  test('are looked up on request, and shown until the sender changes', async () => {
    answer = (name) => (name === 'first.example' ? ['v=spf1 mx -all', HOSTILE] : [])
    const before = await see('/domain')
    expect([await textOf(before, '#checks .button'), await badges(before)]).toEqual([
      ['Create the key', 'Check the records', 'Check this email'],
      Array(4).fill('Not checked'),
    ])
    expect(asked).toEqual([])
    const lead = 'Emails come from first.example.'
    expect((await textOf(before, '.lead'))[0]).toBe(`${lead} Its DNS records haven't been checked yet.`)
    const html = await ask()
    expect((await textOf(html, '.lead'))[0]).toBe(`${lead} Its DNS records need attention: DKIM and DMARC.`)
    expect(await badges(html)).toEqual(['Good', 'To do', 'Good', 'Missing'])
    expect(asked.sort()).toEqual(['_dmarc.first.example', 'first.example'])
    expect(await textOf(html, '#check-DMARC-name, #check-DMARC-value')).toEqual([
      '_dmarc.first.example',
      'v=DMARC1; p=none',
    ])
    expect(await textOf(html, '#checks .button')).toEqual(['Create the key', 'Check again', 'Check this email'])
    expect(html).toContain('Checked <time')
    await browser.submit(path('/domain'), path('/dkim'), { dkimDomain: 'first.example', dkimSelector: 'post' })
    const changed = await see('/domain')
    expect(await badges(changed)).toEqual(['Good', 'Not checked', 'Good', 'Missing'])
    expect((await textOf(changed, '.lead'))[0]).toBe(`${lead} Its DNS records need attention: DMARC.`)
    await setServer('smtp://mail.example.com')
    expect(await badges(await see('/domain'))).toEqual(['Not checked', 'Not checked', 'Not checked', 'Missing'])
    answer = () => ['v=spf1 mx -all', 'v=DMARC1; p=none']
    await ask()
    await browser.submit(path('/domain'), path('/dkim/discard'))
    expect((await textOf(await see('/domain'), '.lead'))[0]).toBe(`${lead} Not checked yet: DKIM.`)
    await save({ fromEmail: 'ada@other.example' })
    expect(await badges(await see('/domain'))).toEqual(Array(4).fill('Not checked'))
  })

  test('are looked up again after a day when the page is seen, once an hour, and keep their result without an answer', async () => {
    const checked = async (): Promise<string> =>
      (await attributesOf(await see('/domain'), '#checks time', 'datetime')).join()
    const isAsked = (): boolean => asked.splice(0).length > 0
    answer = (name) => (name === 'first.example' ? ['v=spf1 mx -all'] : [])
    await ask()
    const first = await checked()
    pages.clock.ms += DAY - 1
    browser = await pages.signedIn()
    await see('/domain')
    expect([isAsked(), await checked(), isAsked()]).toEqual([true, first, false])
    pages.clock.ms += 1
    answer = () => null
    const html = await see('/domain')
    expect(html).toContain('The records are being checked again. Reload the page in a moment.')
    expect([await badges(html), await checked(), isAsked()]).toEqual([
      ['Good', 'To do', 'Good', 'Missing'],
      first,
      true,
    ])
    await see('/domain')
    expect(isAsked()).toBe(false)
    pages.clock.ms += HOUR
    answer = () => []
    const saving = spyOn(pages.store, 'saveDomainCheck')
    expect(await see('/domain')).toContain('The records are being checked again')
    await saving.mock.results[0]?.value
    const after = await see('/domain')
    expect([await badges(after), isAsked()]).toEqual([['Missing', 'To do', 'Good', 'Missing'], true])
    expect(await checked()).toBe(new Date(pages.clock.now()).toISOString())
    expect(after).not.toContain('The records are being checked again')
  })

  test('are apart from the unsubscribe headers, which emails have also on this machine', async () => {
    const html = await see('/domain')
    expect(await textOf(html, '#one-click li')).toEqual([
      expect.stringMatching(/^Headers.*Lifecycle emails have List-Unsubscribe and .*works only on this machine\.$/),
    ])
  })

  test('show published text safely', async () => {
    answer = () => [`v=spf1 ${HOSTILE}`, `v=DMARC1; p=${HOSTILE}`]
    await expectHarmless(await ask())
  })

  test('find the signing key', async () => {
    await browser.submit(path('/domain'), path('/dkim'), { dkimDomain: 'first.example', dkimSelector: 'post' })
    answer = () => []
    const html = await ask()
    expect((await badges(html))[1]).toBe('Missing')
    const [record = ''] = await textOf(html, '#check-New-DKIM-key-value')
    answer = (name) => (name === 'post._domainkey.first.example' ? [record] : [])
    expect((await badges(await ask()))[1]).toBe('Good')
  })

  test('of a provider are completed by a received email', async () => {
    await setServer('smtp://apikey:secret@smtp.sendgrid.net')
    const key = 'x1._domainkey.first.example'
    answer = (name) => (name === key ? ['k=rsa; p=ABC'] : [])
    expect(await badges(await ask())).toEqual(['Missing', 'Unknown', 'Unknown', 'Missing'])
    const paste = (source: string) => browser.submit(path('/domain'), path('/received'), { source })
    const signed = 'DKIM-Signature: v=1; d=first.example; s=x1; h=from:subject; b=x'
    const wrong = await paste(`From: <hello@other.example>\n${signed}`)
    expect([wrong.status, await textOf(wrong.html, '#source-fault')]).toEqual([
      400,
      ['Error: This email comes from other.example. Paste one from first.example.'],
    ])
    const pasted = await paste(`Return-Path: <b@sendgrid.net>\n${signed}\nFrom: Demo <hello@first.example>\n\nHello`)
    expect([pasted.status, pasted.location]).toEqual([303, `${path('/domain')}#checks`])
    const html = await see('/domain')
    expect(await badges(html)).toEqual(['Good', 'Good', 'To do', 'Missing'])
    expect(html).toContain(`The received email was signed with ${key}.`)
  })

  test('of further domains are folded', async () => {
    answer = () => []
    await save({ fromEmail: 'hello@first.example', otherFromEmails: 'ada@engine.example' })
    const html = await ask()
    expect(await textOf(html, '#checks summary')).toEqual([
      'Create a DKIM key',
      'engine.example: Its DNS records need attention: SPF, DKIM, and DMARC.',
      'Check an email that you received',
    ])
    expect(await textOf(html, '#check-engine\\.example-DMARC-name')).toEqual(['_dmarc.engine.example'])
  })

  test('work without a network', async () => {
    const html = await ask()
    expect(await badges(html)).toEqual(['No response', 'To do', 'Good', 'No response'])
    expect((await textOf(html, '#checks .fact-list bdi'))[0]).toBe(
      "DNS didn't respond for first.example. Try again later, or check the network of the Eventpost server.",
    )
  })
})

describe('the secret for reports', () => {
  test('is shown once', async () => {
    expect(await textOf(await see('/server'), '#report-url')).toEqual([
      `http://localhost:8080/hooks/bounces/${app.publicId}`,
    ])
    const { status, html } = await browser.submit(path('/server'), path('/reports'))
    const { bounceSecret } = await settings()
    expect(status).toBe(200)
    expect(await textOf(html, '#report-secret')).toEqual([bounceSecret ?? 'none'])
    const [sample = ''] = await textOf(html, '#report')
    expect(sample).toContain(`'http://localhost:8080/hooks/bounces/${app.publicId}'`)
    expect(sample).toContain(`body='{"kind":"bounced","delivery":"dlv_..."}'`)
    expect(await attributesOf(html, 'main a', 'href')).toContain('/docs/api/report-bounce')
    expect(await see('/server')).not.toContain(bounceSecret ?? '')
  })

  test('is replaced only after confirmation', async () => {
    expect(await textOf(await see('/server'), 'dialog#new-secret h2')).toEqual([])
    const lead = async () => (await textOf((await browser.submit(path('/server'), path('/reports'))).html, '.lead'))[0]
    expect(await lead()).toBe('Your script can report bounces now.')
    expect(await textOf(await see('/server'), 'dialog#new-secret h2')).toEqual(['Create a new secret?'])
    expect(await lead()).toBe('Reports signed with the previous secret are now refused.')
  })
})

describe('two owners who change the sender at once', () => {
  const PAGES = {
    '': '',
    '/server': '/server',
    '/limits': '/limits',
    '/dkim': '/domain',
    '/reports': '/server',
  } as const
  type Form = keyof typeof PAGES
  const form = (what: Form = '') => `form[action="${path(what)}"]`
  const shown = async (what: Form = '') => hiddenFieldsOf(await see(PAGES[what]), form(what))

  test('the second sees what the first changed, keeps the input, and can overwrite', async () => {
    const typed = { ...EVERY_DAY, perSecond: '7', ...(await shown(LIMITS)) }
    const other = await pages.signedIn()
    const hours = { windowFrom: '09:00', windowUntil: '17:00', perPersonDay: '2' }
    await other.post(path(LIMITS), { ...EVERY_DAY, ...(await shown(LIMITS)), ...hours })
    const before = await settings()

    const wrong = await browser.post(path(LIMITS), { ...typed, giveUpHours: 'x' })
    const again = { ...typed, ...(await hiddenFieldsOf(wrong.html, form(LIMITS))) }
    const { status, html } = await browser.post(path(LIMITS), again)
    expect([wrong.status, status, await attributesOf(html, '#perSecond', 'value')]).toEqual([400, 409, ['7']])
    expect((await textOf(html, '[role=alert]'))[0]).toBe(
      'Error: ada@example.com changed these settings while you were editing: Lifecycle emails per day (now 2); Sending hours (now every day, 09:00 to 17:00). Nothing was saved. Save again to overwrite these changes.',
    )
    expect(await settings()).toEqual(before)

    const last = { ...typed, ...(await hiddenFieldsOf(html, form(LIMITS))) }
    expect((await browser.post(path(LIMITS), last)).status).toBe(303)
    expect(await settings()).toMatchObject({ perSecond: 7, sendWindow: null, perPersonDay: null })
  })

  test('a change of one form does not affect the other forms, and is not reverted by them', async () => {
    const [from, limits] = [await shown(), await shown(LIMITS)]
    await setServer('smtp://127.0.0.1:1')
    await browser.submit(path('/server'), path('/reports'))
    await browser.submit(path('/domain'), path('/dkim'), { dkimDomain: 'first.example', dkimSelector: 'a' })
    const other = await pages.signedIn()
    expect((await other.post(path(LIMITS), { ...EVERY_DAY, ...limits, perSecond: '3' })).status).toBe(303)
    const before = await settings()
    expect((await browser.post(path(), { ...from, fromName: 'Ada' })).status).toBe(303)
    expect(await settings()).toEqual({ ...before, fromName: 'Ada' })
  })

  test('a key or secret of another owner is not replaced or removed', async () => {
    const [dkim, reports] = [await shown('/dkim'), await shown('/reports')]
    const make = { dkimDomain: 'first.example', dkimSelector: 'a' }
    await browser.submit(path('/domain'), path('/dkim'), make)
    await browser.submit(path('/server'), path('/reports'))
    const before = await settings()
    for (const [what, fields, label] of [
      ['/dkim', { ...dkim, ...make, dkimSelector: 'b' }, 'DKIM signature'],
      ['/dkim/remove', dkim, 'DKIM signature'],
      ['/reports', reports, 'Bounce reports'],
    ] as const) {
      const { status, html } = await browser.post(path(what), fields)
      const notice = `ada@example.com changed these settings while you were editing: ${label}.`
      expect([status, await textOf(html, '[role=alert]')]).toEqual([409, [expect.stringContaining(notice)]])
    }
    expect(await settings()).toEqual(before)
  })

  test('a form without versions saves nothing', async () => {
    expect((await browser.post(path(), { fromName: 'Ada' })).status).toBe(409)
    expect((await settings()).fromName).toBe(null)
  })

  test('a change between check and save stays', async () => {
    const { setMailSettings } = pages.store
    const racing = spyOn(pages.store, 'setMailSettings').mockImplementationOnce(async (asked) => {
      await setMailSettings({ ...asked, settings: { perPersonDay: 3 }, basedOn: undefined })
      return setMailSettings(asked)
    })
    const { status, html } = await saveLimits({ perSecond: '5' })
    racing.mockRestore()
    expect([status, await textOf(html, '[role=alert]')]).toEqual([
      409,
      [expect.stringContaining('Lifecycle emails per day (now 3).')],
    ])
    expect(await settings()).toMatchObject({ perSecond: null, perPersonDay: 3 })
  })
})
