import { describe, expect, test } from 'bun:test'
import { renderMail } from '../../src/mail/render.ts'
import { makeFacts, renderForTest, RESULTS, UNSUBSCRIBE, TEMPLATE } from './facts.ts'

describe('an email about results', () => {
  test('contains the headline and the link', () => {
    const mail = renderForTest()
    expect(mail.subject).toBe('Your 12 pictures are ready.')
    expect(mail.text).toBe(`Hello Ada,

Your 12 pictures are ready.

See your results:
https://app.example.com/results/1

-- 
You received this email because you use Picture Studio.
Picture Studio Ltd
1 Long Street, London
Unsubscribe: ${UNSUBSCRIBE}
`)
    expect(mail.html).toContain('href="https://app.example.com/results/1"')
    expect(mail.html).toContain(`href="${UNSUBSCRIBE}"`)
    expect(mail.refusedLinks).toEqual([])
  })

  test.each(['subject', 'preheader', 'body'] as const)('is none when its %s lacks a value', (part) => {
    const template = { ...TEMPLATE, [part]: '{{ event.headline }}' }
    expect(renderMail(template, makeFacts({}))).toEqual({ missing: 'event.headline' })
    expect(renderMail(template, makeFacts({ headline: ' ' }))).toEqual({ missing: 'event.headline' })
    expect(renderMail({ ...TEMPLATE, [part]: '{% nothing %}' }, makeFacts())).toEqual({ broken: expect.any(String) })
  })

  test('needs a subject', () => {
    expect(renderMail({ ...TEMPLATE, subject: ' \n ' }, makeFacts())).toEqual({ missing: 'subject' })
    expect(renderMail({ ...TEMPLATE, subject: '{% if event.x %}x{% endif %}' }, makeFacts())).toEqual({
      missing: 'subject',
    })
  })
})

describe('the subject', () => {
  test.each([
    ['one\r\nBcc: everyone@example.com', 'one Bcc: everyone@example.com'],
    ['a\u0000b', 'a b'],
    ['x'.repeat(1_500), `${'x'.repeat(199)}\u2026`],
    ['\u{1f600}'.repeat(300), `${'\u{1f600}'.repeat(199)}\u2026`],
    ['\u202e\u05d0\u05d1', '\u05d0\u05d1'],
    ['<b> & {{ contact.email }}', '<b> & {{ contact.email }}'],
  ])('is one short line from %p', (headline, subject) => {
    expect(renderForTest({}, makeFacts({ ...RESULTS, headline })).subject).toBe(subject)
  })
})

test('a transactional email does not mention unsubscribing', () => {
  const mail = renderForTest({ category: 'transactional' })
  expect(mail.text).not.toContain('nsubscribe')
  expect(mail.html).not.toContain('nsubscribe')
})

test('{{ unsubscribeUrl }} works in the body', () => {
  const { html, text } = renderForTest({ body: 'Or [stop these]({{ unsubscribeUrl }}).' })
  expect(html).toContain(`<p style="margin:0 0 16px">Or <a class="link" href="${UNSUBSCRIBE}"`)
  expect(text).toStartWith(`Or stop these (${UNSUBSCRIBE}).`)
})
