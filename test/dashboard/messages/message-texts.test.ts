/** HTML of an author's own, and texts in other languages, in the editor. */
import { expect, test } from 'bun:test'
import { attributesOf, textOf } from '../pages.ts'
import { fieldsOf, useEditing } from './editing.ts'

const pages = useEditing()
const mailOf = async () => (await pages.draft()).content.mail
const STOP = '<a href="{{ unsubscribeUrl }}">Stop</a>'

/** The drafts collect events, which the text must list. */
const ALONE = { 'again.collect.minutes': '' }

const previewOf = async (html: string) => {
  const [src] = await attributesOf(html, '#preview iframe', 'src')
  return (await pages.browser.get(src ?? '')).html
}

test('HTML replaces the text and the layout, and needs an unsubscribe link', async () => {
  await pages.event({ properties: { headline: 'Ready', url: 'https://first.example/1' } })
  const html = '<html>\n<body><b>{{ event.headline }}</b></body>\n</html>'
  const changes = { ...ALONE, 'mail.html': html, 'mail.body': '', 'mail.preheader': '' }
  const refused = await pages.press(pages.path, 'live', changes)
  expect(refused.status).toBe(400)
  expect(await textOf(refused.html, '#checks .problems')).toEqual([
    expect.stringContaining('HTML: Template error: lifecycle emails need an unsubscribe link'),
  ])
  const own = html.replace('</b>', `</b>${STOP}`)
  const saved = await pages.press(pages.path, 'live', { ...changes, 'mail.html': own.replaceAll('\n', '\r\n') })
  expect([saved.status, await mailOf()]).toEqual([303, expect.objectContaining({ html: own, body: '' })])
  const page = (await pages.browser.get(pages.path)).html
  expect(await previewOf(page)).toContain('<body><b>Ready</b><a href=')
  expect(await textOf(page, '[data-mail-part=text]')).toEqual([expect.stringMatching(/^ReadyStop \(http/)])
})

test('an email that Gmail cuts off is warned about', async () => {
  const html = `<p>${'long '.repeat(19_900)}</p><p>{{ event.headline }}</p>${STOP}`
  await pages.event({ properties: { headline: 'x'.repeat(1_900) } })
  const { html: page } = await pages.press(pages.path, 'preview', { ...ALONE, 'mail.html': html })
  expect(await textOf(page, '#checks .caution .problems')).toEqual([])
  const long = { ...ALONE, 'mail.html': `${html}${'{{ event.headline }}'.repeat(5)}` }
  const warned = async (changes: Record<string, string>) =>
    textOf((await pages.press(pages.path, 'preview', { ...long, ...changes })).html, '#checks .caution .problems')
  expect(await warned({})).toEqual([
    expect.stringMatching(
      /^HTML: The email is 10\d KB\. Gmail cuts off emails after 102 KB, which can hide the unsubscribe link\.$/,
    ),
  ])
  expect(await warned({ 'mail.category': 'transactional' })).toEqual([
    expect.stringMatching(/^HTML: The email is 10\d KB\. Gmail cuts off emails after 102 KB\.$/),
  ])
})

test('a language begins with the text of the message, is checked and previewed, and can be removed', async () => {
  await pages.event({ properties: { headline: 'Ready' } })
  const wrong = await pages.press(pages.path, 'add mail.variants', { newVariant: 'deutsch' })
  expect(await textOf(wrong.html, '#languages .fault')).toEqual(['Error: Enter another language, such as de or de-CH.'])
  const added = await pages.press(pages.path, 'add mail.variants', { ...ALONE, newVariant: 'DE' })
  expect(await textOf(added.html, '#languages summary')).toEqual(['Other languages', 'German (de)'])
  expect(await attributesOf(added.html, '#languages .fold[open] [autofocus]', 'name')).toEqual([
    'mail.variants.de.subject',
  ])
  const isSaved = async (html: string) => (await textOf(html, '#unsaved[hidden]')).length === 1
  expect([await isSaved(added.html), await isSaved((await pages.browser.get(pages.path)).html)]).toEqual([false, true])
  const fields = await fieldsOf(added.html)
  expect([fields['mail.variants.de.subject'], fields.newVariant]).toEqual([fields['mail.subject'] ?? '', ''])
  const german = { 'mail.variants.de.subject': 'Fertig', 'mail.variants.de.body': 'Hallo {{ event.name }}' }
  const refused = await pages.browser.post(pages.path, { ...fields, ...german, do: 'live' })
  expect(await textOf(refused.html, '#checks .problems li a')).toEqual([
    'Text in German (de): event.name is missing in the only event so far. Add a fallback: {{ event.name | default: "..." }}.',
  ])
  const own = { ...fields, ...german, 'mail.variants.de.body': 'Hallo' }
  expect((await pages.browser.post(pages.path, { ...own, do: 'save' })).status).toBe(303)
  expect((await mailOf()).variants).toEqual({
    de: { subject: 'Fertig', preheader: fields['mail.preheader'] ?? '', body: 'Hallo' },
  })
  const shown = await pages.press(pages.path, 'preview', { language: 'de' })
  expect(await textOf(shown.html, '[data-mail-part=subject]')).toEqual(['Fertig'])
  expect(await previewOf(shown.html)).toContain('<html lang="de" dir="ltr">')
  const other = await pages.press(pages.path, 'preview', { language: '' })
  expect(await textOf(other.html, '[data-mail-part=subject]')).toEqual(['Ready'])
  const removed = await pages.press(pages.path, 'remove mail.variants de')
  expect(await textOf(removed.html, '#languages details')).toEqual([])
})

test('a language with extensions is refused; one that is stored can be removed', async () => {
  const wrong = await pages.press(pages.path, 'add mail.variants', { ...ALONE, newVariant: 'en-x-foo' })
  expect(await textOf(wrong.html, '#languages .fault')).toEqual([
    'Error: Enter another language, such as de or de-CH. Leave out extensions such as -u- and -x-.',
  ])
  const stored = { 'mail.variants.en-x-foo.subject': 'Ready', 'mail.variants.en-x-foo.body': 'Ready' }
  const shown = await pages.press(pages.path, 'preview', { ...ALONE, ...stored })
  expect(await textOf(shown.html, '#languages summary')).toEqual(['Other languages', 'en-x-foo'])
  const removed = await pages.press(pages.path, 'remove mail.variants en-x-foo', { ...ALONE, ...stored })
  expect([removed.status, await textOf(removed.html, '#languages details')]).toEqual([200, []])
})
