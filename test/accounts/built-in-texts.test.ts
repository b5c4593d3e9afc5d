import { describe, expect, test } from 'bun:test'
import { readTexts, TEXT_NAMES, writeTexts } from '../../src/accounts/app-texts.ts'
import { readOptIn, writeOptIn } from '../../src/accounts/opt-in.ts'
import { en } from '../../src/accounts/texts/en.ts'
import { DOC_PAGES } from '../../src/docs/index.ts'
import { BUILT_IN, findBuiltIn } from '../../src/accounts/texts/index.ts'

const placeholdersOf = (text: string) => (text.match(/\{+[^{}]*\}+/g) ?? []).toSorted()
const ENGLISH =
  /(?<!\p{L})(?:the|you|your|this|that|and|will|from|again|sent|address|because|received|won't|more|new|unsubscribe|subscribed?|save|saved|confirm|try)(?!\p{L})/iu

const MASCULINE = /(?<!\p{L})(?:(?:dés|ré)?abonné|suscrito|inscrito|subscrito|iscritto|stato Lei)(?!\p{L})/iu

const OTHERS = Object.entries(BUILT_IN).filter(([language]) => language !== 'en')

test('the documentation names the languages', () => {
  const page = DOC_PAGES.find(({ slug }) => slug === 'texts')
  const named = Object.keys(BUILT_IN).map((tag) => new Intl.DisplayNames('en', { type: 'language' }).of(tag) ?? '')
  expect(named.filter((name) => !page?.markdown.includes(name))).toEqual([])
  expect(Object.keys(BUILT_IN).toSorted()).toEqual(['de', 'en', 'es', 'fr', 'it', 'nl', 'pt'])
  expect(['de_CH', 'deu', 'DE-x-foo'].map(findBuiltIn)).toEqual(Array(3).fill(BUILT_IN.de ?? null))
  expect(findBuiltIn('pt-br')).toBe(BUILT_IN.pt ?? null)
  expect(['den', 'sv', '', 'constructor', null].map(findBuiltIn)).toEqual(Array(5).fill(null))
})

describe.each(OTHERS)('%s', (language, { texts, request }) => {
  test('has all texts, each with the values of the English one', () => {
    expect(Object.keys(texts)).toEqual([...TEXT_NAMES])
    for (const name of TEXT_NAMES)
      expect([name, placeholdersOf(texts[name])]).toEqual([name, placeholdersOf(en.texts[name])])
    for (const part of ['subject', 'button'] as const)
      expect([part, placeholdersOf(request[part])]).toEqual([part, placeholdersOf(en.request[part])])
    expect(new Set(placeholdersOf(request.body))).toEqual(new Set(placeholdersOf(en.request.body)))
    expect(request.body.split('\n\n')).toHaveLength(2)
  })

  test('has no English left', () => {
    const all = [...Object.values(texts), ...Object.values(request)]
    const words = all.map((text) => text.replaceAll(/\{+[^{}]*\}+/g, ''))
    expect(words.filter((text) => ENGLISH.test(text))).toEqual([])
    const english = new Set<string>([...Object.values(en.texts), ...Object.values(en.request)])
    expect(all.filter((text) => english.has(text))).toEqual([])
  })

  test('is spaced as in the language, and has no word for men only', () => {
    const all = [...Object.values(texts), ...Object.values(request)]
    const signs = language === 'fr' ? /(?<!\u202f)[?!;]|(?<!\u00a0):/u : /\s[?!;:]/u
    expect(all.filter((text) => signs.test(text))).toEqual([])
    expect(all.filter((text) => MASCULINE.test(text))).toEqual([])
  })

  test('fits the forms, which store nothing of it', () => {
    // typed by the owner of an app that has nothing built in
    const typed = { ...writeTexts(null, ''), ...texts }
    expect(readTexts(typed, { stored: null, language: 'sv' })).toEqual({
      settings: { texts: { lang: null, own: {}, others: { sv: texts } } },
    })
    expect(readTexts({ ...typed, lang: '' }, { stored: null, language })).toMatchObject({
      settings: { texts: { others: { [language]: {} } } },
    })
    const form = { ...writeOptIn(null), ...request }
    expect(readOptIn(form, { stored: null, language: 'sv' })).toMatchObject({
      settings: { optIn: { others: { sv: request } } },
    })
    expect(readOptIn(form, { stored: null, language })).toMatchObject({
      settings: { optIn: { others: { [language]: { subject: null, body: null, button: null } } } },
    })
    expect(Object.values(texts).filter((text) => text.length > 200)).toEqual([])
  })
})
