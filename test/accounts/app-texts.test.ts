import { describe, expect, test } from 'bun:test'
import {
  type AppTexts,
  countTexts,
  DEFAULT_PAGE,
  findFooterTexts,
  findPageTexts,
  isMixed,
  listLanguages,
  readTexts,
  removeLanguage,
  sayPageText,
  sayText,
  TEXT_NAMES,
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

const titleOf = (
  locale: string | null,
  page: 'unsubscribe' | 'confirm' = 'unsubscribe',
  stored: AppTexts | null = STORED,
  mailLanguages: string[] = [],
) => {
  const texts = findPageTexts(stored, { page, locale, appLocale: 'pt-BR', mailLanguages })
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

  test('of which nobody wrote any text has the language of the app, or else is English', () => {
    const { own: _, ...others } = STORED
    const footer = { ...others, own: { unsubscribe: 'Se désabonner' } }
    expect(titleOf('es', 'unsubscribe', footer)).toEqual(['fr', 'Se désabonner des e-mails de Acme\u202f?'])
    const unsaid = { ...footer, lang: null }
    expect(titleOf('es', 'unsubscribe', unsaid)).toEqual(['en', 'Unsubscribe from Acme?'])
    expect(titleOf('ar', 'confirm', unsaid)).toEqual(['en', 'Confirm your email address'])
    expect(titleOf('de-CH', 'confirm')).toEqual(['de-CH', 'Adresse bestätigen'])
    expect(titleOf(null, 'unsubscribe', { ...STORED, lang: null })[0]).toBe('pt-BR')
    const nobody = { page: 'confirm', locale: 'de', appLocale: 'de', mailLanguages: [] } as const
    expect(findPageTexts(null, nobody)).toBe(DEFAULT_PAGE)
  })

  test('follows the emails of the app, without any setup', () => {
    expect(titleOf('de-AT', 'unsubscribe', null, ['de'])).toEqual(['de', 'E-Mails von Acme abbestellen?'])
    expect(titleOf('pt_br', 'unsubscribe', null, ['de', 'pt-BR'])).toEqual([
      'pt-BR',
      'Deixar de receber e-mails de Acme?',
    ])
    expect(titleOf('es', 'unsubscribe', STORED, ['es'])).toEqual([
      'es',
      '¿Cancelar la suscripción a los correos de Acme?',
    ])
    // added, but nothing changed, or for other places only
    expect(titleOf('nl', 'unsubscribe', { ...STORED, others: { nl: {} } })).toEqual([
      'nl',
      'Afmelden voor e-mails van Acme?',
    ])
    expect(titleOf('de', 'confirm')).toEqual(['de', 'Bestätigen Sie Ihre E-Mail-Adresse'])
    // no emails in the language, or no built-in texts
    expect(titleOf('es', 'unsubscribe', STORED, ['de'])).toEqual(['fr', 'Quitter Acme ?'])
    expect(titleOf('sv', 'unsubscribe', STORED, ['sv'])).toEqual(['fr', 'Quitter Acme ?'])
    // the app wrote its own
    expect(titleOf('de', 'unsubscribe', STORED, ['de'])).toEqual(['de', 'Von Acme abmelden?'])
    expect(titleOf('fr-CH', 'unsubscribe', STORED, ['fr'])).toEqual(['fr', 'Quitter Acme ?'])
  })

  test('has no English sentence beside those of a language with built-in texts', () => {
    const leadOf = (stored: AppTexts | null, locale: string | null, mailLanguages: string[] = []) =>
      sayPageText(findPageTexts(stored, { page: 'unsubscribe', locale, appLocale: 'en', mailLanguages }), 'doneTitle', {
        app: 'Acme',
      })
    expect(leadOf(STORED, 'de')).toBe('Erfolgreich abbestellt')
    expect([leadOf(STORED, null), leadOf(STORED, 'fr', ['fr'])]).toEqual(
      Array(2).fill('Votre désabonnement est enregistré'),
    )
    expect(leadOf({ ...STORED, lang: null }, null)).toBe("You're unsubscribed")
    expect(leadOf(STORED, 'ar')).toBe("You're unsubscribed")
  })

  test('is not begun by the texts that every page shares', () => {
    const stored = { lang: null, own: {}, others: { sv: { retryButton: 'Försök igen', askTitle: 'Avsluta {app}?' } } }
    expect(titleOf('sv', 'unsubscribe', stored)).toEqual(['sv', 'Avsluta Acme?'])
    expect(titleOf('sv', 'confirm', stored)).toEqual(['en', 'Confirm your email address'])
  })
})

describe('the footer', () => {
  const linkOf = (stored: AppTexts | null, language: string | null, appLocale = 'en') => {
    const { lang, texts } = findFooterTexts(stored, language, appLocale)
    return [lang, sayText({ texts }, 'unsubscribe', { app: 'Acme' }), sayText({ texts }, 'reason', { app: 'Acme' })]
  }
  const GERMAN = 'Sie erhalten diese E-Mail, weil Sie Acme nutzen.'
  const ENGLISH = 'You received this email because you use Acme.'

  test('has the language of the email', () => {
    expect(linkOf(null, null)).toEqual([null, 'Unsubscribe', ENGLISH])
    expect(linkOf(null, 'de-AT')).toEqual(['de-AT', 'E-Mails abbestellen', GERMAN])
    expect(linkOf(null, 'sv')).toEqual([null, 'Unsubscribe', ENGLISH])
    expect(linkOf(STORED, 'de-CH')).toEqual(['de-CH', 'Abmelden (CH)', GERMAN])
    expect(linkOf(STORED, 'es').slice(0, 2)).toEqual(['es', 'Cancelar la suscripción'])
    expect(linkOf(STORED, 'sv').slice(0, 2)).toEqual(['fr', 'Se désabonner'])
    expect(linkOf(STORED, null)[2]).toBe('Vous recevez cet e-mail parce que vous utilisez Acme.')
  })

  test('keeps what the app wrote in the language of the email', () => {
    const own = { unsubscribe: 'No more' }
    expect(linkOf({ lang: null, own, others: {} }, 'en-GB')).toEqual(['en-GB', 'No more', ENGLISH])
    expect(linkOf({ lang: null, own, others: {} }, 'de', 'de-CH')).toEqual(['de', 'No more', GERMAN])
    expect(linkOf({ lang: 'en', own, others: {} }, 'de', 'de-CH')[1]).toBe('E-Mails abbestellen')
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
  expect(findFooterTexts(stored, 'pt_BR', 'en').texts).toMatchObject({ unsubscribe: 'Sair' })
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
  const NONE = Object.fromEntries(TEXT_NAMES.map((name) => [name, '']))
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
    const typed = { ...NONE, askTitle: ' ', askLead: '{email} {app}', askButton: 'x'.repeat(60), topicTitle: '{topic}' }
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

describe('the form of a language', () => {
  const save = (stored: AppTexts | null, language: string, changes: object = {}) => {
    const reading = readTexts({ ...writeTexts(stored, language), ...changes }, { stored, language })
    if ('errors' in reading) throw new Error(JSON.stringify(reading.errors))
    return reading.settings.texts
  }

  test('shows the built-in texts, and stores only what differs', () => {
    expect(writeTexts(null, 'de-CH')).toMatchObject({ unsubscribe: 'E-Mails abbestellen', askButton: 'Abbestellen' })
    expect(writeTexts(null, 'en-GB').unsubscribe).toBe('Unsubscribe')
    expect(writeTexts(null, 'sv').unsubscribe).toBe('')
    expect(save(null, 'de', { askButton: 'Weg', unsubscribe: '' })?.others).toEqual({ de: { askButton: 'Weg' } })
    // English words in another language are meant
    expect(save(null, 'de', { askButton: 'Unsubscribe' })?.others).toEqual({ de: { askButton: 'Unsubscribe' } })
    expect(save(null, 'sv', { askButton: 'Unsubscribe' })?.others).toEqual({ sv: {} })
  })

  test("of the app's own texts follows their language", () => {
    const german = save(null, '', { lang: 'de', askButton: 'Weg' })
    expect(german).toEqual({ lang: 'de', own: { askButton: 'Weg' }, others: {} })
    expect(writeTexts(german, '')).toMatchObject({ unsubscribe: 'E-Mails abbestellen', askButton: 'Weg', lang: 'de' })
    expect(save(german, '', { lang: 'en' })).toEqual({ lang: 'en', own: { askButton: 'Weg' }, others: {} })
  })

  test('counts what stays in English', () => {
    const stored = {
      lang: null,
      own: {},
      others: { sv: { askTitle: 'Avsluta?', retryButton: 'Igen' }, de: { askTitle: '?' } },
    }
    const counted = (language: string, hasTopics: boolean, texts: AppTexts = stored) =>
      countTexts(texts, language, hasTopics).map((one) => [one.place, one.count, one.all, isMixed(one)])
    expect(counted('sv', false)).toEqual([
      ['footer', 0, 3, false],
      ['unsubscribe', 2, 13, true],
      ['confirm', 0, 18, false],
    ])
    expect(counted('sv', true)[1]).toEqual(['unsubscribe', 2, 25, true])
    expect([counted('de', true), counted('', true)]).toEqual([[], []])
    expect(counted('', false, { lang: 'sv', own: { unsubscribe: 'Avsluta' }, others: {} })[0]).toEqual([
      'footer',
      1,
      3,
      true,
    ])
    const footer = { unsubscribe: 'a', reason: 'b', consentReason: 'c' }
    expect(counted('sv', false, { ...stored, others: { sv: footer } })[0]).toEqual(['footer', 3, 3, false])
  })
})
