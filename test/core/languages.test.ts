import { expect, test } from 'bun:test'
import { byTag, findLanguage, findTag, readTag } from '../../src/core/languages.ts'

test.each([
  ['DE', 'de'],
  [' pt-br ', 'pt-BR'],
  ['ZH-hant-hk', 'zh-Hant-HK'],
  ['iw', 'he'],
  ['de_CH', null],
  ['klingon', null],
  ['', null],
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
