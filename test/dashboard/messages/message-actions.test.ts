import { describe, expect, spyOn, test } from 'bun:test'
import { nameCopy } from '../../../src/dashboard/messages/message-form.ts'
import { saysSame, writeFields } from '../../../src/dashboard/messages/message-form.ts'
import { fieldsOf, useEditing } from './editing.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

const pages = useEditing()

const summariesOf = async (html: string) => (await textOf(html, '.sentence > .part > summary')).slice(0, 2)
/** As Audit says it. */
const newestChange = async () =>
  (await textOf((await pages.browser.get(pages.at('audit'))).html, 'tbody td:nth-child(3)'))[0]
const faultsOf = (html: string) => textOf(html, '.field .fault, .rule > .fault')

describe('saving', () => {
  test('creates a draft and leads to its page', async () => {
    const { html } = await pages.browser.get(pages.at('messages/new'))
    await expectHarmless(html)
    const fields = { name: 'Paid', 'trigger.event': 'paid', 'mail.subject': 'Thanks', 'mail.body': 'Hello' }
    const { status, location } = await pages.press(pages.at('messages/new'), 'save', fields)
    const made = (await pages.messages()).at(-1)
    expect([status, location]).toEqual([303, pages.pathOf(made?.id ?? 0)])
    expect(made).toMatchObject({
      name: 'Paid',
      status: 'draft',
      version: 1,
      content: { trigger: { event: 'paid' }, again: { once: 'person' }, mail: { subject: 'Thanks', body: 'Hello' } },
    })
    const seen = await pages.browser.get(location ?? '')
    expect(await textOf(seen.html, '[role=status]:first-of-type .notice.done')).toEqual([
      'Done: The message was saved.',
    ])
  })

  test('does not change an unchanged message', async () => {
    const before = await pages.draft()
    expect((await pages.press(pages.path, 'save')).status).toBe(303)
    expect(await pages.draft()).toEqual(before)
  })

  test('a live message creates a version', async () => {
    await pages.press(pages.path, 'live')
    await pages.press(pages.path, 'save', { 'mail.subject': 'Changed' })
    const saved = await textOf((await pages.browser.get(pages.path)).html, '.notice.done')
    expect(saved).toEqual(['Done: The message was saved. New triggers use this version; waiting emails keep theirs.'])
    const { version, status, content } = await pages.draft()
    expect([version, status, content.mail.subject]).toEqual([2, 'live', 'Changed'])
    const { html } = await pages.browser.get(`${pages.path}/versions`)
    expect(await textOf(html, 'h2')).toEqual(['Changes in version 2', 'Versions'])
    expect(await textOf(html, '.diff .added')).toEqual(['+Added: Subject: Changed'])
    const first = await pages.browser.get(`${pages.path}/versions?version=1`)
    expect(await textOf(first.html, 'section h2')).toEqual([
      'Version 1',
      'What restoring version 1 changes',
      'Versions',
    ])
    expect(await textOf(first.html, '[aria-label="Restoring version 1"] .removed')).toEqual([
      '-Removed: Subject: Changed',
    ])
    expect(await textOf(html, '.page-head .badge')).toEqual(['Live'])
    await pages.press(pages.path, 'restore 1')
    const restored = await pages.browser.get(pages.path)
    expect(await textOf(restored.html, '.notice.done')).toEqual(['Done: Version 1 was restored as version 3.'])
    expect(await newestChange()).toBe('restored version 1 of the message “Results ready, they left”')
    await pages.press(pages.path, 'restore 1')
    const same = await pages.browser.get(pages.path)
    expect(await textOf(same.html, '.notice.done')).toEqual([
      'Done: Version 1 is the same as the current version. Nothing changed.',
    ])
    expect((await pages.draft()).version).toBe(3)
    const second = await pages.browser.get(`${pages.path}/versions?version=1`)
    expect((await textOf(second.html, 'section > p')).join(' ')).toContain('Nothing. The current version is the same.')
    expect((await pages.browser.get(`${pages.path}/versions?version=4`)).status).toBe(404)
  })

  test('offers to move waiting emails, which keep their version by default', async () => {
    await pages.press(pages.path, 'live', { wait: 'minutes', 'wait.minutes': '30' })
    const offered = async () => textOf((await pages.browser.get(pages.path)).html, '.page-head label')
    expect(await offered()).toEqual([])
    await pages.event()
    expect(await offered()).toEqual(['Also use this version for the waiting email'])
    const versions = async () => {
      const query = { appId: pages.app.id, messageId: null, contactId: null, states: null, before: null, limit: 10 }
      return (await pages.store.listDeliveries(query)).map(({ version }) => version)
    }
    await pages.press(pages.path, 'save', { 'mail.subject': 'Two' })
    expect(await versions()).toEqual([1])
    await pages.press(pages.path, 'save', { 'mail.subject': 'Three', moveWaiting: 'on' })
    expect(await versions()).toEqual([3])
    const { html } = await pages.browser.get(pages.path)
    expect(await textOf(html, '.notice.done')).toEqual([
      'Done: The message was saved. Waiting emails use this version too, and keep their due times.',
    ])
    const other = { 'trigger.event': 'another', moveWaiting: 'on' }
    const refused = await pages.press(pages.path, 'save', other)
    expect([refused.status, (await textOf(refused.html, '[role=alert]'))[0]]).toEqual([
      400,
      expect.stringContaining("Waiting emails can't use a version with a different trigger."),
    ])
    expect(await attributesOf(refused.html, '[name=moveWaiting]', 'checked')).toHaveLength(1)
    const audit = await pages.store.listAudit({
      accountId: pages.app.accountId,
      kind: 'changes',
      before: null,
      limit: 1,
    })
    expect(audit).toMatchObject([{ action: 'message.move_waiting' }])
  })

  test('refuses a duplicate name next to the field', async () => {
    const { status, html } = await pages.press(pages.path, 'save', { name: 'Results not opened yet' })
    expect(status).toBe(409)
    expect(await textOf(html, '#name-fault')).toEqual([expect.stringContaining('already has a message with this name')])
  })

  test('after a concurrent save, keeps the input and overwrites when repeated', async () => {
    const { html } = await pages.browser.get(pages.path)
    const fields = await fieldsOf(html)
    pages.clock.ms += 1_000
    await pages.press(pages.path, 'save', { 'mail.subject': 'Theirs' })
    const refused = await pages.browser.post(pages.path, { ...fields, 'mail.subject': 'Mine', do: 'save' })
    expect([refused.status, (await textOf(refused.html, '[role=alert] p'))[0]]).toEqual([
      409,
      'You saved this message in another tab just now. Your changes here are not saved yet.',
    ])
    expect(await textOf(refused.html, '[role=alert] li')).toEqual([
      '-Removed: Subject: Theirs',
      '+Added: Subject: Mine',
    ])
    expect(await attributesOf(refused.html, '[role=alert] a', 'href')).toEqual([
      `${pages.path}/versions?version=1`,
      pages.path,
    ])
    expect(await attributesOf(refused.html, '[role=alert] button', 'value')).toEqual(['save'])
    expect((await textOf(refused.html, '.page-head button'))[0]).toBe('Overwrite')
    expect((await pages.draft()).content.mail.subject).toBe('Theirs')
    const again = await fieldsOf(refused.html)
    expect(again['mail.subject']).toBe('Mine')
    expect((await pages.browser.post(pages.path, { ...again, do: 'save' })).status).toBe(303)
    expect((await pages.draft()).content.mail.subject).toBe('Mine')
  })

  test('names another member who saved, and a change that is no version', async () => {
    const fields = await fieldsOf((await pages.browser.get(pages.path)).html)
    await pages.addMember('zoe@example.com', 'editor')
    pages.clock.ms += 1_000
    await pages.press(pages.path, 'save', { 'mail.subject': 'Hers' }, await pages.signedIn('zoe@example.com'))
    const refuse = async () => {
      const { html } = await pages.browser.post(pages.path, { ...fields, 'mail.subject': 'Mine', do: 'save' })
      return { notice: (await textOf(html, '[role=alert]'))[0] ?? '', fields: await fieldsOf(html) }
    }
    const { notice, fields: newer } = await refuse()
    expect(notice).toStartWith(
      'Error: zoe@example.com saved this message just now. Your changes here are not saved yet.',
    )
    pages.clock.ms += 1_000
    await pages.press(pages.path, 'live')
    Object.assign(fields, newer)
    expect((await refuse()).notice).toStartWith(
      'Error: This message changed after you opened this page. Your changes here are not saved yet.',
    )
  })

  test('a full disk keeps the input', async () => {
    const failing = spyOn(pages.store, 'saveMessages').mockResolvedValue({ refusal: 'unavailable' })
    const { status, html } = await pages.press(pages.path, 'save', { 'mail.subject': 'Typed' })
    failing.mockRestore()
    expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([503, expect.stringContaining("can't save")])
    expect((await fieldsOf(html))['mail.subject']).toBe('Typed')
  })

  test('accepts the longest body in any script', async () => {
    const body = '結'.repeat(50_000)
    expect((await pages.press(pages.path, 'save', { 'mail.body': body })).status).toBe(303)
    expect((await pages.draft()).content.mail.body).toBe(body)
    expect((await pages.press(pages.path, 'save', { 'mail.body': body.repeat(3) })).status).toBe(413)
  })
})

describe('errors', () => {
  const WRONG = {
    name: HOSTILE.repeat(3),
    trigger: 'page',
    'trigger.page': HOSTILE,
    wait: 'minutes',
    'wait.minutes': HOSTILE,
    again: 'everyHours',
    'again.everyHours': HOSTILE,
    'onlyIf[1].minutes': HOSTILE,
    'onlyIf[3].rule': 'tagHas',
    'onlyIf[3].has': '',
    'mail.subject': '',
    'mail.body': '',
    'mail.fromEmail': HOSTILE,
    'mail.replyTo': HOSTILE,
  }

  test('appear next to their fields, all at once, without saving', async () => {
    const before = await pages.messages()
    const { status, html } = await pages.press(pages.path, 'save', WRONG)
    expect(status).toBe(400)
    await expectHarmless(html)
    const ids = await attributesOf(html, '.field .fault', 'id')
    const wrong = ['trigger.page', 'wait.minutes', 'onlyIf[1].minutes', 'onlyIf[3].has', 'again.everyHours']
    const mail = ['mail.subject', 'mail.body', 'name', 'mail.fromEmail', 'mail.replyTo']
    expect(ids).toEqual([...wrong, ...mail].map((name) => `${name}-fault`))
    const hrefs = await attributesOf(html, '.problems a', 'href')
    const named = hrefs.map((href) => decodeURIComponent(href?.slice(1) ?? ''))
    expect(named.toSorted()).toEqual([...wrong, ...mail].toSorted())
    expect(await attributesOf(html, 'details.more-fields', 'open')).toEqual([null, null, '', null])
    expect(await fieldsOf(html)).toMatchObject(WRONG)
    expect(await pages.messages()).toEqual(before)
  })

  test('name their field, also when a template has one too', async () => {
    const wrong = {
      wait: 'minutes',
      'wait.minutes': 'abc',
      'wait.unit': 'days',
      'onlyIf[2].minutes': 'x',
      'mail.subject': 'Hi {{ event.headlin }} {% if %}',
    }
    const sentences = [
      'Wait: Enter a whole number, from 0 to 30 days (43,200 minutes).',
      'Rule 2: Enter a whole number of minutes from 0 to 1440.',
      'Subject: “{% if %}” needs a condition.',
    ]
    for (const path of [pages.path, pages.at('messages/new')]) {
      const isNew = path !== pages.path
      const { html } = await pages.press(path, 'save', { name: 'Named', 'mail.body': 'Text', ...wrong })
      const expected = sentences.filter((sentence) => !isNew || !sentence.startsWith('Rule'))
      expect(await textOf(html, '#checks .problems li')).toEqual(expected)
      expect(await textOf(html, '#refused')).toEqual([
        `Error: Nothing was saved. Fix ${expected.length} problems first.`,
      ])
    }
  })

  test('a missing name is one of the name, not of the rules', async () => {
    const { html } = await pages.press(pages.at('messages/new'), 'save', { 'mail.subject': 'A', 'mail.body': 'B' })
    const lines = await textOf(html, '#checks .checks > li')
    expect(lines.find((line) => line.includes('Name'))).toStartWith('Problem: Name')
    expect(lines.some((line) => line.includes('Trigger and rules'))).toBe(false)
    expect(await textOf(html, '#name-fault')).toHaveLength(1)
  })

  test('keep input of unselected parts', async () => {
    const typed = { trigger: 'page', 'trigger.page': '/x', 'trigger.tag': 'vip', 'wait.until': '25:00', name: '' }
    const { html } = await pages.press(pages.path, 'save', typed)
    expect(await faultsOf(html)).toEqual(['Error: Enter a name of 1 to 100 characters.'])
    expect(await fieldsOf(html)).toMatchObject({ ...typed, 'trigger.event': 'results_ready' })
  })

  test('appear in the row of a rule that does not fit the trigger', async () => {
    const { html } = await pages.press(pages.path, 'save', { trigger: 'contact' })
    expect(await textOf(html, '.part-fields > .fault')).toEqual([expect.stringContaining("page at the event's")])
  })
})

describe('rows', () => {
  test('are added and removed with all input, without saving', async () => {
    const before = await pages.draft()
    const typed = { 'mail.subject': HOSTILE }
    const added = await pages.press(pages.path, 'add onlyIf notDone', typed)
    expect(added.status).toBe(200)
    const fields = await fieldsOf(added.html)
    expect(fields).toMatchObject({ 'mail.subject': HOSTILE, 'onlyIf[3].rule': 'notDone', 'onlyIf[3].event': '' })
    const removed = await pages.browser.post(pages.path, { ...fields, do: 'remove onlyIf 0' })
    expect(await fieldsOf(removed.html)).toMatchObject({ 'onlyIf[0].rule': 'away', 'onlyIf[2].rule': 'notDone' })
    expect(await textOf(removed.html, '.part-title')).toEqual(['They left', "An event didn't arrive"])
    const without = await pages.press(pages.path, 'remove onlyIf 0 1 2')
    expect(await summariesOf(without.html)).toEqual(['results_ready arrives', 'wait 10 minutes, then send'])
    expect(without.html).toMatch(/<\/details>, <details[^>]* id="again"/)
    expect(await pages.draft()).toEqual(before)
  })
})

describe('a copy', () => {
  test('has what is typed, as a draft with another name', async () => {
    await pages.press(pages.path, 'live')
    const copied = await pages.press(pages.path, 'copy', { 'mail.subject': 'Typed' })
    expect(copied.status).toBe(303)
    const [original, , copy] = await pages.messages()
    expect(copied.location).toBe(pages.pathOf(copy?.id ?? 0))
    expect(await textOf((await pages.browser.get(copied.location ?? '')).html, '.notice.done')).toEqual([
      'Done: This is a copy, saved as a draft. While both are live, people can get both emails.',
    ])
    expect(await newestChange()).toBe(`duplicated a message as “${copy?.name}”`)
    expect(copy).toMatchObject({ name: `${original?.name} (copy)`, status: 'draft', version: 1 })
    if (!original || !copy) throw new Error('no copy')
    const mail = { ...original.content.mail, subject: 'Typed' }
    expect(saysSame(writeFields(copy), { name: copy.name, content: { ...original.content, mail } })).toBe(true)
    expect(original?.content.mail.subject).not.toBe('Typed')
    await pages.press(pages.path, 'copy')
    await pages.press(copied.location ?? '', 'copy')
    expect((await pages.messages()).slice(3).map(({ name }) => name)).toEqual([
      `${original?.name} (copy 2)`,
      `${original?.name} (copy 3)`,
    ])
  })

  test('is refused with its errors', async () => {
    const { status, html } = await pages.press(pages.path, 'copy', { 'mail.subject': '' })
    expect(status).toBe(400)
    expect(await attributesOf(html, '.field .fault', 'id')).toEqual(['mail.subject-fault'])
    expect(await pages.messages()).toHaveLength(2)
  })

  test.each([
    ['A', [], 'A (copy)'],
    ['A', ['A (copy)'], 'A (copy 2)'],
    ['A (copy 2)', ['A (copy)', 'A (copy 2)'], 'A (copy 3)'],
    ['x'.repeat(100), [], `${'x'.repeat(93)} (copy)`],
    [`${'x'.repeat(92)}\u{1F680}`, [], `${'x'.repeat(92)}\uFFFD (copy)`],
  ])('of %s beside %j is named %s', (name, taken, copy) => {
    expect(nameCopy(name, taken)).toBe(copy)
  })
})

describe('restoring a version', () => {
  const save = (subject: string) => pages.press(pages.path, 'save', { 'mail.subject': subject })

  test('saves it as the newest, and names who wrote each', async () => {
    await pages.press(pages.path, 'live', { 'mail.subject': 'One' })
    await pages.addMember('eve@example.com', 'editor')
    const eve = await pages.signedIn('eve@example.com')
    await pages.press(pages.path, 'save', { 'mail.subject': 'Two' }, eve)
    const { html } = await pages.browser.get(`${pages.path}/versions?version=1`)
    expect(await textOf(html, '#restore p')).toEqual([
      'It becomes version 3, and goes live immediately. Waiting emails keep their version.',
    ])
    const [action] = await attributesOf(html, '#restore form', 'action')
    const [basedOn] = await attributesOf(html, '#restore [name=basedOn]', 'value')
    const restored = await pages.browser.post(action ?? '', { basedOn: basedOn ?? '', do: 'restore 1' })
    expect([restored.status, restored.location]).toEqual([303, pages.path])
    expect(await pages.draft()).toMatchObject({ version: 3, status: 'live', content: { mail: { subject: 'One' } } })
    const list = await pages.browser.get(`${pages.path}/versions`)
    expect(await textOf(list.html, 'tbody td > .hint')).toEqual([
      'By ada@example.com',
      'By eve@example.com',
      'By ada@example.com',
    ])
    expect(await textOf(list.html, '[popovertarget=restore]')).toEqual([])
    expect((await textOf((await pages.browser.get(pages.path)).html, '.editor-foot > .hint'))[0]).toContain(
      'Version 3, saved by ada@example.com',
    )
  })

  test('says that only a draft without deliveries is replaced', async () => {
    const said = async () => textOf((await pages.browser.get(`${pages.path}/versions?version=1`)).html, '#restore p')
    await pages.press(pages.path, 'live', { 'mail.subject': 'One', wait: 'minutes', 'wait.minutes': '30' })
    await save('Two')
    await pages.press(pages.path, 'paused')
    expect(await said()).toEqual(['It becomes version 3. Waiting emails keep their version.'])
    await pages.press(pages.path, 'draft')
    expect(await said()).toEqual(['It replaces version 2.'])
    await pages.press(pages.path, 'live')
    await pages.event()
    await pages.press(pages.path, 'paused')
    await pages.press(pages.path, 'draft')
    expect(await said()).toEqual(['It becomes version 3. Waiting emails keep their version.'])
    await pages.press(pages.path, 'restore 1')
    expect(await pages.draft()).toMatchObject({ version: 3, status: 'draft' })
  })

  test('names the command line as a tool', async () => {
    const { id, name, content, status } = await pages.draft()
    const by = { accountId: pages.begun.accountId, appId: pages.app.id, actor: 'cli', at: pages.clock.now() }
    const changed = { ...content, mail: { ...content.mail, subject: 'Changed' } }
    await pages.store.saveMessages({ ...by, drafts: [{ id, name, content: changed, status }] })
    const list = await pages.browser.get(`${pages.path}/versions`)
    expect((await textOf(list.html, 'tbody td > .hint'))[0]).toBe('With the command line')
    const [saved] = await textOf((await pages.browser.get(pages.path)).html, '.editor-foot > .hint')
    expect(saved).toContain('saved with the command line just now.')
  })

  test('that can no longer be live opens it in the editor', async () => {
    await pages.press(pages.path, 'live', {
      'mail.subject': '{{ event.gone }}',
      'mail.body': 'B',
      'again.collect.minutes': '',
    })
    await save('Two')
    await pages.event()
    const basedOn = String((await pages.draft()).updatedAt)
    const refused = await pages.browser.post(pages.path, { basedOn, do: 'restore 1' })
    expect(refused.status).toBe(400)
    expect(await textOf(refused.html, '.problems li')).toEqual([expect.stringContaining('event.gone is missing')])
    expect((await fieldsOf(refused.html))['mail.subject']).toBe('{{ event.gone }}')
    expect((await pages.draft()).content.mail.subject).toBe('Two')
  })

  test('is refused if someone else changed the message, and where there is none', async () => {
    await pages.press(pages.path, 'live')
    await save('Two')
    expect((await pages.browser.post(pages.path, { basedOn: '1', do: 'restore 1' })).status).toBe(409)
    for (const version of ['9', '0', 'x', '']) {
      expect((await pages.browser.post(pages.path, { do: `restore ${version}` })).status).toBe(404)
    }
    expect((await pages.draft()).content.mail.subject).toBe('Two')
  })

  test('is not offered to viewers', async () => {
    await pages.press(pages.path, 'live')
    await save('Two')
    await pages.addMember('eve@example.com', 'viewer')
    const { html } = await (await pages.signedIn('eve@example.com')).get(`${pages.path}/versions?version=1`)
    expect(await textOf(html, '[popovertarget=restore]')).toEqual([])
  })
})
