import { beforeEach, describe, expect, test } from 'bun:test'
import { useClosing } from '../../closing.ts'
import { type PostmarkEmail, startPostmark } from '../../mail/postmark-server.ts'
import { startResend } from '../../mail/resend-server.ts'
import { startSes } from '../../mail/ses-server.ts'
import { type AccountPages, appOf, type Browser, hiddenFieldsOf, openAccount } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

const keep = useClosing()
const NEAR = { names: new Set(['127.0.0.1']), ranges: [] }

let pages: AccountPages
let browser: Browser
let postmark: Awaited<ReturnType<typeof startPostmark>>
let resend: Awaited<ReturnType<typeof startResend>>
let ses: Awaited<ReturnType<typeof startSes>>
const behaviour: { email?: (email: PostmarkEmail) => 'accept' | { status: number; body: object } } = {}

beforeEach(async () => {
  delete behaviour.email
  postmark = await startPostmark({ email: (email) => behaviour.email?.(email) ?? 'accept' })
  resend = await startResend()
  ses = await startSes({ region: 'eu-west-1', account: { ProductionAccessEnabled: false } })
  const standIns = {
    postmark: { host: '127.0.0.1', port: postmark.port },
    resend: { host: '127.0.0.1', port: resend.port },
    ses: { host: '127.0.0.1', port: ses.port },
  }
  pages = keep(await openAccount({ mail: { privateHosts: NEAR, standIns } }))
  browser = await pages.signedIn()
  keep({ close: postmark.stop })
  keep({ close: resend.stop })
  keep({ close: ses.stop })
})

const PAGE = () => pages.at('sender/server')
const stored = async () => (await pages.store.mailSettings((await appOf(pages)).id)).smtpUrl
const save = async (fields: Record<string, string>, query = '?provider=postmark') => {
  const { html } = await browser.get(`${PAGE()}${query}`)
  return browser.post(PAGE(), { ...(await hiddenFieldsOf(html, `form[action="${PAGE()}"]`)), ...fields })
}

const TOKEN = '6f4a1d2c-0b7e-4c43-9a57-2f1f0a9d7c11'

describe('the form of a provider with an API', () => {
  test('asks for its key, and for a stream at Postmark', async () => {
    const { html } = await browser.get(`${PAGE()}?provider=postmark`)
    expect(await attributesOf(html, '#server input:not([type=hidden])', 'name')).toEqual(['apiKey', 'apiStream'])
    expect(await textOf(html, '#server label')).toEqual(['Server API token', 'Message stream'])
    expect(await attributesOf(html, '.provider-hint a', 'href')).toEqual([`${PAGE()}?provider=postmark&by=smtp`])
    const other = await browser.get(`${PAGE()}?provider=resend`)
    expect(await attributesOf(other.html, '#server input:not([type=hidden])', 'name')).toEqual(['apiKey'])
  })

  test('leads to SMTP and back', async () => {
    const { html } = await browser.get(`${PAGE()}?provider=postmark&by=smtp`)
    expect(await attributesOf(html, '#smtpHost', 'value')).toEqual(['smtp.postmarkapp.com'])
    expect(await attributesOf(html, '.provider-hint a', 'href')).toEqual([`${PAGE()}?provider=postmark`])
  })

  test('saves what the provider accepts, and never shows the key', async () => {
    const saved = await save({ apiKey: TOKEN, apiStream: 'broadcast' })
    expect(saved.status).toBe(303)
    expect(await stored()).toBe(`postmark://${TOKEN}@api.postmarkapp.com/broadcast`)
    expect(postmark.calls.map(({ path }) => path)).toEqual(['/server', '/message-streams/broadcast'])
    const { html } = await browser.get(PAGE())
    expect(html).not.toContain(TOKEN)
    expect(html).toContain('Emails go through Postmark.')
    expect(await attributesOf(html, '#apiStream', 'value')).toEqual(['broadcast'])
    // an empty key keeps the saved one
    expect((await save({ apiKey: '', apiStream: 'outbound' }, '')).status).toBe(303)
    expect(await stored()).toBe(`postmark://${TOKEN}@api.postmarkapp.com/outbound`)
  })

  test('keeps no key for another provider', async () => {
    await save({ apiKey: TOKEN })
    const { status, html } = await save({ apiKey: '' }, '?provider=resend')
    expect([status, await textOf(html, '.field .fault')]).toEqual([400, ['Error: Enter the key.']])
    expect(resend.calls).toEqual([])
  })

  test('says what the provider refused, and saves it anyway without showing it', async () => {
    const refused = await save({ apiKey: 'wrong-key-1', apiStream: 'outbound' })
    expect(refused.status).toBe(422)
    expect(await textOf(refused.html, '#server .notice')).toEqual([
      'Error: Not saved. Postmark rejected the key (it replied 401). Its reply: “The Server Token you provided in the X-Postmark-Server-Token request header was invalid.”',
    ])
    expect(refused.html).not.toContain('wrong-key-1')
    expect(await stored()).toBe(null)
    const again = {
      ...(await hiddenFieldsOf(refused.html, `form[action="${PAGE()}"]`)),
      apiKey: '',
      apiStream: 'outbound',
    }
    expect((await browser.post(PAGE(), { ...again, do: 'save_anyway' })).status).toBe(303)
    expect(await stored()).toBe('postmark://wrong-key-1@api.postmarkapp.com/outbound')
  })

  test('shows hostile input harmlessly', async () => {
    const { status, html } = await save({ apiKey: HOSTILE, apiStream: HOSTILE })
    expect(status).toBe(400)
    await expectHarmless(html)
  })

  test('accepts a key of Resend that may only send', async () => {
    const [, key = ''] = /^resend:\/\/([^@]+)@/.exec(resend.sendingUrl) ?? []
    expect((await save({ apiKey: key }, '?provider=resend')).status).toBe(303)
    expect(await stored()).toBe(`resend://${key}@api.resend.com`)
  })
})

describe('the form of Amazon SES', () => {
  const BY_SES = '?provider=ses'

  test('asks for a region, both parts of the key and a configuration set, and says what is missing', async () => {
    const { html } = await browser.get(`${PAGE()}${BY_SES}`)
    expect(await textOf(html, '#server label')).toEqual([
      'Region',
      'Access key ID',
      'Secret access key',
      'Configuration set (optional)',
    ])
    const empty = await save({ awsRegion: '', awsKeyId: '', apiKey: '', apiStream: '' }, BY_SES)
    expect([empty.status, await textOf(empty.html, '.field .fault')]).toEqual([
      400,
      [
        'Error: Choose the region of your SES identity.',
        'Error: Enter the access key ID.',
        'Error: Enter the secret access key.',
      ],
    ])
  })

  test('saves what SES accepts in that region, and never shows the secret', async () => {
    const fields = { awsRegion: 'eu-west-1', awsKeyId: ses.keyId, apiKey: ses.secret, apiStream: 'reports' }
    const wrong = await save({ ...fields, awsRegion: 'us-east-1' }, BY_SES)
    expect(await textOf(wrong.html, '#server .notice')).toEqual([
      expect.stringMatching(
        /^Error: Not saved\. Amazon SES \(us-east-1\) rejected the key \(it replied 403\)\. Its reply:/,
      ),
    ])
    expect(wrong.html).not.toContain(ses.secret)
    expect((await save(fields, BY_SES)).status).toBe(303)
    const secret = encodeURIComponent(ses.secret)
    expect(await stored()).toBe(`ses://${ses.keyId}:${secret}@email.eu-west-1.amazonaws.com/reports`)
    const { html } = await browser.get(PAGE())
    expect(html).not.toContain(ses.secret)
    expect(await attributesOf(html, '#awsKeyId, #apiStream', 'value')).toEqual([ses.keyId, 'reports'])
    expect(await attributesOf(html, 'option[selected]', 'value')).toEqual(['eu-west-1'])
    // an empty secret keeps the saved one, for the same key
    expect((await save({ ...fields, apiKey: '', apiStream: '' }, '')).status).toBe(303)
    expect((await save({ ...fields, awsKeyId: 'AKIAIOSFODNN7ANOTHER', apiKey: '' }, '')).status).toBe(400)
    const checked = await browser.post(pages.at('sender/server/check'))
    expect(await textOf(checked.html, '#server-check [role=status] .notice')).toEqual([
      expect.stringContaining('The account is in the sandbox'),
    ])
  })
})

describe('a saved API', () => {
  const check = async (what: string) => {
    const { html } = await browser.post(pages.at(`sender/server/${what}`))
    return textOf(html, '#server-check [role=status] .notice')
  }

  test('is checked on request', async () => {
    await save({ apiKey: TOKEN })
    expect(await check('check')).toEqual([
      'Done: Postmark responds without a secure connection and accepts the API key. To see whether it accepts emails from hello@first.example, send a test email.',
    ])
    await postmark.stop()
    expect(await check('check')).toEqual([expect.stringContaining('Nothing responds')])
  })

  test('sends a test email', async () => {
    await save({ apiKey: TOKEN })
    expect(await check('test')).toEqual(['Done: The mail server accepted the email to ada@example.com.'])
    expect(postmark.received).toMatchObject([
      { To: 'ada@example.com', Metadata: { delivery: expect.stringMatching(/^test-/) } },
    ])
    behaviour.email = () => ({ status: 422, body: { ErrorCode: 400, Message: 'No' } })
    expect(await check('test')).toEqual([expect.stringContaining('refused the sender address (it replied 422)')])
  })
})
