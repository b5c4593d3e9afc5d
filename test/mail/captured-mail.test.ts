import { describe, expect, test } from 'bun:test'
import { readCaptured } from '../../src/mail/captured-mail.ts'
import { composeMail } from '../../src/mail/compose.ts'
import { makeDkimKey } from '../../src/accounts/dkim.ts'
import { NOW } from '../helper.ts'

const TEXT = `Zwölf Bilder = fertig 👩‍🚀\r\n.\r\n${'sehr lang '.repeat(40)}`
const HTML = `<p style="color: #fff">Zwölf &amp; 'mehr' = ${'<b>x</b>'.repeat(60)}</p>`

const readSource = (raw: string) => readCaptured({ raw, content: null })

const compose = async (subject: string, name = 'Ada', dkim = false): Promise<string> => {
  const letter = {
    mail: { subject, html: HTML, text: TEXT },
    from: { name, address: 'hello@first.example' },
    replyTo: null,
    to: { name: 'Bob "B" Ö', address: 'bob@example.com' },
    messageId: 'dlv_1@first.example',
    at: NOW,
    unsubscribeUrl: 'https://post.example.com/u/1',
    dkim: dkim ? { domain: 'first.example', selector: 'a', key: await makeDkimKey() } : null,
  }
  return (await composeMail(letter)).raw.toString('utf8')
}

describe('reads a composed email back', () => {
  test.each([
    'Ready',
    'Zwölf Bilder sind fertig',
    `${'ä👩‍🚀 '.repeat(60)}end`,
    'a_b?c=d =?',
    `${'unbreakable'.repeat(20)}`,
  ])('%s', async (subject) => {
    const mail = await readSource(await compose(subject, 'Ödön'))
    expect(mail.subject).toBe(subject)
    expect(mail.from).toContain('Ödön')
    expect(mail.to).toBe('Bob "B" Ö <bob@example.com>')
    expect(mail.html.trimEnd()).toBe(HTML)
    expect(mail.text.replaceAll('\r\n', '\n').trimEnd()).toBe(TEXT.replaceAll('\r\n', '\n').trimEnd())
  })

  test('also when signed', async () => {
    const mail = await readSource(await compose('Ready', 'Ada', true))
    expect([mail.subject, mail.html.trimEnd()]).toEqual(['Ready', HTML])
  })
})

test('uses the stored content as it is', async () => {
  const content = { from: 'a@example.com', to: 'b@example.com', subject: 'Kept', html: '<p>x</p>', text: 'x' }
  expect(await readCaptured({ raw: 'Subject: Source', content })).toBe(content)
})

test.each(['', 'no header at all', 'Content-Type: multipart/mixed; boundary=x\r\n\r\nnothing between'])(
  'reads a foreign email as far as possible: %j',
  async (raw) => expect(await readSource(raw)).toMatchObject({ from: '', to: '', subject: '', html: '' }),
)
