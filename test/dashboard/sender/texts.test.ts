import { afterEach, beforeEach, expect, test } from 'bun:test'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { MAIL, putMessage } from '../messages/mailing.ts'
import { attributesOf, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
})
afterEach(() => pages.close())

const PATH = () => pages.at('sender/texts')
const texts = async () => (await pages.store.mailSettings((await appOf(pages)).id)).texts
const save = (fields: Record<string, string>, query = '') => browser.submit(PATH() + query, PATH(), fields)

test('texts are saved by language, and the defaults are not stored', async () => {
  const { html } = await browser.get(PATH())
  expect(await attributesOf(html, '#reason, #unsubscribe', 'value')).toEqual([
    'You received this email because you use {app}.',
    'Unsubscribe',
  ])
  expect((await save({ lang: 'de', unsubscribe: 'Abmelden', reason: ' ' })).location).toBe(PATH())
  expect(await texts()).toEqual({ lang: 'de', own: { unsubscribe: 'Abmelden' }, others: {} })
  expect((await save({ unsubscribe: 'Se désinscrire' }, '?language=fr')).location).toBe(`${PATH()}?language=fr`)
  const french = { fr: { unsubscribe: 'Se désinscrire' } }
  expect(await texts()).toEqual({ lang: 'de', own: { unsubscribe: 'Abmelden' }, others: french })
  const sample = (await browser.get(pages.at('sender/sample'))).html
  expect(sample).toContain('<html lang="de" dir="ltr">')
  expect(sample).toContain('>Abmelden</a>')
  const opened = (await browser.get(`${PATH()}?language=fr`)).html
  expect(await attributesOf(opened, '#unsubscribe', 'lang')).toEqual(['fr'])
  expect(await attributesOf(opened, '#unsubscribe, #reason', 'value')).toEqual([
    'Vous recevez cet e-mail parce que vous utilisez {app}.',
    'Se désinscrire',
  ])
  expect(await textOf(opened, '[for=unsubscribe], [for=reason]')).toEqual([
    'Why people get the email',
    'Unsubscribe link',
  ])
  expect(await textOf(opened, 'main p.hint')).toContain('The default texts are in French (fr). Change what you like.')
  await save({ do: 'remove' }, '?language=fr')
  expect((await texts())?.others).toEqual({})
})

const SAVED = 'Done: The texts were saved. They apply to pages now, and to emails from the next email on.'

test('a language without built-in texts says which pages mix it with English', async () => {
  const swedish = `${PATH()}?language=sv`
  const hintsOf = async (html: string) => (await textOf(html, 'main p.hint')).filter((text) => /English/.test(text))
  expect(await hintsOf((await browser.get(swedish)).html)).toEqual([
    'No texts are in Swedish (sv) yet. Empty texts stay in English.',
  ])
  const { location } = await save({ unsubscribe: 'Avsluta', askTitle: 'Avsluta {app}?' }, '?language=sv')
  const { html } = await browser.get(location ?? '')
  const counts = [
    'The email footer has 1 of 3 texts; the rest are in English.',
    'The unsubscribe page has 1 of 13 texts; the rest are in English.',
  ]
  expect(await textOf(html, '[role=status]')).toEqual([SAVED])
  expect(await hintsOf(html)).toEqual(counts)
  expect(await textOf(html, '[for=unsubscribe], [for=reason]')).toEqual([
    'Why people get the email (not translated)',
    'Unsubscribe link',
  ])
  await save(
    { reason: 'Du är här.', consentReason: 'Du är här.', unsubscribe: 'Avsluta', askTitle: '' },
    '?language=sv',
  )
  expect(await textOf((await browser.get(swedish)).html, '[role=status]')).toEqual([SAVED])
})

test("the app's own texts stay in built-in languages until they are translated", async () => {
  const variants = { de: { subject: 'Fertig', body: 'Hallo' } }
  const content = { ...MAIL, mail: { ...MAIL.mail, variants } }
  await putMessage(pages, { app: await appOf(pages), content })
  const hintsOf = async (query = '') =>
    (await textOf((await browser.get(PATH() + query)).html, 'main p.hint')).filter((text) => /own text/.test(text))
  expect(await hintsOf()).toEqual([])
  await save({ reason: 'ACME GmbH, HRB 1' })
  expect(await hintsOf()).toEqual([
    'Your own texts are also used in German (de), alongside the built-in ones. Open a language to translate your texts.',
  ])
  const german = '?language=de'
  expect(await attributesOf((await browser.get(PATH() + german)).html, '#reason, #unsubscribe', 'value')).toEqual([
    'ACME GmbH, HRB 1',
    'E-Mails abbestellen',
  ])
  const mixed = 'The email footer has 2 of 3 texts; the rest are your own texts under Default.'
  expect(await hintsOf(german)).toEqual([mixed])
  const { location } = await save({ askButton: 'Weg' }, german)
  const { html } = await browser.get(location ?? '')
  expect(await textOf(html, '[role=status]')).toEqual([SAVED])
  expect(html.split(mixed)).toHaveLength(2)
  await save({ reason: 'Von der ACME GmbH, HRB 1' }, german)
  expect(await hintsOf(german)).toEqual([])
  expect(await hintsOf()).toEqual([])
})

test('a language has one entry, in whatever form it is typed', async () => {
  await save({ unsubscribe: 'Abmelden' }, '?language=DE')
  expect((await save({ unsubscribe: 'Sair' }, '?language=pt-br')).location).toBe(`${PATH()}?language=pt-BR`)
  await save({ unsubscribe: 'Abbestellen' }, '?language=de')
  expect((await texts())?.others).toEqual({ de: { unsubscribe: 'Abbestellen' }, 'pt-BR': { unsubscribe: 'Sair' } })
})

test('what is no language or too long is refused', async () => {
  const unknown = await browser.get(`${PATH()}?language=klingon`)
  expect(await textOf(unknown.html, '.fault')).toEqual(['Error: Enter a language, such as de or pt-BR.'])
  const wrong = { lang: 'german', reason: 'x'.repeat(301), topicLead: '{event}' }
  const { status, html } = await browser.post(PATH(), wrong)
  expect([status, await attributesOf(html, '[aria-invalid]', 'name')]).toEqual([400, ['lang', 'reason', 'topicLead']])
  // what is wrong is not folded away
  expect(await textOf(html, 'details[open] h2')).toEqual(['Unsubscribe page for a topic'])
  expect(await texts()).toBe(null)
})

test('a language with extensions is refused; one that is stored is shown and can be removed', async () => {
  const asked = await browser.get(`${PATH()}?language=en-x-foo`)
  expect([asked.status, await textOf(asked.html, '.fault')]).toEqual([
    200,
    ['Error: Enter a language, such as de or pt-BR. Leave out extensions such as -u- and -x-.'],
  ])
  expect(await textOf((await browser.post(PATH(), { lang: 'en-u-ca-buddhist' })).html, '#lang-fault')).toEqual([
    'Error: Enter a language, such as en or de-CH. Leave out extensions such as -u- and -x-.',
  ])
  const { id: appId, accountId } = await appOf(pages)
  const others = { 'en-x-foo': { unsubscribe: 'Stop' }, 'EN-u-ca-buddhist': {}, de: {} }
  const stored = { lang: 'en-x-foo', own: {}, others }
  await pages.store.setMailSettings({
    accountId,
    appId,
    actor: 'test',
    at: pages.clock.now(),
    settings: { texts: stored },
  })
  for (const language of ['', ...Object.keys(others)]) {
    const { status, html } = await browser.get(`${PATH()}?${new URLSearchParams({ language })}`)
    expect([status, await textOf(html, 'nav.choices a')]).toEqual([
      200,
      ['Default', 'en-x-foo', 'EN-u-ca-buddhist', 'German (de)'],
    ])
    expect(await textOf(html, 'nav.choices [aria-current]')).toEqual([
      language === '' ? 'Default' : language === 'de' ? 'German (de)' : language,
    ])
  }
  for (const language of ['en-x-foo', 'EN-u-ca-buddhist']) await save({ do: 'remove' }, `?language=${language}`)
  expect((await texts())?.others).toEqual({ de: {} })
})
