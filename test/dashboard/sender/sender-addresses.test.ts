import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { senderRecord } from '../../../src/accounts/senders.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { fieldsOf } from '../messages/editing.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

const FROM = 'Demo <post@ours.example>'

let pages: AccountPages
let browser: Browser
let app: AppRow
let records: Map<string, string[]>
let asked: string[]
beforeEach(async () => {
  records = new Map()
  asked = []
  const mail = {
    defaults: { smtpUrl: 'smtp://127.0.0.1:9', from: FROM },
    resolveTxt: async (name: string) => (asked.push(name), records.get(name) ?? []),
  }
  pages = await openAccount({ mail })
  browser = await pages.signedIn()
  app = await appOf(pages)
})
afterEach(() => pages.close())

const save = (fields: Record<string, string>) => browser.submit(pages.at('sender'), pages.at('sender'), fields)
const settings = () => pages.store.mailSettings(app.id)
const see = async (page = 'sender') => (await browser.get(pages.at(page))).html

/** Fills in and saves a new message. */
async function write(fields: Record<string, string>, as = browser) {
  const { html } = await as.get(pages.at('messages/new'))
  const given = { name: 'Mine', 'trigger.event': 'x', 'mail.subject': 'S', 'mail.body': 'B', ...fields }
  return as.post(pages.at('messages/new'), { ...(await fieldsOf(html)), ...given, do: 'save' })
}

describe('the addresses of an app', () => {
  test('are saved one per line, once each, without the default', async () => {
    const others = ' News@x.example \n\nhello@x.example\nnews@x.example\nbilling@x.example'
    await save({ fromEmail: 'hello@x.example', otherFromEmails: others })
    expect(await settings()).toMatchObject({
      fromEmail: 'hello@x.example',
      otherFromEmails: ['news@x.example', 'billing@x.example'],
    })
    const html = await see()
    expect(await textOf(html, '#otherFromEmails')).toEqual(['news@x.example\nbilling@x.example'])
  })

  test('that are invalid are refused by line, without saving', async () => {
    const { status, html } = await save({ otherFromEmails: `a@x.example\n${HOSTILE}` })
    expect([status, await textOf(html, '.field.wrong .fault')]).toEqual([
      400,
      [expect.stringContaining('Line 2 is not a complete email address.')],
    ])
    await expectHarmless(html)
    expect((await settings()).otherFromEmails).toBe(null)
  })

  test('say to use only ASCII characters before the @', async () => {
    const { html } = await save({ fromEmail: 'zoë@x.example', otherFromEmails: 'a@x.example\nzoë@x.example' })
    expect(await textOf(html, '.field.wrong .fault')).toEqual([
      'Error: Use only ASCII characters before the @, such as letters without accents.',
      'Error: Line 2: Use only ASCII characters before the @, such as letters without accents.',
    ])
  })

  test('are not removed while a message uses one', async () => {
    await save({ otherFromEmails: 'news@x.example' })
    expect((await write({ 'mail.fromEmail': 'news@x.example' })).status).toBe(303)
    const { status, html } = await save({ otherFromEmails: '' })
    expect([status, await textOf(html, '.field.wrong .fault')]).toEqual([
      409,
      [expect.stringContaining('The message "Mine" uses news@x.example.')],
    ])
    expect((await settings()).otherFromEmails).toEqual(['news@x.example'])
  })
})

describe('a message', () => {
  test('chooses among them', async () => {
    await save({ fromEmail: 'hello@x.example', otherFromEmails: 'news@x.example' })
    const { html } = await browser.get(pages.at('messages/new'))
    expect(await attributesOf(html, 'select[name="mail.fromEmail"] option', 'value')).toEqual([
      '',
      'hello@x.example',
      'news@x.example',
      'post@ours.example',
    ])
    expect((await textOf(html, 'select[name="mail.fromEmail"] option'))[0]).toBe('Default (hello@x.example)')
  })

  test('of an editor cannot add one by any action', async () => {
    await pages.addMember('editor@example.com', 'editor')
    const editor = await pages.signedIn('editor@example.com')
    const { status, html } = await write({ 'mail.fromEmail': 'ceo@bank.example' }, editor)
    expect([status, await textOf(html, '.field.wrong .fault')]).toEqual([
      400,
      [expect.stringContaining("This is not one of the app's sender addresses. Choose one of post@ours.example")],
    ])
    expect((await pages.store.listMessages(app.id)).map(({ name }) => name)).not.toContain('Mine')
    const form = { ...(await fieldsOf(html)), 'mail.fromEmail': 'ceo@bank.example', to: 'editor@example.com' }
    const tested = await editor.post(pages.at('messages/new'), { ...form, do: 'test' })
    expect((await textOf(tested.html, '#test .notice'))[0]).toContain("This is not one of the app's sender addresses.")
    expect((await editor.post(pages.at('sender'), { otherFromEmails: 'ceo@bank.example' })).status).toBe(403)
  })
})

describe('domains', () => {
  test('need no verification with one account', async () => {
    await save({ fromEmail: 'hello@x.example' })
    expect(await textOf(await see('sender/domain'), '#domains h2')).toEqual([])
  })

  test('show the record to add with several accounts, and are verified by it', async () => {
    await pages.addAccount('eve@example.com', 'Other')
    await save({ fromEmail: 'hello@x.example' })
    const record = senderRecord('x.example', app.accountId)
    const html = await see('sender/domain')
    expect(await textOf(html, '#domains .badge')).toEqual(['Not verified'])
    expect(html).toContain(record.name)
    expect(html).toContain(record.value)
    for (const page of ['messages', 'deliveries', 'sender']) {
      const problems = await textOf((await browser.get(pages.at(page))).html, '.notice.problem')
      expect(problems.join()).toContain('Emails from x.example wait until this account verifies the domain.')
    }
    // viewing the page queries no DNS
    expect(asked).toEqual([])
    const missing = await browser.post(pages.at('sender/domains'))
    expect((await textOf(missing.html, '#domains .notice'))[0]).toContain("Some records weren't found.")
    records.set(record.name, [record.value])
    const found = await browser.post(pages.at('sender/domains'))
    expect(await textOf(found.html, '#domains .badge')).toEqual(['Verified'])
    expect(found.html).not.toContain(record.value)
  })

  test('are checked by owners and editors, within a limit', async () => {
    await pages.addAccount('eve@example.com', 'Other')
    await save({ fromEmail: 'hello@x.example' })
    await pages.addMember('viewer@example.com', 'viewer')
    expect((await (await pages.signedIn('viewer@example.com')).post(pages.at('sender/domains'))).status).toBe(403)
    for (let time = 0; time < 20; time++) expect((await browser.post(pages.at('sender/domains'))).status).toBe(200)
    expect((await browser.post(pages.at('sender/domains'))).status).toBe(429)
    expect((await (await pages.signedIn('eve@example.com')).post(pages.at('sender/domains'))).status).toBe(404)
  })

  test('that are not verified block going live until the record exists', async () => {
    await pages.addAccount('eve@example.com', 'Other')
    await save({ fromEmail: 'hello@x.example' })
    const { location } = await write({})
    const turnOn = async () => {
      const { html } = await browser.get(location ?? '')
      return browser.post(location ?? '', { ...(await fieldsOf(html)), do: 'live' })
    }
    const statusOf = async () => (await pages.store.findMessageByName(app.id, 'Mine'))?.status
    const refused = await turnOn()
    expect([refused.status, await statusOf()]).toEqual([400, 'draft'])
    expect((await textOf(refused.html, '[id="mail.fromEmail-fault"]'))[0]).toContain('x.example is not verified')
    const record = senderRecord('x.example', app.accountId)
    records.set(record.name, [record.value])
    pages.clock.ms += 30_000
    expect([(await turnOn()).status, await statusOf()]).toEqual([303, 'live'])
  })
})
