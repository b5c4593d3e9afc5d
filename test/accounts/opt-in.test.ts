import { describe, expect, test } from 'bun:test'
import {
  DEFAULT_TEXT,
  findRequestLanguage,
  listLanguages,
  listRequestLanguages,
  type OptIn,
  type OptInForm,
  readOptIn,
  readOptInForm,
  removeOptInLanguage,
  textOf,
  versionOf,
  writeOptIn,
  writeRequest,
} from '../../src/accounts/opt-in.ts'

const DEFAULTS = { isOn: true, days: null, storesIp: false, subject: null, body: null, button: null }
const readOwn = (form: OptInForm) => readOptIn(form, { stored: null, language: '' })
const formOf = (changes: Partial<OptInForm> = {}): OptInForm => ({ ...writeOptIn(null), isOn: true, ...changes })

test('what is left as it is, or emptied, stays the default', () => {
  expect(readOwn(formOf())).toEqual({ settings: { optIn: DEFAULTS } })
  expect(readOwn(formOf({ days: '', subject: ' ', body: '\r\n', button: '' }))).toEqual({
    settings: { optIn: DEFAULTS },
  })
  expect(textOf(DEFAULTS)).toEqual(DEFAULT_TEXT)
})

test('own texts are kept, and the form shows them again', () => {
  const own = { days: '3', subject: 'Oui\u202f?', body: 'Hallo\r\nAda', button: 'Bestätigen', storesIp: true }
  const reading = readOwn(formOf(own))
  const optIn = { isOn: true, days: 3, storesIp: true, subject: 'Oui\u202f?', body: 'Hallo\nAda', button: 'Bestätigen' }
  expect(reading).toEqual({ settings: { optIn } })
  const shown: Record<string, unknown> = { ...writeOptIn(optIn), isOn: 'on', storesIp: '' }
  expect(readOptInForm((name) => String(shown[name]))).toEqual({ ...writeOptIn(optIn), storesIp: false })
})

test.each<[field: keyof OptInForm, text: string]>([
  ['days', '0'],
  ['days', '31'],
  ['days', '1.5'],
  ['subject', 'x'.repeat(301)],
  ['subject', 'a\u0000b'],
  ['body', 'x'.repeat(5_001)],
  ['button', 'x'.repeat(61)],
  ['button', 'Go](https://evil.example)'],
])('%s can not be %j', (field, text) => {
  expect(readOwn(formOf({ [field]: text }))).toMatchObject({ errors: [{ field }] })
})

test('each wording has a version, and its button is always in the email', () => {
  const versions = [DEFAULT_TEXT, { ...DEFAULT_TEXT, button: 'Yes' }, { ...DEFAULT_TEXT, body: 'Yes?' }].map(versionOf)
  expect(new Set(versions).size).toBe(3)
  expect(versionOf({ ...DEFAULT_TEXT })).toBe(versions[0] ?? '')
  expect(writeRequest({ subject: 'S', body: 'B', button: 'Yes' })).toEqual({
    subject: 'S',
    body: 'B\n\n[Yes]({{ confirmUrl }})',
    category: 'transactional',
  })
})

describe('in other languages', () => {
  const german = { subject: 'Bitte bestätigen', body: 'Hallo', button: 'Bestätigen' }
  const OWN = { ...DEFAULTS, subject: 'Yes?' }
  const saved = (language: string, changes: Partial<OptInForm>, stored: OptIn = OWN) => {
    const form = { ...writeOptIn(stored, language), isOn: true, ...changes }
    const reading = readOptIn(form, { stored, language })
    if ('errors' in reading) throw new Error(JSON.stringify(reading.errors))
    return reading.settings.optIn
  }
  const both = saved('de', german)

  test('a language changes its text only, and the own text keeps the languages', () => {
    expect(both).toEqual({ ...OWN, others: { de: german } })
    expect(saved('', { subject: 'OK?' }, both)).toEqual({ ...DEFAULTS, subject: 'OK?', others: { de: german } })
    expect(writeOptIn(both, 'de')).toMatchObject(german)
    expect(removeOptInLanguage(both, 'de')).toEqual({ ...OWN, others: {} })
    expect(saved('fr', { subject: 'Oui ?' }).others).toEqual({ fr: { subject: 'Oui ?', body: null, button: null } })
  })

  test("the person's locale chooses it, and the email has that language", () => {
    const languageOf = (locale: unknown) => findRequestLanguage(both, { locale }, [])
    expect(['de-AT', 'de', 'DE_ch', 'fr', 7].map(languageOf)).toEqual(['de', 'de', 'de', null, null])
    expect([textOf(both, 'de').subject, textOf(both).subject]).toEqual(['Bitte bestätigen', 'Yes?'])
    const { variants, ...own } = writeRequest(textOf(both, 'de'), 'de')
    expect(variants).toEqual({ de: { subject: own.subject, body: own.body } })
  })

  test('are built in, as those of the messages, until the app writes its own text', () => {
    const languageOf = (optIn: OptIn, locale: string, mailLanguages = ['de', 'sv']) =>
      findRequestLanguage(optIn, { locale }, mailLanguages)
    expect(['de-AT', 'sv', 'fr'].map((locale) => languageOf(DEFAULTS, locale))).toEqual(['de', null, null])
    expect([languageOf(OWN, 'de'), languageOf(DEFAULTS, 'de', [])]).toEqual([null, null])
    expect([listRequestLanguages(DEFAULTS, ['de', 'sv']), listRequestLanguages(both, ['fr'])]).toEqual([['de'], ['de']])
    const subject = 'Bestätigen Sie Ihre E-Mail-Adresse für {{ app.name }}'
    expect([textOf(DEFAULTS, 'de'), textOf(DEFAULTS, null, 'de-CH')]).toMatchObject([{ subject }, { subject }])
    expect(textOf({ ...DEFAULTS, others: { de: { ...german, body: null } } }, 'de').body).toContain('Jemand hat')
    expect(writeOptIn(null, 'de').subject).toBe(subject)
    const reading = readOptIn(
      { ...writeOptIn(null, '', 'de'), isOn: true },
      { stored: null, language: '', ownLang: 'de' },
    )
    expect(reading).toEqual({ settings: { optIn: DEFAULTS } })
  })

  test('are found, changed and removed if they were saved in another form', () => {
    const asked = { subject: 'Confirme', body: null, button: null }
    const stored = { ...OWN, others: { 'PT-br': asked } }
    expect(listLanguages(stored)).toEqual(['pt-BR'])
    expect(textOf(stored, findRequestLanguage(stored, { locale: 'pt_BR' }, [])).subject).toBe('Confirme')
    expect(writeOptIn(stored, 'pt-BR').subject).toBe('Confirme')
    const others = { 'pt-BR': { ...asked, subject: 'Sim?' } }
    expect(saved('pt-BR', { subject: 'Sim?' }, stored)).toEqual({ ...OWN, others })
    expect(removeOptInLanguage(stored, 'pt-BR').others).toEqual({})
  })

  test('of up to 20', () => {
    const others = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`a${index}`, german]))
    expect(readOptIn(formOf(german), { stored: { ...OWN, others }, language: 'de' })).toMatchObject({
      errors: [{ field: 'subject' }],
    })
  })
})
