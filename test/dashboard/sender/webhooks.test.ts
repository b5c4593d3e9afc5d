import { beforeEach, describe, expect, test } from 'bun:test'
import { readHookSecrets, writeHookSecret } from '../../../src/accounts/hook-secrets.ts'
import { useClosing } from '../../closing.ts'
import { startPostmark } from '../../mail/postmark-server.ts'
import { startResend } from '../../mail/resend-server.ts'
import { makeSigningSecret } from '../../mail/webhooks.ts'
import { type AccountPages, appOf, type Browser, hiddenFieldsOf, openAccount } from '../browser.ts'
import { attributesOf, textOf } from '../pages.ts'

const keep = useClosing()
const NEAR = { names: new Set(['127.0.0.1']), ranges: [] }

let pages: AccountPages
let browser: Browser
let postmark: Awaited<ReturnType<typeof startPostmark>>
let resend: Awaited<ReturnType<typeof startResend>>

beforeEach(async () => {
  postmark = await startPostmark()
  resend = await startResend()
  const near = ({ port }: { port: number }) => ({ host: '127.0.0.1', port })
  const standIns = { postmark: near(postmark), resend: near(resend) }
  pages = keep(await openAccount({ mail: { privateHosts: NEAR, standIns } }))
  browser = await pages.signedIn()
  keep({ close: postmark.stop })
  keep({ close: resend.stop })
})

const PAGE = () => pages.at('sender/server')
const at = (what: string) => pages.at(`sender/webhooks/${what}`)
const see = async () => (await browser.get(PAGE())).html
const textIn = async (html: string) => (await textOf(html, '#webhooks')).join(' ')

async function set(settings: { smtpUrl?: string; hookSecrets?: string }): Promise<void> {
  const { accountId, id: appId } = await appOf(pages)
  await pages.store.setMailSettings({ accountId, appId, actor: 'test', at: pages.clock.now(), settings })
}
const secrets = async () => readHookSecrets(await pages.store.mailSettings((await appOf(pages)).id))
const viaPostmark = () =>
  set({ smtpUrl: 'postmark://6f4a1d2c-0b7e-4c43-9a57-2f1f0a9d7c11@api.postmarkapp.com/outbound' })
const viaResend = () => set({ smtpUrl: 'resend://re_FullAccess_4uTSDNyYDHpYhcXKcS2pAv@api.resend.com' })

describe('webhooks', () => {
  test('are offered for providers that Eventpost reads', async () => {
    expect(await attributesOf(await see(), '#webhooks', 'id')).toEqual([])
    expect(await textOf(await see(), '#reports h2')).toEqual(['Bounce reports'])
    await viaPostmark()
    const html = await see()
    expect(await textIn(html)).toContain('Choose Delivery, Bounce and Spam complaint.')
    // the other way is folded away
    expect(await textOf(html, 'details.folding > summary')).toEqual(['Bounce reports'])
    await set({ smtpUrl: 'smtp://127.0.0.1:1' })
    expect(await attributesOf(await see(), '#webhooks', 'id')).toEqual([])
  })

  test('of Postmark have a secret URL, which is shown once', async () => {
    await viaPostmark()
    expect(await textIn(await see())).toContain("No webhook URL yet, so Postmark can't report bounces.")
    const { status, html } = await browser.submit(PAGE(), at('url'))
    const { postmark: token = 'none' } = await secrets()
    expect([status, token.length]).toEqual([200, 22])
    const { publicId } = await appOf(pages)
    expect(await textOf(html, '#webhook-url')).toEqual([`http://localhost:8080/hooks/postmark/${publicId}/${token}`])
    const later = await see()
    expect(later).not.toContain(token)
    expect(await textOf(later, 'dialog#new-webhook h2')).toEqual(['Create a new webhook URL?'])
    await browser.submit(PAGE(), at('url'))
    expect((await secrets()).postmark).not.toBe(token)
  })

  test('of Resend have a signing secret, which is pasted and never shown', async () => {
    await viaResend()
    const { publicId } = await appOf(pages)
    const html = await see()
    expect(await textOf(html, '#webhook-url')).toEqual([`http://localhost:8080/hooks/resend/${publicId}`])
    const fields = await hiddenFieldsOf(html, `form[action^="${at('secret')}"]`)
    const wrong = await browser.post(at('secret'), { ...fields, hookSecret: 'whsec_' })
    expect([wrong.status, await textOf(wrong.html, '#webhook-secret .fault')]).toEqual([
      400,
      ['Error: Enter the signing secret, which starts with whsec_.'],
    ])
    const secret = makeSigningSecret()
    expect((await browser.post(at('secret'), { ...fields, hookSecret: ` ${secret} ` })).status).toBe(303)
    expect(await secrets()).toEqual({ resend: secret })
    expect(await see()).not.toContain(secret)
    // each provider keeps its own
    await viaPostmark()
    await browser.submit(PAGE(), at('url'))
    expect(Object.keys(await secrets()).toSorted()).toEqual(['postmark', 'resend'])
  })

  test('of Amazon SES come from a topic, which is typed in or confirmed first', async () => {
    await set({ smtpUrl: 'ses://AKIAIOSFODNN7EXAMPLE:secret@email.eu-west-1.amazonaws.com/reports' })
    const html = await see()
    const { publicId } = await appOf(pages)
    const [url = ''] = await textOf(html, '#webhook-url')
    expect(url).toMatch(new RegExp(`^http://localhost:8080/hooks/ses/${publicId}/[0-9a-f]{32}$`))
    expect(await textIn(html)).toContain('The first subscription to this URL is confirmed, and its topic is saved.')
    const fields = await hiddenFieldsOf(html, `form[action^="${at('secret')}"]`)
    const wrong = await browser.post(at('secret'), { ...fields, hookSecret: 'my topic' })
    expect([wrong.status, await textOf(wrong.html, '#webhook-secret .fault')]).toEqual([
      400,
      ['Error: Enter the ARN of the SNS topic, such as arn:aws:sns:eu-west-1:123456789012:ses.'],
    ])
    const arn = 'arn:aws:sns:eu-west-1:123456789012:ses-reports'
    expect((await browser.post(at('secret'), { ...fields, hookSecret: arn })).status).toBe(303)
    expect(await secrets()).toEqual({ ses: arn })
    expect(await attributesOf(await see(), '#hookSecret', 'value')).toEqual([arn])
  })

  test('of a provider that is used over SMTP are offered too, if they name the delivery', async () => {
    await set({ smtpUrl: 'smtp://user:pa55@smtp.mailgun.org:587' })
    const html = await see()
    expect(await textOf(html, '#webhooks label')).toEqual(['HTTP webhook signing key'])
    expect(await textIn(html)).toContain('No HTTP webhook signing key yet, so every webhook is refused.')
    const fields = await hiddenFieldsOf(html, `form[action^="${at('secret')}"]`)
    expect((await browser.post(at('secret'), { ...fields, hookSecret: 'key-1234567890abcdef' })).status).toBe(303)
    expect(await secrets()).toEqual({ mailgun: 'key-1234567890abcdef' })
    await set({ smtpUrl: 'smtps://resend:re_1@smtp.resend.com:465' })
    expect(await attributesOf(await see(), '#webhooks', 'id')).toEqual([])
  })

  test('cannot be made up for another provider', async () => {
    await viaPostmark()
    const fields = await hiddenFieldsOf(await see(), `form[action="${at('url')}"]`)
    for (const provider of ['resend', 'nobody', ''])
      expect((await browser.post(at('url'), { ...fields, provider })).status).toBe(409)
    expect(await secrets()).toEqual({})
  })

  test('that somebody else changed are not overwritten', async () => {
    await viaPostmark()
    const fields = await hiddenFieldsOf(await see(), `form[action="${at('url')}"]`)
    await set({ hookSecrets: writeHookSecret({ hookSecrets: null }, 'postmark', 'other') })
    expect((await browser.post(at('url'), fields)).status).toBe(409)
    expect(await secrets()).toEqual({ postmark: 'other' })
  })

  test('that arrived are listed with their time', async () => {
    await viaPostmark()
    const app = await appOf(pages)
    expect(await textIn(await see())).toContain('No webhook about an email has arrived yet.')
    await browser.submit(PAGE(), at('url'))
    // of no delivery, so nothing arrived
    const reports = [{ deliveryId: 1, kind: 'delivered' as const, reason: '' }]
    await pages.store.reportDeliveries({ appId: app.id, provider: 'postmark', at: pages.clock.now(), reports })
    expect(await textIn(await see())).toContain('No webhook about an email has arrived yet.')
  })
})

describe('a test of the webhook', () => {
  const send = async () => textOf((await browser.post(at('test'))).html, '#webhooks [role=status]')

  test('goes to the simulator, and says when its report arrived', async () => {
    await viaResend()
    await set({ hookSecrets: writeHookSecret({ hookSecrets: null }, 'resend', makeSigningSecret()) })
    expect(await send()).toEqual([expect.stringContaining('Its report has not arrived yet')])
    expect(resend.received).toMatchObject([
      { to: ['bounced@resend.dev'], tags: [{ value: expect.stringMatching(/^test-/) }] },
    ])
    pages.clock.ms += 4_000
    const app = await appOf(pages)
    const came = { appId: app.id, provider: 'resend', at: pages.clock.now(), reports: [], tests: 1 }
    await pages.store.reportDeliveries(came)
    expect(await textOf(await see(), '#webhooks [role=status]')).toEqual([
      'Done: The report about the last test arrived after 4 s.',
    ])
  })

  test('goes to an address that Postmark keeps accepting', async () => {
    await viaPostmark()
    await browser.submit(PAGE(), at('url'))
    await send()
    expect(postmark.received).toMatchObject([{ To: 'softbounce@bounce-testing.postmarkapp.com' }])
  })

  test('says what the provider refused', async () => {
    await set({ smtpUrl: 'resend://re_wrong@api.resend.com' })
    await set({ hookSecrets: writeHookSecret({ hookSecrets: null }, 'resend', makeSigningSecret()) })
    expect(await send()).toEqual([expect.stringContaining('The email provider rejected the API key (it replied 401')])
  })

  test('needs a provider with webhooks', async () => {
    expect((await browser.post(at('test'))).status).toBe(409)
  })
})
