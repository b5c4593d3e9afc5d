import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'bun:test'
import { composeMail, type EmailFields } from '../../src/mail/compose.ts'
import { NOW } from '../helper.ts'
import { renderForTest, UNSUBSCRIBE } from './facts.ts'
import { checkDkim, headersOf, readMail } from './reading.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
const DKIM = { domain: 'example.com', selector: 's1', key: privateKey }

const EMAIL: EmailFields = {
  mail: renderForTest(),
  from: { name: 'Pïcture "Studio", Ltd', address: 'hello@example.com' },
  replyTo: null,
  to: { name: 'Ada', address: 'ada@receiver.example' },
  messageId: 'dlv_00000000001@example.com',
  at: NOW,
  unsubscribeUrl: UNSUBSCRIBE,
  dkim: null,
}

const compose = async (fields: Partial<EmailFields> = {}) => {
  const { raw, ...envelope } = await composeMail({ ...EMAIL, ...fields })
  return { raw: raw.toString('latin1'), envelope }
}

test('an email has the required headers and both parts', async () => {
  const { raw, envelope } = await compose()
  expect(envelope).toEqual({ from: 'hello@example.com', to: 'ada@receiver.example' })
  const mail = readMail(raw)
  expect(Object.fromEntries(mail.headers)).toEqual({
    from: 'Pïcture "Studio", Ltd <hello@example.com>',
    to: 'Ada <ada@receiver.example>',
    subject: 'Your 12 pictures are ready.',
    date: 'Fri, 15 May 2026 12:00:00 +0000',
    'message-id': '<dlv_00000000001@example.com>',
    'list-unsubscribe': `<${UNSUBSCRIBE}>`,
    'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
    'auto-submitted': 'auto-generated',
    'mime-version': '1.0',
    'content-type': expect.stringContaining('multipart/alternative'),
  })
  expect(mail.parts.map(({ text }) => text.trimEnd())).toEqual([EMAIL.mail.text.trimEnd(), EMAIL.mail.html.trimEnd()])
})

test('lines end in CRLF and are not too long', async () => {
  const mail = renderForTest({ body: 'word '.repeat(3_000) })
  const { raw } = await compose({ mail })
  expect(raw.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
  expect(Math.max(...raw.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998)
})

test.each([
  ['ASCII', 'Hi\t Ada  ', ['7bit', '7bit']],
  ['an umlaut', 'Hi Zo\u00eb', ['quoted-printable', 'quoted-printable']],
  ['a control character', 'Hi\u007f', ['quoted-printable', 'quoted-printable']],
])('%s is sent in the encoding it needs, and arrives unchanged', async (_, words, encodings) => {
  const mail = { subject: 'Hello', text: `${words}\n.\nend\n`, html: `<p class="a=b">${words}</p>\n` }
  const { raw } = await compose({ mail, dkim: DKIM })
  expect(Array.from(raw.matchAll(/^Content-Transfer-Encoding: (\S+)/gm), ([, name]) => name)).toEqual(encodings)
  expect(readMail(raw).parts.map(({ text }) => text.replaceAll('\r\n', '\n').trimEnd())).toEqual([
    mail.text.trimEnd(),
    mail.html.trimEnd(),
  ])
  expect(checkDkim(raw, publicKey)).toMatchObject({ isValid: true })
})

test('a line of more than 900 characters is encoded, a shorter one is not', async () => {
  const encodingOf = async (length: number) => {
    const { raw } = await compose({ mail: { ...EMAIL.mail, text: 'x'.repeat(length) } })
    return /^Content-Transfer-Encoding: (\S+)/m.exec(raw)?.[1]
  }
  expect([await encodingOf(900), await encodingOf(901)]).toEqual(['7bit', 'quoted-printable'])
})

test('replies go to the address of the app; a transactional email has no unsubscribe link', async () => {
  const { raw } = await compose({ replyTo: { name: '', address: 'help@example.com' }, unsubscribeUrl: null })
  const mail = readMail(raw)
  expect(headersOf(mail, 'reply-to')).toEqual(['help@example.com'])
  expect(raw.split('\r\n\r\n')[0]).not.toMatch(/unsubscribe/i)
})

test.each([
  ['https://post.example.com/u/1', true],
  ['http://localhost:8080/u/1', true],
  ['http://127.0.0.1:8080/u/1', true],
  ['http://[::1]:8080/u/1', true],
  ['http://post.example.com/u/1', false],
])('one-click unsubscribe at %s: %p', async (unsubscribeUrl, isOffered) => {
  const { raw } = await compose({ unsubscribeUrl })
  const offered = headersOf(readMail(raw), 'list-unsubscribe')
  expect(offered).toEqual(isOffered ? [`<${unsubscribeUrl}>`] : [])
})

test('a feedback ID is there and signed, unless the mail provider adds its own', async () => {
  const feedbackId = 'msg_1:app_1:lifecycle:eventpost'
  const { raw } = await compose({ feedbackId, dkim: DKIM })
  expect(headersOf(readMail(raw), 'feedback-id')).toEqual([feedbackId])
  expect(checkDkim(raw, publicKey)).toMatchObject({ isValid: true, signed: expect.arrayContaining(['feedback-id']) })
  expect((await compose({ feedbackId: null })).raw).not.toContain('Feedback-ID')
})

describe('a signature', () => {
  test('is valid and covers the important headers', async () => {
    const { raw } = await compose({ dkim: DKIM })
    const { isValid, domain, selector, signed } = checkDkim(raw, publicKey)
    expect({ isValid, domain, selector }).toEqual({ isValid: true, domain: 'example.com', selector: 's1' })
    const covered = ['from', 'to', 'subject', 'date', 'message-id', 'list-unsubscribe', 'list-unsubscribe-post']
    expect(signed).toEqual(expect.arrayContaining(covered))
  })

  test.each([
    ['the body', (raw: string) => raw.replace('Hello Ada', 'Hello Eve')],
    ['the subject', (raw: string) => raw.replace('Subject: Your', 'Subject: My')],
    ['the link', (raw: string) => raw.replace('post.example.com/u/', 'evil.example.com/u/')],
  ])('breaks when %s is changed', async (_, change) => {
    const { raw } = await compose({ dkim: DKIM })
    expect(change(raw)).not.toBe(raw)
    expect(checkDkim(change(raw), publicKey).isValid).toBe(false)
  })

  test.each(['', 'nonsense', publicKey])('that cannot be made stops the email (%#)', async (key) => {
    await expect(composeMail({ ...EMAIL, dkim: { ...DKIM, key } })).rejects.toThrow()
  })
})
