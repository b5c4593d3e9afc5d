import { describe, expect, test } from 'bun:test'
import { publicId } from '../../../src/core/ids.ts'
import { COMPARISONS } from '../../../src/messages/messages.ts'
import { RULE_KINDS } from '../../../src/dashboard/messages/message-rule-form.ts'
import { useEditing } from './editing.ts'
import { putMessage, sendDue, sendEvent } from './mailing.ts'
import { openWorld } from '../../fuzz/world.ts'
import { attributesOf, textOf } from '../pages.ts'

const editing = useEditing()

const WRONG: Record<string, string>[] = [
  { name: '', 'mail.subject': '', 'mail.body': '' },
  { trigger: 'event', 'trigger.event': 'not a name' },
  { trigger: 'event', 'trigger.where[0].property': '', 'trigger.where[0].is': 'equal' },
  ...COMPARISONS.map((is) => ({
    'trigger.where[0].property': 'x',
    'trigger.where[0].is': is,
    'trigger.where[0].to': '',
  })),
  { trigger: 'tag', 'trigger.tag': '' },
  { trigger: 'page', 'trigger.page': 'no path' },
  { trigger: 'contact', 'trigger.where[0].property': 'x' },
  { trigger: 'nothing' },
  { wait: 'minutes', 'wait.minutes': '-1' },
  { wait: 'until', 'wait.until': '25:61' },
  { again: 'everyHours', 'again.everyHours': '0' },
  { again: 'property', 'again.property': '' },
  { 'mail.fromEmail': 'x', 'mail.replyTo': 'x', 'mail.fromName': 'x'.repeat(300), 'mail.category': 'x' },
  { 'mail.subject': '{% if %}', 'mail.body': '{{ nobody.knows }}', 'mail.preheader': '{{' },
  { ifUnconfirmed: 'x' },
  ...[...Object.keys(RULE_KINDS), 'constructor'].map((rule) => ({ 'onlyIf[0].rule': rule, 'onlyIf[0].minutes': 'x' })),
  { 'onlyIf[0].rule': 'done', 'onlyIf[0].event': 'x', 'onlyIf[0].since': 'days', 'onlyIf[0].since.days': 'x' },
  { 'onlyIf[0].rule': 'field', 'onlyIf[0].field': 'x', 'onlyIf[0].is': 'x' },
  { 'onlyIf[0].rule': 'away', 'onlyIf[0].at': 'x', 'onlyIf[0].quietMinutes': '-1', 'onlyIf[0].ifUnknown': 'x' },
]

describe('the list of problems', () => {
  test('links to fields on the page', async () => {
    const dead: string[] = []
    let links = 0
    for (const changes of WRONG) {
      const { html } = await editing.press(editing.path, 'live', changes)
      const ids = new Set(await attributesOf(html, '[id]', 'id'))
      for (const href of await attributesOf(html, '.problems a', 'href')) {
        links += 1
        const isThere = href?.startsWith('#')
          ? ids.has(decodeURIComponent(href.slice(1)))
          : href === editing.at('sender')
        if (!isThere) dead.push(`${JSON.stringify(changes)}: ${href}`)
      }
    }
    expect(dead).toEqual([])
    expect(links).toBeGreaterThan(30)
  })

  test('links to Sender if there is no sender', async () => {
    const world = await openWorld({ mail: { defaults: { smtpUrl: null, from: null } } })
    const app = `/apps/${world.server.first.appId}`
    const list = await (await world.browse('owner', `${app}/messages`)).text()
    const message = (await attributesOf(list, 'a[href*="/messages/msg_"]', 'href'))[0]
    const html = await (await world.browse('owner', String(message))).text()
    const found = await textOf(html, '#checklist .wrong a')
    const index = found.indexOf('Open Sender')
    expect(index).toBeGreaterThanOrEqual(0)
    expect((await attributesOf(html, '#checklist .wrong a', 'href'))[index]).toBe(`${app}/sender`)
    await world.close()
  })
})

test('a message, its versions, deliveries and events have their own tab titles', async () => {
  const id = await putMessage(editing, { app: editing.app, name: 'Your results' })
  for (const email of ['bob@example.com', 'eve@example.com']) await sendEvent(editing, { app: editing.app, email })
  await sendDue(editing)
  const list = await editing.browser.get(editing.at('deliveries'))
  const deliveries = await attributesOf(list.html, '.feed a[href*="/deliveries/dlv_"]', 'href')
  const events = await attributesOf((await editing.browser.get(editing.at('events'))).html, '.feed a.what', 'href')
  const message = editing.at(`messages/${publicId('msg', id)}`)
  const pages = [message, `${message}/versions`, ...new Set(deliveries), editing.at('deliveries'), String(events[0])]
  expect(pages).toHaveLength(6)
  const titles: string[] = []
  for (const page of pages) titles.push(...(await textOf((await editing.browser.get(String(page))).html, 'title')))
  expect(new Set(titles).size).toBe(6)
  expect(titles.filter((title) => title.startsWith('Your results: email to '))).toHaveLength(2)
})
