import { expect, test } from 'bun:test'
import { findVariant, writeTexts } from '../../src/messages/mail-texts.ts'

const TEXT = { subject: 'S', body: 'B' }
const MAIL = { variants: { de: TEXT, 'de-CH': TEXT, 'pt-BR': TEXT, 'zh-Hant': TEXT } }

test.each([
  ['de', 'de'],
  ['de-CH', 'de-CH'],
  ['DE_ch', 'de-CH'],
  [' de-AT ', 'de'],
  ['pt-br', 'pt-BR'],
  ['pt', null],
  ['zh-Hant', 'zh-Hant'],
  ['zh-Hant-HK', 'zh-Hant'],
  ['zh', null],
  ['fr', null],
  ['', null],
  [49, null],
  [undefined, null],
])('a person with the locale %p gets the text in %p', (locale, variant) => {
  const fields = locale === undefined ? null : { locale }
  expect(findVariant(MAIL, { fields })).toBe(variant)
  expect(findVariant({}, { fields })).toBe(null)
})

test('what a program escaped in Liquid is read as it was written, and nothing else', () => {
  const html = '<p>&quot;</p>{{ event.a | default: &quot;A &amp; B&quot; }}{% if event.b &gt; 1 %}&gt;{% endif %}'
  const body = '{{ event.a | default: &quot;x&quot; }}'
  expect(writeTexts({ subject: 'S', body, html })).toEqual({
    subject: 'S',
    preheader: '',
    body,
    html: '<p>&quot;</p>{{ event.a | default: "A & B" }}{% if event.b > 1 %}&gt;{% endif %}',
  })
})
