import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { inviteMember } from '../../src/core/members.ts'
import type { Sender } from '../../src/mail/sender.ts'
import { startMailServer } from '../mail/mail-server.ts'
import { type Editing, fieldsOf, openEditing } from './editing.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from './pages.ts'

let pages: Editing
let path: string
beforeEach(async () => {
  pages = await openEditing()
  path = pages.pathOf((await pages.draft()).id)
})
afterEach(() => pages.close())

const faultsOf = (html: string) => textOf(html, '.field .fault, .rule > .fault')

describe('saving', () => {
  test('a new one is a draft, and leads to its own page', async () => {
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

  test('what nobody changed stays as it is', async () => {
    const before = await pages.draft()
    expect((await pages.press(path, 'save')).status).toBe(303)
    expect(await pages.draft()).toEqual(before)
  })

  test('of a live one makes a version, which its page and the versions say', async () => {
    await pages.press(path, 'live')
    await pages.press(path, 'save', { 'mail.subject': 'Changed' })
    const { version, status, content } = await pages.draft()
    expect([version, status, content.mail.subject]).toEqual([2, 'live', 'Changed'])
    const { html } = await pages.browser.get(`${path}/versions`)
    expect(await textOf(html, 'h2')).toEqual(['What version 2 changed', 'Versions'])
    expect(await textOf(html, '.diff .added')).toEqual(['+Added: Subject: Changed'])
    const first = await pages.browser.get(`${path}/versions?version=1`)
    expect(await textOf(first.html, 'h2')).toEqual(['What version 1 says', 'Versions'])
    expect((await pages.browser.get(`${path}/versions?version=3`)).status).toBe(404)
  })

  test('a second one of the same name is refused beside the name', async () => {
    const { status, html } = await pages.press(path, 'save', { name: 'Results not opened yet' })
    expect(status).toBe(409)
    expect(await textOf(html, '#name-fault')).toEqual([expect.stringContaining('has a message with this name already')])
  })

  test('somebody else saved meanwhile: it says so, keeps what was typed, and writes over it when asked again', async () => {
    const { html } = await pages.browser.get(path)
    const fields = await fieldsOf(html)
    pages.clock.ms += 1_000
    await pages.press(path, 'save', { 'mail.subject': 'Theirs' })
    const refused = await pages.browser.post(path, { ...fields, 'mail.subject': 'Mine', do: 'save' })
    expect([refused.status, (await textOf(refused.html, '[role=alert]'))[0]]).toEqual([
      409,
      expect.stringContaining('Somebody changed this message meanwhile'),
    ])
    expect((await pages.draft()).content.mail.subject).toBe('Theirs')
    const again = await fieldsOf(refused.html)
    expect(again['mail.subject']).toBe('Mine')
    expect((await pages.browser.post(path, { ...again, do: 'save' })).status).toBe(303)
    expect((await pages.draft()).content.mail.subject).toBe('Mine')
  })

  test('a full disk keeps what was typed', async () => {
    const failing = spyOn(pages.store, 'saveMessages').mockResolvedValue({ refusal: 'unavailable' })
    const { status, html } = await pages.press(path, 'save', { 'mail.subject': 'Typed' })
    failing.mockRestore()
    expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([503, expect.stringContaining('cannot save')])
    expect((await fieldsOf(html))['mail.subject']).toBe('Typed')
  })

  test('a body as long as may be, in any script', async () => {
    const body = '結'.repeat(50_000)
    expect((await pages.press(path, 'save', { 'mail.body': body })).status).toBe(303)
    expect((await pages.draft()).content.mail.body).toBe(body)
    expect((await pages.press(path, 'save', { 'mail.body': body.repeat(2) })).status).toBe(413)
  })
})

describe('what is wrong', () => {
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

  test('is said beside its field, all at once, and nothing is saved or lost', async () => {
    const before = await pages.messages()
    const { status, html } = await pages.press(path, 'save', WRONG)
    expect(status).toBe(400)
    await expectHarmless(html)
    const ids = await attributesOf(html, '.field .fault', 'id')
    const wrong = ['trigger.page', 'wait.minutes', 'onlyIf[1].minutes', 'onlyIf[3].has', 'again.everyHours']
    const mail = ['mail.subject', 'mail.body', 'mail.fromEmail', 'mail.replyTo']
    expect(ids).toEqual(['name', ...wrong, ...mail].map((name) => `${name}-fault`))
    const hrefs = await attributesOf(html, '.problems a', 'href')
    const named = hrefs.map((href) => decodeURIComponent(href?.slice(1) ?? ''))
    expect(named.toSorted()).toEqual(['name', ...wrong, ...mail].toSorted())
    expect(await attributesOf(html, 'details.more-fields', 'open')).toEqual([''])
    expect(await fieldsOf(html)).toMatchObject(WRONG)
    expect(await pages.messages()).toEqual(before)
  })

  test('what was typed into a part that is not chosen is kept too', async () => {
    const typed = { trigger: 'page', 'trigger.page': '/x', 'trigger.tag': 'vip', 'wait.until': '25:00', name: '' }
    const { html } = await pages.press(path, 'save', typed)
    expect(await faultsOf(html)).toEqual(['Error: Give a name of 1 to 100 characters.'])
    expect(await fieldsOf(html)).toMatchObject({ ...typed, 'trigger.event': 'results_ready' })
  })

  test('a rule that does not fit what starts it is said in its row', async () => {
    const { html } = await pages.press(path, 'save', { trigger: 'contact' })
    expect(await textOf(html, '.rule > .fault')).toEqual([expect.stringContaining("page of the event's")])
  })
})

describe('rows', () => {
  test('are added and removed with all that was typed, and nothing is saved', async () => {
    const before = await pages.draft()
    const typed = { 'mail.subject': HOSTILE, newRule: 'notDone' }
    const added = await pages.press(path, 'add onlyIf', typed)
    expect(added.status).toBe(200)
    const fields = await fieldsOf(added.html)
    expect(fields).toMatchObject({ 'mail.subject': HOSTILE, 'onlyIf[3].rule': 'notDone', 'onlyIf[3].event': '' })
    const removed = await pages.browser.post(path, { ...fields, do: 'remove onlyIf 0' })
    expect(await fieldsOf(removed.html)).toMatchObject({ 'onlyIf[0].rule': 'away', 'onlyIf[2].rule': 'notDone' })
    expect(await textOf(removed.html, '.rule legend')).toEqual([
      'They are away',
      'They are away',
      'An event did not come',
    ])
    expect(await pages.draft()).toEqual(before)
  })
})

describe('a test mail', () => {
  test('is kept where no mail server is set, and shown', async () => {
    await pages.event({ properties: { headline: 'Ready & done', url: 'https://app.example.com/r/1' } })
    const { status, html } = await pages.press(path, 'test', { to: 'ada@example.com' })
    expect([status, (await textOf(html, '#test .notice'))[0]]).toEqual([
      200,
      expect.stringContaining('Nothing leaves this installation'),
    ])
    const [raw = ''] = await textOf(html, '#test pre')
    expect(raw).toContain('To: ada@example.com')
    expect(raw).toContain('Subject: [Test] Ready & done')
    await expectHarmless(html)
  })

  test('goes to members only', async () => {
    const { status, html } = await pages.press(path, 'test', { to: 'bob@example.com' })
    expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([
      400,
      expect.stringContaining('members of the account'),
    ])
  })

  test('goes to nobody who is merely invited', async () => {
    const maker = { store: pages.store, now: pages.clock.now(), actor: 'test' }
    await inviteMember(maker, pages.begun.accountId, { email: 'eve@example.com', role: 'editor' })
    const { html } = await pages.browser.get(path)
    expect(await attributesOf(html, '#to option', 'value')).toEqual(['ada@example.com'])
    expect((await pages.press(path, 'test', { to: 'eve@example.com' })).status).toBe(400)
  })

  test('says what kept it', async () => {
    await pages.set({ smtpUrl: 'smtp://127.0.0.1:1' })
    const { html } = await pages.press(path, 'test', { to: 'ada@example.com' })
    expect((await textOf(html, '#test .notice'))[0]).toBe(
      'Error: Nothing was sent. Nothing answered at the address and port of the mail server. See that it runs, and that both are right.',
    )
    const missing = await pages.press(path, 'test', { to: 'ada@example.com', 'mail.subject': '{{ contact.fields.x }}' })
    expect((await textOf(missing.html, '#test .notice'))[0]).toBe(
      'Error: Nothing was sent: contact.fields.x has no value.',
    )
  })

  test('that the mail server refused tells its words, and they are text', async () => {
    const server = await startMailServer({ recipient: () => 550, words: () => `5.7.1 ${HOSTILE}` })
    await pages.set({ smtpUrl: server.url })
    const { html } = await pages.press(path, 'test', { to: 'ada@example.com' })
    await expectHarmless(html)
    expect(await textOf(html, '#test .server-words')).toEqual([`550 5.7.1 ${HOSTILE}`])
    await (pages.mailer as Sender).stop()
    await server.stop()
  })
})

describe('a rehearsal', () => {
  const rehearse = (changes: Record<string, string> = {}) => pages.press(path, 'rehearse 7', changes)

  test('tells who, when and why not, of what is typed, and sends nothing', async () => {
    const properties = { url: 'https://example.com/results/1' }
    for (const email of ['bob@example.com', 'eve@example.com']) await pages.event({ email, properties })
    pages.clock.ms += 60_000
    await pages.event({ email: 'eve@example.com', event: 'paid' })
    pages.clock.ms += 3_600_000
    const { status, html } = await rehearse({
      'onlyIf[3].rule': 'notDone',
      'onlyIf[3].event': 'paid',
      'onlyIf[3].since': 'ever',
      'onlyIf[4].rule': 'tagLacks',
      'onlyIf[4].lacks': 'vip',
    })
    expect(status).toBe(200)
    await expectHarmless(html)
    expect(await textOf(html, '#rehearsal > p:not(.hint)')).toEqual([
      'One mail would have gone out. Since 26 April 2026 it was started 2 times.',
    ])
    expect(await textOf(html, '.outcome > summary')).toEqual([
      'Would have been written to 1, 50 %',
      'Had done what stops it 1, 50 %',
    ])
    expect(await textOf(html, '.outcome td a')).toEqual(['bob@example.com', 'eve@example.com'])
    expect((await textOf(html, '.verdicts .hint')).every((text) => text.includes('today'))).toBe(true)
    expect(await textOf(html, '.verdicts .fail')).toEqual([expect.stringContaining('paid')])
    expect((await pages.draft()).content.onlyIf).toHaveLength(3)
    expect(await pages.store.countDeliveries((await pages.draft()).id)).toMatchObject({ waiting: 0, sent: 0 })
  })

  test('says that nothing started it, and what cannot be rehearsed', async () => {
    expect(await textOf((await rehearse()).html, '#rehearsal .empty h2')).toEqual([
      'Nothing started it in the last 7 days',
    ])
    const byTag = { trigger: 'tag', 'trigger.tag': 'vip', 'onlyIf[0].rule': 'status', 'onlyIf[0].is': 'subscribed' }
    expect(await textOf((await rehearse(byTag)).html, '#rehearsal .empty h2')).toEqual(['This cannot be rehearsed'])
  })

  test('of what is wrong says what', async () => {
    const { status, html } = await rehearse({ 'mail.subject': '', name: '' })
    expect([status, await attributesOf(html, '.field .fault', 'id')]).toEqual([400, ['mail.subject-fault']])
  })
})

describe('who may', () => {
  const actions = ['save', 'live', 'paused', 'draft', 'delete', 'test', 'add onlyIf']

  test('an editor all of it', async () => {
    await pages.addMember('eve@example.com', 'editor')
    const eve = await pages.signedIn('eve@example.com')
    expect((await pages.press(path, 'save', { 'mail.subject': 'By Eve' }, eve)).status).toBe(303)
    expect((await pages.draft()).content.mail.subject).toBe('By Eve')
  })

  test('a viewer looks, previews what is stored and rehearses it, and changes nothing', async () => {
    await pages.addMember('eve@example.com', 'viewer')
    const eve = await pages.signedIn('eve@example.com')
    const before = await pages.messages()
    const { html } = await eve.get(path)
    expect(await textOf(html, 'main button[type=submit]')).toEqual([
      'Preview',
      'Rehearse the last 7 days',
      'Rehearse the last 30 days',
    ])
    expect(await attributesOf(html, '#name', 'readonly')).toEqual([''])
    expect((await eve.get(pages.at('messages/new'))).status).toBe(403)
    for (const action of actions) {
      expect((await pages.press(path, action, { 'mail.subject': 'By Eve' }, eve)).status).toBe(403)
    }
    const preview = await pages.press(path, 'preview', { 'mail.subject': 'By Eve' }, eve)
    expect([preview.status, preview.html.includes('By Eve')]).toEqual([200, false])
    expect((await pages.press(path, 'rehearse 7', {}, eve)).status).toBe(200)
    expect(await pages.messages()).toEqual(before)
  })

  test('nobody of another account: neither sees nor changes', async () => {
    const other = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    const before = await pages.messages()
    const id = path.split('/').at(-1)
    for (const theirs of [path, `/apps/${other.appId}/messages/${id}`]) {
      expect((await eve.get(theirs)).status).toBe(404)
      expect((await eve.get(`${theirs}/versions`)).status).toBe(404)
      for (const action of actions) expect((await pages.press(path, action, {}, eve)).status).toBe(404)
      expect((await eve.post(theirs, { do: 'paused' })).status).toBe(404)
    }
    expect(await pages.messages()).toEqual(before)
  })

  test('no form of another site', async () => {
    const foreign = { 'Sec-Fetch-Site': 'cross-site' }
    expect((await pages.browser.post(path, { do: 'live' }, foreign)).status).toBe(403)
    expect(await pages.draft()).toMatchObject({ status: 'draft' })
  })
})
