import { createPrivateKey, createPublicKey } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
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
const path = (what = '') => pages.at(`sender${what}`)
const see = async (query = '') => (await browser.get(path(query))).html
const settings = (): Promise<MailSettings> => Promise.resolve(pages.store.mailSettings(app.id))
const EVERY_DAY = Object.fromEntries([0, 1, 2, 3, 4, 5, 6].map((day) => [`day${day}`, 'on']))
const save = (fields: Record<string, string>) => browser.submit(path(), path(), { ...EVERY_DAY, ...fields })
describe('the sender', () => {
  test('is the setting, or that of the installation', async () => {
    expect(await textOf(await see(), '.page-head .lead bdi')).toEqual(['Demo <hello@first.example>'])
    const { status, location } = await save({ fromName: 'Ada', fromEmail: 'ada@engine.example', colour: '#0a7d4f' })
    expect([status, location]).toEqual([303, path()])
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
    const typed = { fromName: HOSTILE, smtpUrl: 'ftp://x', windowFrom: '25:00', perSecond: 'x' }
    const { status, html } = await browser.post(path(), { ...typed, day1: 'on' })
    expect(status).toBe(400)
    await expectHarmless(html)
    expect(await attributesOf(html, '[aria-invalid]', 'name')).toEqual([
      'fromName',
      'smtpUrl',
      'perSecond',
      'windowFrom',
    ])
    expect(await attributesOf(html, '#fromName, #smtpUrl, #windowFrom, #perSecond', 'value')).toEqual([
      HOSTILE,
      'ftp://x',
      'x',
      '25:00',
    ])
    expect(await attributesOf(html, '.days [checked]', 'name')).toEqual(['day1'])
    expect((await settings()).fromName).toBe(null)
  })

  test('previews an email', async () => {
    await save({ postalAddress: '1 Main Street', colour: '#0a7d4f' })
    expect(await attributesOf(await see(), 'iframe', 'src')).toEqual([path('/sample'), path('/sample')])
    const mail = await browser.get(path('/sample'))
    expect(mail.headers.get('content-security-policy')).toStartWith("default-src 'none'; style-src 'unsafe-inline'")
    expect(mail.html).toContain('1 Main Street')
    expect(mail.html).toContain('#0a7d4f')
  })

  test('can be changed by owners, and seen by others', async () => {
    await save({ smtpUrl: 'smtp://user:pa55@127.0.0.1:1' })
    await pages.addMember('editor@example.com', 'editor')
    const editor = await pages.signedIn('editor@example.com')
    const { html } = await editor.get(path())
    expect(await textOf(html, 'main .button')).toEqual(['Check the mail server', 'Check the records'])
    expect(html).not.toContain('user:…')
    for (const what of ['', '/dkim', '/dkim/remove', '/reports']) {
      expect((await editor.post(path(what), EVERY_DAY)).status).toBe(403)
    }
    await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    for (const what of ['', '/sample']) expect((await eve.get(path(what))).status).toBe(404)
    expect((await eve.post(path(), EVERY_DAY)).status).toBe(404)
  })
})

describe('the mail server', () => {
  const SECRET = 'smtps://user:pa55@127.0.0.1:465'

  test('stays with an empty field, is never shown, and can be removed', async () => {
    await save({ smtpUrl: SECRET })
    const html = await see()
    expect(html).not.toContain('pa55')
    expect(html).toContain('smtps://user:…@127.0.0.1:465')
    await save({ fromName: 'Ada' })
    expect((await settings()).smtpUrl).toBe(SECRET)
    await save({ dropsSmtp: 'on' })
    expect((await settings()).smtpUrl).toBe(null)
  })

  test.each(['smtp://10.0.0.1', 'smtp://127.1:25', 'smtp://[::ffff:127.0.0.2]', 'smtp://localhost', 'smtp://0x7f.2'])(
    'that is not public is refused next to its field: %s',
    async (smtpUrl) => {
      const { status, html } = await save({ smtpUrl })
      expect([status, await textOf(html, '.field.wrong .fault')]).toEqual([
        400,
        [expect.stringMatching(/^(Error: )?This address is not public\..*EVENTPOST_MAIL_PRIVATE_HOSTS\.$/)],
      ])
      expect((await settings()).smtpUrl).toBe(null)
    },
  )

  test('that is paused is reported on the pages of the app', async () => {
    await save({ smtpUrl: SECRET })
    const until = pages.clock.now() + MINUTE
    pages.mailer.findPause = () => ({ reason: 'smtp_421', until, isOwn: false })
    expect(await textOf(await see(), '.notice.caution')).toEqual([
      'Caution: The mail server 127.0.0.1:465 is paused until 3 May 2026, 12:01 UTC. The mail server asked us to try again later (it answered 421). Emails wait, and none is lost.',
    ])
  })
})

test('a refused sender is reported on the pages of the app', async () => {
  await save({ smtpUrl: 'smtp://127.0.0.1:2525', fromEmail: 'wrong@first.example' })
  const until = pages.clock.now() + MINUTE
  pages.mailer.findPause = () => ({ reason: 'from_553', until, isOwn: true })
  expect(await textOf(await see(), '.notice.caution')).toEqual([
    'Caution: Emails of this app wait until 3 May 2026, 12:01 UTC. The mail server refused the sender address (it answered 553). None is lost.',
  ])
})

describe('the signature', () => {
  const make = (fields: Record<string, string> = {}) =>
    browser.submit(path(), path('/dkim'), { dkimDomain: 'Engine.example', dkimSelector: 'post', ...fields })

  test('is created with a matching record', async () => {
    expect(await attributesOf(await see(), '#dkimDomain, #dkimSelector', 'value')).toEqual([
      'first.example',
      'eventpost',
    ])
    expect((await make()).status).toBe(303)
    const { dkimDomain, dkimSelector, dkimKey } = await settings()
    expect([dkimDomain, dkimSelector]).toEqual(['engine.example', 'post'])
    const key = createPublicKey(createPrivateKey(dkimKey ?? ''))
    expect(key.asymmetricKeyDetails?.modulusLength).toBe(2_048)
    const html = await see()
    expect(await textOf(html, '#dkim-name')).toEqual(['post._domainkey.engine.example'])
    const published = key.export({ type: 'spki', format: 'der' }).toString('base64')
    expect(await textOf(html, '#dkim-value')).toEqual([`v=DKIM1; k=rsa; p=${published}`])
    expect(html).not.toContain('PRIVATE')
  })

  test('of another domain is reported as useless', async () => {
    await save({ fromEmail: 'ada@news.first.example' })
    for (const [dkimDomain, told] of [
      ['other.example', 1],
      ['first.example', 0],
      ['news.first.example', 0],
    ] as const) {
      await make({ dkimDomain })
      expect((await textOf(await see(), '#dkim .notice.caution')).length).toBe(told)
    }
  })

  test('can be removed', async () => {
    await make()
    expect((await browser.submit(path(), path('/dkim/remove'))).status).toBe(303)
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
})

describe('the records of the domain', () => {
  const ask = async () => textOf(await see('?check=1'), '#checks .fact-list .badge')

  test('are looked up 20 times in 10 minutes, then limited', async () => {
    for (let nth = 0; nth < 20; nth += 1) expect((await browser.get(`${path()}?check=1`)).status).toBe(200)
    const { status, html } = await browser.get(`${path()}?check=1`)
    expect([status, await textOf(html, '#checks .fact-list .badge')]).toEqual([429, []])
    pages.clock.ms += 600_000
    expect((await browser.get(`${path()}?check=1`)).status).toBe(200)
  })

  test('are looked up on request', async () => {
    answer = (name) => (name === 'first.example' ? ['v=spf1 mx -all', HOSTILE] : [])
    expect(await textOf(await see(), '#checks .button')).toEqual(['Check the records'])
    expect(asked).toEqual([])
    expect(await ask()).toEqual(['Good', 'To do', 'To do'])
    expect(asked.sort()).toEqual(['_dmarc.first.example', 'first.example'])
    expect(await textOf(await see('?check=1'), '#check-DMARC-name, #check-DMARC-value')).toEqual([
      '_dmarc.first.example',
      'v=DMARC1; p=none',
    ])
  })

  test('show published text safely', async () => {
    answer = () => [`v=spf1 ${HOSTILE}`, `v=DMARC1; p=${HOSTILE}`]
    await expectHarmless(await see('?check=1'))
  })

  test('find the signing key', async () => {
    await browser.submit(path(), path('/dkim'), { dkimDomain: 'first.example', dkimSelector: 'post' })
    answer = () => []
    expect((await ask())[1]).toBe('Wrong')
    const [record = ''] = await textOf(await see('?check=1'), '#check-DKIM-value')
    answer = (name) => (name === 'post._domainkey.first.example' ? [record] : [])
    expect((await ask())[1]).toBe('Good')
  })

  test('work without a network', async () => {
    expect(await ask()).toEqual(['No answer', 'To do', 'No answer'])
    expect((await textOf(await see('?check=1'), '#checks .fact-list bdi'))[0]).toBe(
      "DNS gave no answer for first.example. Check this machine's network, then try again.",
    )
  })
})

describe('the secret for reports', () => {
  test('is shown once', async () => {
    expect(await textOf(await see(), '#report-url')).toEqual([`http://localhost:8080/hooks/bounces/${app.publicId}`])
    const { status, html } = await browser.submit(path(), path('/reports'))
    const { bounceSecret } = await settings()
    expect(status).toBe(200)
    expect(await textOf(html, '#report-secret')).toEqual([bounceSecret ?? 'none'])
    expect(await see()).not.toContain(bounceSecret ?? '')
  })

  test('is replaced only after confirmation', async () => {
    expect(await textOf(await see(), 'dialog#new-secret h2')).toEqual([])
    await browser.submit(path(), path('/reports'))
    expect(await textOf(await see(), 'dialog#new-secret h2')).toEqual(['Make a new secret?'])
  })
})

describe('two owners who change the sender at once', () => {
  const form = (what = '') => `form[action="${path(what)}"]`
  const shown = async (what = '') => hiddenFieldsOf(await see(), form(what))

  test('the second sees what the first changed, keeps the input, and can overwrite', async () => {
    const typed = { ...EVERY_DAY, fromName: 'Ada', ...(await shown()) }
    const limits = { ...(await shown()), windowFrom: '09:00', windowUntil: '17:00', perPersonDay: '2' }
    const other = await pages.signedIn()
    await other.post(path(), { ...EVERY_DAY, ...limits, smtpUrl: 'smtp://user:pa55@127.0.0.1:1' })
    const before = await settings()

    const wrong = await browser.post(path(), { ...typed, colour: 'x' })
    const { status, html } = await browser.post(path(), { ...typed, ...(await hiddenFieldsOf(wrong.html, form())) })
    expect([wrong.status, status, await attributesOf(html, '#fromName', 'value')]).toEqual([400, 409, ['Ada']])
    expect((await textOf(html, '[role=alert]'))[0]).toBe(
      'Error: ada@example.com changed these settings meanwhile: Mail server; Lifecycle emails per day (now 2); Sending hours (now every day, 09:00 to 17:00). Nothing was saved. Save again to write over that.',
    )
    expect(html).not.toContain('pa55')
    expect(await settings()).toEqual(before)

    expect((await browser.post(path(), { ...typed, ...(await hiddenFieldsOf(html, form())) })).status).toBe(303)
    expect(await settings()).toMatchObject({ fromName: 'Ada', sendWindow: null, perPersonDay: null })
  })

  test('a change of one form does not affect the other forms', async () => {
    const typed = { ...EVERY_DAY, ...(await shown()) }
    await browser.submit(path(), path('/reports'))
    await browser.submit(path(), path('/dkim'), { dkimDomain: 'first.example', dkimSelector: 'a' })
    expect((await browser.post(path(), typed)).status).toBe(303)
  })

  test('a key or secret of another owner is not replaced or removed', async () => {
    const [dkim, reports] = [await shown('/dkim'), await shown('/reports')]
    const make = { dkimDomain: 'first.example', dkimSelector: 'a' }
    await browser.submit(path(), path('/dkim'), make)
    await browser.submit(path(), path('/reports'))
    const before = await settings()
    for (const [what, fields, label] of [
      ['/dkim', { ...dkim, ...make, dkimSelector: 'b' }, 'Signature (DKIM)'],
      ['/dkim/remove', dkim, 'Signature (DKIM)'],
      ['/reports', reports, 'Bounce reports'],
    ] as const) {
      const { status, html } = await browser.post(path(what), fields)
      const notice = `ada@example.com changed these settings meanwhile: ${label}.`
      expect([status, await textOf(html, '[role=alert]')]).toEqual([409, [expect.stringContaining(notice)]])
    }
    expect(await settings()).toEqual(before)
  })

  test('a form without versions saves nothing', async () => {
    expect((await browser.post(path(), { ...EVERY_DAY, fromName: 'Ada' })).status).toBe(409)
    expect((await settings()).fromName).toBe(null)
  })

  test('a change between check and save stays', async () => {
    const { setMailSettings } = pages.store
    const racing = spyOn(pages.store, 'setMailSettings').mockImplementationOnce(async (asked) => {
      await setMailSettings({ ...asked, settings: { perPersonDay: 3 }, basedOn: undefined })
      return setMailSettings(asked)
    })
    const { status, html } = await save({ fromName: 'Ada' })
    racing.mockRestore()
    expect([status, await textOf(html, '[role=alert]')]).toEqual([
      409,
      [expect.stringContaining('Lifecycle emails per day (now 3).')],
    ])
    expect(await settings()).toMatchObject({ fromName: null, perPersonDay: 3 })
  })
})
