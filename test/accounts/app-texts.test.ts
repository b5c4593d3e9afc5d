import { describe, expect, test } from 'bun:test'
import {
  type AppTexts,
  DEFAULT_PAGE,
  findFooterTexts,
  findPageTexts,
  listLanguages,
  readTexts,
  removeLanguage,
  sayPageText,
  sayText,
  writeTexts,
} from '../../src/accounts/app-texts.ts'

const STORED: AppTexts = {
  lang: 'fr',
  own: { unsubscribe: 'Se désabonner', askTitle: 'Quitter {app} ?' },
  others: {
    de: { unsubscribe: 'Abmelden', askTitle: 'Von {app} abmelden?' },
    'de-CH': { unsubscribe: 'Abmelden (CH)', confirmTitle: 'Adresse bestätigen' },
    ar: { askLead: 'لن يرسل {app} إلى {email}' },
  },
}

const titleOf = (locale: string | null, page: 'unsubscribe' | 'confirm' = 'unsubscribe', stored = STORED) => {
  const texts = findPageTexts(stored, { page, locale, appLocale: 'pt-BR' })
  const name = page === 'confirm' ? 'confirmTitle' : 'askTitle'
  return [texts.lang, sayPageText(texts, name, { app: 'Acme', email: 'a•••@example.com' })]
}

describe('a page', () => {
  test.each([
    ['de', 'de', 'Von Acme abmelden?'],
    ['de_AT', 'de', 'Von Acme abmelden?'],
    // of de-CH only the footer and another page are written
    ['de-CH', 'de', 'Von Acme abmelden?'],
    ['es', 'fr', 'Quitter Acme ?'],
    ['no language', 'fr', 'Quitter Acme ?'],
    [null, 'fr', 'Quitter Acme ?'],
    ['ar-EG', 'ar', 'Unsubscribe from \u2068Acme\u2069?'],
  ])('for %p is in %p', (locale, lang, title) => {
    expect(titleOf(locale)).toEqual([lang, title])
  })

  test('is English where nobody wrote any of its texts, whatever the language of the others', () => {
    const { own: _, ...others } = STORED
    const footer = { ...others, own: { unsubscribe: 'Se désabonner' } }
    expect(titleOf('es', 'unsubscribe', footer)).toEqual(['en', 'Unsubscribe from Acme?'])
    expect(titleOf('de', 'confirm')).toEqual(['en', 'Confirm your email address'])
    expect(titleOf('de-CH', 'confirm')).toEqual(['de-CH', 'Adresse bestätigen'])
    expect(titleOf(null, 'unsubscribe', { ...STORED, lang: null })[0]).toBe('pt-BR')
    expect(findPageTexts(null, { page: 'confirm', locale: 'de', appLocale: 'de' })).toBe(DEFAULT_PAGE)
  })

  test('leaves the footer to the language of the email', () => {
    expect(findFooterTexts(STORED, 'de-CH')).toEqual({ lang: 'de-CH', texts: { unsubscribe: 'Abmelden (CH)' } })
    expect(findFooterTexts(STORED, null)).toEqual({ lang: 'fr', texts: { unsubscribe: 'Se désabonner' } })
  })
})

test('values are filled in once, as they are', () => {
  const texts = { askLead: '{email}, {app} {topic} {x} $& {' }
  const values = { app: '{email}$&', email: '<b>', topic: 'Tips' }
  expect(sayText({ texts }, 'askLead', values)).toBe('<b>, {email}$& {topic} {x} $& {')
  expect(sayText({ texts: {} }, 'topicTitle', values)).toBe('Unsubscribe from Tips?')
})

test('texts saved in another form of their language are found, changed and removed', () => {
  const stored = { lang: null, own: {}, others: { DE: { askTitle: 'Abmelden?' }, 'pt-br': { unsubscribe: 'Sair' } } }
  expect(listLanguages(stored)).toEqual(['de', 'pt-BR'])
  expect(titleOf('de-AT', 'unsubscribe', stored)[1]).toBe('Abmelden?')
  expect(findFooterTexts(stored, 'pt_BR').texts).toEqual({ unsubscribe: 'Sair' })
  expect(writeTexts(stored, 'de').askTitle).toBe('Abmelden?')
  const typed = { ...writeTexts(stored, 'de'), askTitle: 'Wirklich?' }
  expect(readTexts({ ...typed, lang: 'EN-us' }, { stored, language: 'de' })).toEqual({
    settings: { texts: { ...stored, others: { de: { askTitle: 'Wirklich?' }, 'pt-BR': { unsubscribe: 'Sair' } } } },
  })
  expect(readTexts({ ...typed, lang: 'EN-us' }, { stored, language: '' })).toMatchObject({
    settings: { texts: { lang: 'en-US' } },
  })
  expect(removeLanguage(stored, 'de')?.others).toEqual({ 'pt-BR': { unsubscribe: 'Sair' } })
})

describe('a form', () => {
  const read = (changes: object, language = '') =>
    readTexts({ ...writeTexts(null, ''), ...changes }, { stored: STORED, language })

  test.each([
    [{ reason: 'To {email}' }, '{email} has no value here. Use {app}, or remove the braces.'],
    [{ askLead: 'About {topic}' }, '{topic} has no value here. Use {app} or {email}, or remove the braces.'],
    [{ topicLead: '{{app}}{App}' }, '{App} has no value here. Use {app}, {email}, or {topic}, or remove the braces.'],
    [{ askTitle: 'x'.repeat(301) }, 'Enter one line of up to 300 characters.'],
    [{ askTitle: 'a\nb' }, 'Enter one line of up to 300 characters.'],
    [{ askButton: 'x'.repeat(61) }, 'Enter one line of up to 60 characters.'],
  ])('%p is refused', (changes, message) => {
    expect(read(changes)).toEqual({ errors: [{ field: Object.keys(changes)[0] ?? '', code: 'invalid', message }] })
  })

  test('empty and default texts are not stored', () => {
    const typed = { askTitle: ' ', askLead: '{email} {app}', askButton: 'x'.repeat(60), topicTitle: '{topic}' }
    expect(read(typed, 'it')).toEqual({
      settings: {
        texts: {
          ...STORED,
          others: {
            ...STORED.others,
            it: { askLead: '{email} {app}', askButton: 'x'.repeat(60), topicTitle: '{topic}' },
          },
        },
      },
    })
  })
})
