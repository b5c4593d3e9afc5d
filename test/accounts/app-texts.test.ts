import { describe, expect, test } from 'bun:test'
import {
  type AppTexts,
  countTexts,
  DEFAULT_PAGE,
  defaultTexts,
  describeCount,
  findFooterTexts,
  findPageTexts,
  isMixed,
  listLanguages,
  listMixed,
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

const leadOf = (stored: AppTexts | null, locale: string | null, mailLanguages: string[] = []) =>
  sayPageText(findPageTexts(stored, { page: 'unsubscribe', locale, appLocale: 'en', mailLanguages }), 'doneTitle', {
    app: 'Acme',
  })

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
    // the app's own text stays, here in French
    expect(titleOf('es', 'unsubscribe', STORED, ['es'])).toEqual(['es', 'Quitter Acme ?'])
    expect(leadOf(STORED, 'es', ['es'])).toBe('Su suscripción se ha cancelado')
    // added, but nothing changed, or for other places only
    const added = { ...STORED, own: {}, others: { nl: {} } }
    expect(titleOf('nl', 'unsubscribe', added)).toEqual(['nl', 'Afmelden voor e-mails van Acme?'])
    expect(titleOf('de', 'confirm')).toEqual(['de', 'Bestätigen Sie Ihre E-Mail-Adresse'])
    // no emails in the language, or no built-in texts
    expect(titleOf('es', 'unsubscribe', STORED, ['de'])).toEqual(['fr', 'Quitter Acme ?'])
    expect(titleOf('sv', 'unsubscribe', STORED, ['sv'])).toEqual(['fr', 'Quitter Acme ?'])
    // the app wrote its own
    expect(titleOf('de', 'unsubscribe', STORED, ['de'])).toEqual(['de', 'Von Acme abmelden?'])
    expect(titleOf('fr-CH', 'unsubscribe', STORED, ['fr'])).toEqual(['fr', 'Quitter Acme ?'])
  })

  test('has no English sentence beside those of a language with built-in texts', () => {
    expect(leadOf(STORED, 'de')).toBe('Erfolgreich abbestellt')
    expect([leadOf(STORED, null), leadOf(STORED, 'fr', ['fr'])]).toEqual(
      Array(2).fill('Votre désabonnement est enregistré'),
    )
    expect(leadOf({ ...STORED, lang: null }, null)).toBe("You're unsubscribed")
    expect(leadOf(STORED, 'ar')).toBe("You're unsubscribed")
  })

  test('of which the app wrote every text has the language of these', () => {
    const isSeen = (name: string) => !/^(?:topic|all|cho)/.test(name)
    const own = Object.fromEntries(TEXT_NAMES.filter(isSeen).map((name) => [name, `${name}!`]))
    expect(titleOf('de', 'unsubscribe', { lang: 'pl', own, others: {} }, ['de'])).toEqual(['pl', 'askTitle!'])
    expect(titleOf('de', 'confirm', { lang: null, own, others: {} }, ['de'])[0]).toBe('pt-BR')
    const { failedLead: _, ...most } = own
    expect(titleOf('de', 'unsubscribe', { lang: 'pl', own: most, others: {} }, ['de'])[0]).toBe('de')
  })

  test('has the shared texts of its language, though nothing else is written in it', () => {
    const failedOf = (others: AppTexts['others'], mailLanguages: string[] = []) => {
      const facts = { page: 'unsubscribe', locale: 'de-AT', appLocale: 'en', mailLanguages } as const
      const { texts } = findPageTexts({ lang: null, own: {}, others }, facts)
      return [texts.failedTitle, texts.askButton]
    }
    for (const others of [
      { de: { failedTitle: 'Eigene' } },
      { de: { failedTitle: 'Eigene', confirmTitle: 'C' } },
    ] as AppTexts['others'][])
      expect([failedOf(others), failedOf(others, ['de-AT'])]).toEqual(Array(2).fill(['Eigene', 'Abbestellen']))
  })

  test('is built in, though its language was saved in another form', () => {
    const stored = { lang: null, own: {}, others: { deu: { askTitle: 'Weg?' } } }
    expect(leadOf(stored, 'de')).toBe('Erfolgreich abbestellt')
    expect(leadOf({ lang: 'deu', own: {}, others: {} }, null)).toBe('Erfolgreich abbestellt')
    expect(leadOf(null, 'de', ['deu'])).toBe('Erfolgreich abbestellt')
  })

  test('is not begun by the texts that every page shares', () => {
    const stored = { lang: null, own: {}, others: { sv: { retryButton: 'Försök igen', askTitle: 'Avsluta {app}?' } } }
    expect(titleOf('sv', 'unsubscribe', stored)).toEqual(['sv', 'Avsluta Acme?'])
    expect(titleOf('sv', 'confirm', stored)).toEqual(['en', 'Confirm your email address'])
  })
})

describe('the footer', () => {
  const linkOf = (stored: AppTexts | null, language: string | null) => {
    const { lang, texts } = findFooterTexts(stored, language)
    return [lang, sayText({ texts }, 'unsubscribe', { app: 'Acme' }), sayText({ texts }, 'reason', { app: 'Acme' })]
  }
  const GERMAN = 'Sie erhalten diese E-Mail, weil Sie Acme nutzen.'
  const ENGLISH = 'You received this email because you use Acme.'

  test('has the language of the email', () => {
    expect(linkOf(null, null)).toEqual([null, 'Unsubscribe', ENGLISH])
    expect(linkOf(null, 'de-AT')).toEqual(['de-AT', 'E-Mails abbestellen', GERMAN])
    expect(linkOf(null, 'sv')).toEqual([null, 'Unsubscribe', ENGLISH])
    expect(linkOf(STORED, 'de-CH')).toEqual(['de-CH', 'Abmelden (CH)', GERMAN])
    expect(linkOf(STORED, 'es')).toEqual(['es', 'Se désabonner', 'Recibe este correo porque utiliza Acme.'])
    expect(linkOf(STORED, 'sv').slice(0, 2)).toEqual(['fr', 'Se désabonner'])
    expect(linkOf(STORED, null)[2]).toBe('Vous recevez cet e-mail parce que vous utilisez Acme.')
  })

  test('keeps what the app wrote, whatever the language, until it translates it', () => {
    const own = { unsubscribe: 'No more' }
    const stored = { lang: null, own, others: {} }
    expect(linkOf(stored, 'en-GB')).toEqual(['en-GB', 'No more', ENGLISH])
    expect(linkOf(stored, 'de')).toEqual(['de', 'No more', GERMAN])
    expect(linkOf({ ...stored, lang: 'en' }, 'de')).toEqual(['de', 'No more', GERMAN])
    expect(linkOf({ ...stored, others: { de: { askTitle: '?' } } }, 'de')).toEqual(['de', 'No more', GERMAN])
    const translated = { ...stored, others: { de: { unsubscribe: 'Weg' } } }
    expect(linkOf(translated, 'de')).toEqual(['de', 'Weg', GERMAN])
    // nothing is built in
    expect(linkOf({ ...stored, others: { sv: { reason: 'Du är här.' } } }, 'sv')).toEqual([
      'sv',
      'Unsubscribe',
      'Du är här.',
    ])
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
  expect(findFooterTexts(stored, 'pt_BR').texts).toMatchObject({ unsubscribe: 'Sair' })
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

  test("shows the app's own texts until they are translated", () => {
    const stored = { lang: null, own: { unsubscribe: 'ACME' }, others: {} }
    expect(writeTexts(stored, 'de')).toMatchObject({ unsubscribe: 'ACME', askButton: 'Abbestellen' })
    expect(writeTexts(stored, 'sv').unsubscribe).toBe('')
    expect(defaultTexts('de', stored.own).unsubscribe).toBe('ACME')
    expect(save(stored, 'de')?.others).toEqual({ de: {} })
    const translated = { de: { unsubscribe: 'E-Mails abbestellen' } }
    expect(save(stored, 'de', translated.de)?.others).toEqual(translated)
    expect(writeTexts({ ...stored, others: translated }, 'de').unsubscribe).toBe('E-Mails abbestellen')
  })

  test("counts what stays in the app's own words, in another language", () => {
    const stored = { lang: null, own: { reason: 'ACME', askTitle: '?' }, others: { de: { askTitle: 'Weg?' } } }
    const counted = (language: string, appLocale: string, texts: AppTexts = stored) =>
      countTexts(texts, language, { hasTopics: false, appLocale }).filter(isMixed).map(describeCount)
    expect(counted('de', 'en')).toEqual([
      'The email footer has 2 of 3 texts; the rest are your own texts under Default.',
    ])
    expect(counted('fr', 'en')[1]).toBe(
      'The unsubscribe page has 12 of 13 texts; the rest are your own texts under Default.',
    )
    expect([counted('de-AT', 'de'), counted('', 'en'), counted('de', 'en', { ...stored, lang: 'de' })]).toEqual([
      [],
      [],
      [],
    ])
    // languages that were added say so themselves
    const facts = { hasTopics: false, appLocale: 'en' }
    expect(listMixed(stored, facts, ['en-GB', 'de-AT', 'fr', 'sv'])).toEqual(['fr'])
    expect(listMixed({ ...stored, own: {} }, facts, ['fr'])).toEqual([])
  })

  test('counts what stays in English', () => {
    const stored = {
      lang: null,
      own: {},
      others: { sv: { askTitle: 'Avsluta?', retryButton: 'Igen' }, de: { askTitle: '?' } },
    }
    const counted = (language: string, hasTopics: boolean, texts: AppTexts = stored) =>
      countTexts(texts, language, { hasTopics, appLocale: 'de' }).map((one) => [
        one.place,
        one.count,
        one.all,
        isMixed(one),
      ])
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
