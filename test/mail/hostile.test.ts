import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { CONTACTS } from '../helper.ts'
import { isOnPostgres } from '../postgres/test-databases.ts'
import { checkDkim, headersOf, readMail } from './reading.ts'
import { CONTENT, RESULTS, type Sending, useSharedSending } from './sending.ts'

const start = useSharedSending()
const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

const HOSTILE: Record<string, string> = {
  'CR and LF': 'a\r\nBcc: victim@example.com\r\n\r\nbody\r\n.\r\nMAIL FROM:<x@example.com>',
  'a script': '"><script>alert(1)</script><img src=x onerror=alert(1)>',
  'a template': '{{contact.email}} {% include "x" %} {{ unsubscribeUrl }}',
  Markdown: '[x](https://evil.example) ![y](https://evil.example/y.png) <https://evil.example> # **b**',
  '10 KB': 'long text '.repeat(1_024),
  'right-to-left marks': '\u202e\u2067evil\u200f \u05e9\u05dc\u05d5\u05dd \u202c',
  'encoded template': '=?utf-8?q?=0d=0aBcc:_victim=40example.com?=',
  'an address': 'x <victim@example.com>, y@example.com;',
  dots: '.\r\n..\n.',
  'control characters': 'a\u0000b\u0008c\u001bd\u007f',
  'half a character': 'a\ud800',
}

/** In every place at once, up to the API's limits. */
const TEMPLATE = {
  subject: '{{ event.headline | truncate: 1500 }}',
  preheader: '{{ contact.fields.long }}',
  body: '# {{ event.headline }}\n\n{{ contact.firstName | default: "there" }} {{ contact.lastName | default: "-" }} {{ contact.fields.long }}\n\n[{{ event.headline }}]({{ event.url }})\n\n[{{ contact.fields.long }}](https://first.example/{{ contact.fields.long }})\n\n| {{ event.headline }} |\n|---|\n| `{{ contact.fields.long }}` |',
}

describe.each(Object.entries(HOSTILE))('%s', (_, hostile) => {
  let sending: Sending
  beforeAll(async () => {
    sending = await start({ mail: { ...CONTENT.mail, ...TEMPLATE } })
    await sending.setSettings({
      fromName: hostile.slice(0, 200),
      fromEmail: 'hello@first.example',
      replyTo: 'reply@first.example',
      postalAddress: hostile.slice(0, 500),
      logoUrl: hostile.slice(0, 500),
      colour: hostile.slice(0, 500),
      dkimDomain: 'first.example',
      dkimSelector: 's1',
      dkimKey: privateKey,
    })
    // bypasses the API's limits: the email must be safe by itself
    const at = sending.clock.now()
    const common = {
      accountId: sending.app.accountId,
      appId: sending.app.id,
      email: 'ada@example.com',
      shownEmail: null,
    }
    const rest = { newPeoplePerMonth: null, at, limits: [], idempotency: null, source: null, tags: [], removeTags: [] }
    await sending
      .store()
      .addContact({ ...common, ...rest, firstName: hostile, lastName: hostile, fields: { long: hostile } })
    await sending.store().recordEvent({
      ...common,
      ...rest,
      createContact: false,
      firstName: null,
      lastName: null,
      type: 'event',
      name: 'results_ready',
      properties: JSON.stringify({ ...RESULTS, headline: hostile }),
      path: null,
      via: 'api',
      occurredAt: null,
    })
    await sending.sendDue()
  })
  afterAll(() => sending.close())

  test('is one email to one person, signed by the domain of its sender', () => {
    expect(sending.server.received).toHaveLength(1)
    const [received] = sending.server.received
    expect(received).toMatchObject({ from: 'hello@first.example', to: ['ada@example.com'] })
    const { isValid, domain, signed } = checkDkim(received?.raw ?? '', publicKey)
    expect({ isValid, domain }).toEqual({ isValid: true, domain: 'first.example' })
    expect(signed).toContain('list-unsubscribe-post')
  })

  test('does not break out of a header', () => {
    const mail = readMail(sending.server.received[0]?.raw ?? '')
    const names = mail.headers.map(([name]) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names).not.toContain('bcc')
    expect(headersOf(mail, 'to')[0]).toEndWith('<ada@example.com>')
    expect(headersOf(mail, 'from')[0]).toEndWith('<hello@first.example>')
    expect(headersOf(mail, 'reply-to')).toEqual(['reply@first.example'])
    expect(headersOf(mail, 'subject')[0]?.length).toBeLessThanOrEqual(210)
    for (const line of (sending.server.received[0]?.raw ?? '').split('\r\n'))
      expect(line.length).toBeLessThanOrEqual(998)
  })

  test('is only text in both parts', async () => {
    const { parts } = readMail(sending.server.received[0]?.raw ?? '')
    expect(parts.map(({ type }) => type)).toEqual(['text/plain; charset=utf-8', 'text/html; charset=utf-8'])
    const [text = { text: '' }, html = { text: '' }] = parts
    // PostgreSQL stores no NUL
    const stored = isOnPostgres ? hostile.replaceAll('\0', '\u{FFFD}') : hostile
    const shown = stored
      .toWellFormed()
      .replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, '')
      .replaceAll(/[\s\p{Cc}]+/gu, ' ')
      .trim()
    expect(text.text).toContain(shown)
    expect(html.text).toContain(Bun.escapeHTML(shown))
    const found: string[] = []
    await new HTMLRewriter()
      .on('script, img, iframe, form, [onerror]', {
        element: (element) => void found.push(element.tagName),
      })
      .transform(new Response(html.text))
      .text()
    expect(found).toEqual([])
    const hosts = Array.from(html.text.matchAll(/href="([^"]*)"/g), ([, href = '']) => URL.parse(href)?.hostname)
    expect(new Set(hosts)).toEqual(new Set(['first.example', 'localhost']))
  })
})

test('the API accepts such values as data', async () => {
  const sending = await start({ mail: { ...CONTENT.mail, subject: '{{ event.headline }}' } })
  const body = { newsletter: sending.app.publicId, email: 'ada@example.com', firstName: '<b>{{x}}</b>' }
  expect((await sending.call('POST', CONTACTS, { body })).status).toBe(201)
  await sending.sendEvent('ada@example.com', { ...RESULTS, headline: HOSTILE['CR and LF'] })
  await sending.sendDue()
  const mail = readMail(sending.server.received[0]?.raw ?? '')
  expect(headersOf(mail, 'subject')).toEqual(['a Bcc: victim@example.com body . MAIL FROM:<x@example.com>'])
  expect(headersOf(mail, 'to')).toEqual(['"<b>{{x}}</b>" <ada@example.com>'])
  await sending.close()
})
