import { expect, spyOn, test } from 'bun:test'
import { byTag, findLanguage, findTag, hintOfTag, nameLanguage, readTag } from '../../src/core/languages.ts'

test.each([
  ['DE', 'de'],
  [' pt-br ', 'pt-BR'],
  ['ZH-hant-hk', 'zh-Hant-HK'],
  ['iw', 'he'],
  ['de_CH', null],
  ['klingon', null],
  ['', null],
  ['ca-ES-valencia', 'ca-ES-valencia'],
  ['en-x-foo', null],
  ['en-u-ca-buddhist', null],
  ['en-t-de', null],
  ['en-a-foo', null],
  ['en-US-posix', null],
])('%p is read as %p', (text, tag) => expect(readTag(text)).toBe(tag))

test('a language is found whatever the form in which it was stored or sent', () => {
  const stored = ['DE', 'pt-br', 'iw']
  expect(['de', 'pt_BR', 'PT-br', 'he', 'fr'].map((tag) => findTag(stored, tag))).toEqual([
    'DE',
    'pt-br',
    'pt-br',
    'iw',
    undefined,
  ])
  expect(['de_ch.UTF-8', 'pt-BR', 'he-IL', 'pt'].map((locale) => findLanguage(stored, locale))).toEqual([
    'DE',
    'pt-br',
    'iw',
    null,
  ])
})

test('texts have the canonical tags; of one language in two forms, the first counts', () => {
  const texts = byTag({ DE: 'first', 'pt-br': 'Olá', de: 'second', other_tag: 'kept' })
  expect(texts).toEqual({ de: 'first', 'pt-BR': 'Olá', other_tag: 'kept' })
  expect(findLanguage(['DE', 'de'], 'de')).toBe('DE')
})

test('a tag with extensions is refused with a hint, which other texts do not get', () => {
  for (const tag of ['en-x-foo', ' EN-u-ca-buddhist', 'en-t-de']) expect(hintOfTag(tag)).toContain('-x-')
  for (const tag of ['', 'klingon', 'de-CH', 'x-klingon']) expect(hintOfTag(tag)).toBe('')
})

test.each([
  ['de', 'German (de)'],
  ['iw', 'Hebrew (iw)'],
  ['en-x-foo', 'en-x-foo'],
  ['en-u-ca-buddhist', 'en-u-ca-buddhist'],
  ['en-t-de', 'en-t-de'],
  ['other_tag', 'other_tag'],
  ['', ''],
])('%p is named %p', (tag, name) => expect(nameLanguage(tag)).toBe(name))

test('what precedes an extension is found, and a stored tag with one', () => {
  const stored = ['he', 'de-CH', 'en-x-foo']
  const locales = ['iw-u-ca-hebrew', 'de-CH-u-ca-gregory-co-phonebk-kn-true-nu-latn', 'EN_x_foo', 'en']
  expect(locales.map((locale) => findLanguage(stored, locale))).toEqual(['he', 'de-CH', 'en-x-foo', null])
})

test('of a long locale, only whole subtags at its beginning are looked at', () => {
  const long = `de-${'abcde-'.repeat(160)}z`
  expect(findLanguage(['de'], long)).toBe('de')
  expect(findLanguage([long, 'de-abcde-abcde-abcde-abcde-abcde-ab'], long)).toBe(null)
  const subtags = 'de-1-2-3-4-5-6-7-8'
  expect(findLanguage([subtags, 'de-1-2-3-4-5-6-7'], subtags)).toBe('de-1-2-3-4-5-6-7')
})

test('the languages of a message are read once, not for each person', () => {
  const languages = ['lv', 'lt', 'et', 'mk', 'sq', 'eu', 'gl', 'cy', 'ga', 'mt', 'is', 'fo', 'kl', 'sw', 'zu']
  const locales = ['zh-Hant-TW', 'en-US', 'x-'.repeat(499), '-'.repeat(1_000)]
  const read = spyOn(Intl.DateTimeFormat, 'supportedLocalesOf')
  for (const _ of Array(10).keys()) for (const locale of locales) findLanguage([...languages], locale)
  const { length } = read.mock.calls
  read.mockRestore()
  expect(length).toBeLessThanOrEqual(languages.length + locales.length)
})
