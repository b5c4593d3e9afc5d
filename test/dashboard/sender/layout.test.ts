import { afterEach, beforeEach, expect, test } from 'bun:test'
import { writeDefaultLayout } from '../../../src/mail/layout.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { attributesOf, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
})
afterEach(() => pages.close())

const PATH = () => pages.at('sender/layout')
const OWN = '<main>{{ content }}</main>\n{% if unsubscribeUrl %}<a href="{{ unsubscribeUrl }}">Stop</a>{% endif %}'
const save = (fields: Record<string, string>) => browser.submit(PATH(), PATH(), fields)
const layout = async () => (await pages.store.mailSettings((await appOf(pages)).id)).layout
const typed = async (html: string) => (await textOf(html, '#layout'))[0]
const sampleOf = async (html: string) => {
  const [src] = await attributesOf(html, 'aside iframe', 'src')
  return (await browser.get(src ?? '')).html
}

test('a layout is previewed, saved, used by emails and reset', async () => {
  const before = await browser.get(PATH())
  expect(await textOf(before.html, '.page-head .lead')).toEqual([
    'Emails use the default layout. Change it, or paste your own.',
  ])
  const preview = await save({ layout: OWN.replaceAll('\n', '\r\n'), do: 'preview' })
  expect([preview.status, await layout()]).toEqual([200, null])
  expect(await sampleOf(preview.html)).toContain('</style><main>')
  expect((await save({ layout: OWN })).location).toBe(PATH())
  expect(await layout()).toBe(OWN)
  const { html } = await browser.get(PATH())
  expect(await textOf(html, '.page-head .lead')).toEqual(['Emails use your own layout.'])
  expect((await browser.get(pages.at('sender/sample'))).html).toContain('</style><main>')
  expect((await save({ layout: 'anything', do: 'reset' })).location).toBe(PATH())
  expect(await layout()).toBe(null)
  await save({ layout: writeDefaultLayout() })
  expect(await layout()).toBe(null)
  expect((await browser.get(pages.at('audit'))).html).toContain('Layout')
})

test('a layout that no email can use is refused and kept in the form', async () => {
  const broken = OWN.replace('{{ content }}', '</textarea><b>')
  const { status, html } = await browser.post(PATH(), { layout: broken })
  expect([status, await typed(html), await layout()]).toEqual([400, `\n${broken}`, null])
  expect(await textOf(html, '.fault')).toEqual(['Error: Add {{ content }} where the text of the email goes.'])
  const long = await browser.post(PATH(), { layout: 'x'.repeat(50_001) })
  expect(await textOf(long.html, '.fault')).toEqual(['Error: Enter up to 50,000 characters.'])
})
