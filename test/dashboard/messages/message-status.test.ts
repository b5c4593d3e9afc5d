import { withSql } from '../../data-folder.ts'
import { beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { publicId } from '../../../src/core/ids.ts'
import { addDeliveries } from './result-rows.ts'
import { fieldsOf, useEditing } from './editing.ts'
import { attributesOf, HOSTILE, textOf } from '../pages.ts'
import { inTurns } from '../../helper.ts'

const pages = useEditing()

const CAPTURED =
  'Not set up. Emails are captured, not sent. They count towards “How often”, and you can send them from the outbox later.'

describe('going live', () => {
  test('is shown on the page and in the list', async () => {
    const { status, location } = await pages.press(pages.path, 'live')
    expect([status, location]).toEqual([303, pages.path])
    const { html } = await pages.browser.get(pages.path)
    expect(await textOf(html, '.page-head .badge')).toEqual(['Live'])
    const list = await pages.browser.get(pages.at('messages'))
    expect(await textOf(list.html, 'td .badge')).toEqual(['Live', 'Draft'])
  })

  test('saves the input', async () => {
    await pages.press(pages.path, 'live', { 'mail.subject': 'New' })
    expect(await pages.draft()).toMatchObject({ status: 'live', content: { mail: { subject: 'New' } } })
  })

  test('is refused while values are missing, with the share and a fallback', async () => {
    const body = '{{ contact.firstName }}: [See]({{ event.url }})'
    const mail = { 'mail.subject': 'S', 'mail.body': body, 'again.collect.minutes': '' }
    await pages.press(pages.path, 'save', mail)
    await inTurns(100, (i) => {
      const properties = i < 12 ? {} : { headline: 'H', url: 'https://x' }
      return pages.event({ email: `p${i}@example.com`, properties, firstName: i < 50 ? 'Ada' : undefined })
    })
    const refused = await pages.press(pages.path, 'live')
    expect(refused.status).toBe(400)
    expect(await textOf(refused.html, '#refused')).toEqual(['Error: Nothing was saved. Fix 2 problems first.'])
    expect(await textOf(refused.html, '.checks button')).toEqual([
      'Use "there" if there is no firstName',
      'Use the home page if there is no url',
    ])
    const { html } = await pages.browser.get(pages.path)
    expect(await textOf(html, '#refused')).toEqual([''])
    const problems = (await textOf(html, '.problems li')).join(' ')
    expect(problems).toContain('event.url is missing in 12% of the last 100 events.')
    expect(problems).toContain('contact.firstName is missing in 50% of the last 100 events.')
    expect(await textOf(html, '#go-live-checks p')).toEqual([
      'Fix first: Values.',
      "These don't stop you from going live:",
    ])
    const [button] = await attributesOf(html, '.checks button', 'value')
    expect(button).toBe('fix mail.body {{ contact.firstName }}')
    const added = await pages.press(pages.path, button ?? '')
    expect((await fieldsOf(added.html))['mail.body']).toBe(
      '{{ contact.firstName | default: "there" }}: [See]({{ event.url }})',
    )
    expect(await textOf(added.html, '.problems li')).toEqual([expect.stringContaining('event.url')])
    expect((await pages.draft()).content.mail.body).toContain('{{ contact.firstName }}')
    const filled = body
      .replace('firstName', 'firstName | default: "there"')
      .replace('url', 'url | default: app.homeUrl')
    expect((await pages.press(pages.path, 'live', { 'mail.body': filled })).status).toBe(303)
    expect(await pages.draft()).toMatchObject({ status: 'live' })
  })

  test('proposes the home page for a missing URL', async () => {
    await pages.press(pages.path, 'save', { 'mail.body': '[See]({{event.url}})', 'again.collect.minutes': '' })
    await pages.event({ properties: { headline: 'H' } })
    const { html } = await pages.browser.get(pages.path)
    expect((await textOf(html, '#preview-said')).join(' ')).toContain(
      "in the event from bob@example.com, so the email isn't sent. Add a fallback: {{ event.url | default: app.homeUrl }}.",
    )
    expect(await textOf(html, '.problems li code')).toEqual(['event.url', '{{ event.url | default: app.homeUrl }}'])
    const added = await pages.press(pages.path, 'fix mail.body {{event.url}}')
    expect((await fieldsOf(added.html))['mail.body']).toBe('[See]({{ event.url | default: app.homeUrl }})')
  })

  test('suggests a property with a similar name', async () => {
    await pages.press(pages.path, 'save', {
      'mail.subject': '{{ event.haedline }}',
      'mail.body': '{{ event.other }}',
      'again.collect.minutes': '',
    })
    await pages.event({ properties: { headline: 'H' } })
    const { html } = await pages.browser.get(pages.path)
    expect(await textOf(html, '.problems li')).toEqual([
      expect.stringContaining('Did you mean event.headline?'),
      expect.not.stringContaining('Did you mean'),
    ])
    expect(await textOf(html, '.problems button')).toEqual([
      'Use event.headline instead',
      'Leave it out if there is no other',
    ])
    const fixed = await pages.press(pages.path, 'fix mail.subject {{ event.haedline }}')
    expect((await fieldsOf(fixed.html))['mail.subject']).toBe('{{ event.headline }}')
  })

  test('names the field of each finding', async () => {
    await pages.press(pages.path, 'save', {
      'mail.subject': '{{ event.x }}',
      'mail.body': '{{ event.x }}',
      'again.collect.minutes': '',
    })
    await pages.event()
    const { html } = await pages.browser.get(pages.path)
    expect(await textOf(html, '.problems li')).toEqual([
      expect.stringContaining('Subject: event.x is missing'),
      expect.stringContaining('Text: event.x is missing'),
    ])
  })

  test('says how many events were checked if time ran out', async () => {
    const body = '{% for i in (1..900) %}{{ i }}{{ i }}{{ i }}{{ i }}{% endfor %}{{ event.x }}'
    await pages.press(pages.path, 'save', { 'mail.body': body, 'again.collect.minutes': '' })
    await inTurns(300, (i) => pages.event({ email: `p${i}@example.com` }))
    const { html } = await pages.press(pages.path, 'preview')
    const said = (await textOf(html, '.checks .hint')).join('\n')
    const [, tried] =
      /^Checked (\d+) of the last 300 events\. Checking the rest would take too long\.$/m.exec(said) ?? []
    expect(Number(tried)).toBeGreaterThan(0)
    expect(await textOf(html, '.problems li')).toEqual([expect.stringContaining(`of the last ${tried} events`)])
  })

  test('says once which date nobody has, below the trigger, and again in the dialog', async () => {
    const trigger = { trigger: 'date', 'trigger.date': 'endsAt', 'trigger.days': '3', 'trigger.when': 'before' }
    const none = 'No person has fields.endsAt yet.'
    const { html } = await pages.press(pages.path, 'preview', trigger)
    expect(await textOf(html, '#data-notes p')).toEqual([`Trigger: ${none}`])
    expect(await attributesOf(html, '#data-notes a', 'href')).toEqual(['#trigger.date'])
    expect(await textOf(html, '#checklist .checks > li')).toContain('Note: Data 1 warning below the trigger')
    expect(await attributesOf(html, '#checklist a[href="#data-notes"]', 'href')).toHaveLength(1)
    expect(await textOf(html, '#go-live-checks .checks > li')).toContain(`Note: Data ${none}`)
    const whole = { ...trigger, 'mail.subject': 'Ends', 'mail.body': 'Soon' }
    const simulated = await pages.press(pages.at('messages/new'), 'simulate 30', whole)
    expect(await textOf(simulated.html, '#reach')).toEqual(['Nobody triggered it in the last 30 days.'])
    const fields = { ...(await fieldsOf(html)), ...whole, show: 'check' }
    const { fragments } = JSON.parse((await pages.browser.post(`${pages.path}/preview`, fields)).html)
    expect(await textOf(fragments['data-notes'], 'p')).toEqual([`Trigger: ${none}`])
  })

  test('links each warning about data to a field on the page', async () => {
    const field = { 'fields[0].name': 'timezone', 'fields[0].value': 'Nowhere' }
    expect((await pages.browser.post(pages.at('people/new'), { email: 'bob@example.com', ...field })).status).toBe(303)
    const rule = { 'onlyIf[0].rule': 'notDone', 'onlyIf[0].event': 'paid', 'onlyIf[0].same': 'orderId' }
    await pages.event()
    const { html } = await pages.press(pages.path, 'preview', { wait: 'until', 'wait.until': '09:00', ...rule })
    expect(await textOf(html, '#data-notes p')).toEqual([
      expect.stringMatching(/^Wait: 1 person has a value in fields\.timezone that is not a timezone/),
      expect.stringMatching(/^Rule 1: orderId is missing/),
    ])
    expect(await textOf(html, '#checklist .checks > li')).toContain('Note: Data 2 warnings below the trigger')
    const ids = new Set(await attributesOf(html, '[id]', 'id'))
    const targets = (await attributesOf(html, '#data-notes a', 'href')).map((href) =>
      decodeURIComponent(`${href}`.slice(1)),
    )
    expect(targets.filter((target) => !ids.has(target))).toEqual([])
  })

  test('says that values could not be checked, and why', async () => {
    const mail = { 'mail.subject': 'Hi {{ contact.firstName }}', 'mail.body': 'Hello' }
    const byPage = { trigger: 'page', 'trigger.event': '', 'trigger.page': '/pricing' }
    const valuesOf = async (changes: Record<string, string>) => {
      const { html } = await pages.press(pages.at('messages/new'), 'preview', { ...mail, ...changes })
      return (await textOf(html, '#checklist .checks > li')).filter((line) => line.includes('Values'))
    }
    const uncheckedBecause = (reason: string) => [`To do: Values ${reason}`]
    expect(await valuesOf({ 'trigger.event': 'paid' })).toEqual(uncheckedBecause('No events to check yet.'))
    expect(await valuesOf(byPage)).toEqual(uncheckedBecause('No people to check yet.'))
    expect(await valuesOf({ ...byPage, 'mail.subject': 'Hi' })).toEqual(['Done: Values The email uses no values.'])
    expect(await valuesOf({ ...byPage, 'mail.body': '' })).toEqual([
      'To do: Values Checked once the other problems are fixed.',
    ])
    await pages.event({ event: 'other' })
    expect((await valuesOf(byPage)).join()).toContain(
      'Subject: contact.firstName is missing for the only person so far.',
    )
  })

  test('checks the newest 100 events before the page is shown, and 500 after', async () => {
    await pages.press(pages.path, 'save', { 'mail.body': '{{ event.x }}', 'again.collect.minutes': '' })
    await inTurns(120, (i) => pages.event({ email: `p${i}@example.com`, properties: i < 6 ? {} : { x: 1 } }))
    const { html } = await pages.browser.get(pages.path)
    expect(await textOf(html, '.checks > li')).toContain('Done: Values No values are missing in the last 100 events.')
    const fields = { ...(await fieldsOf(html)), show: 'check' }
    const { fragments } = JSON.parse((await pages.browser.post(`${pages.path}/preview`, fields)).html)
    expect(await textOf(fragments.checklist, '.problems li')).toEqual([
      expect.stringContaining('event.x is missing in 5% of the last 120 events.'),
    ])
    expect((await pages.press(pages.path, 'live')).status).toBe(400)
  })

  test('is summarised in short lines before', async () => {
    const { html } = await pages.browser.get(pages.path)
    expect((await textOf(html, '#go-live-says > li')).slice(0, 2)).toEqual([
      'The email is due 10 minutes after results_ready arrives.',
      'Each person gets it once per resultId or url.',
    ])
    expect(await textOf(html, '#go-live p')).toEqual([
      "These don't stop you from going live:",
      expect.stringContaining('It applies to events that arrive from now on'),
      expect.stringContaining('A person gets at most 1 lifecycle email a day from this app.'),
    ])
  })

  test('says once that emails are captured, and what becomes of them', async () => {
    const { html } = await pages.browser.get(pages.path)
    const [dialog = ''] = await textOf(html, '#go-live')
    expect(dialog.match(/captured/g)).toHaveLength(1)
    expect(dialog).toContain(CAPTURED)
    expect((await textOf(html, '#checklist li')).join()).not.toContain('from the outbox')
  })

  test('says what is not right for recipients, which does not block it', async () => {
    const left = async () => textOf((await pages.browser.get(pages.path)).html, '#go-live-checks li')
    const lost =
      "Public address Recipients can't unsubscribe: links in emails lead to http://localhost:8080, which only this machine can open. How to set it"
    const values = 'To do: Values No events to check yet.'
    expect(await left()).toEqual([
      `Note: Mail server ${CAPTURED} Set up a mail server`,
      `Note: ${lost}`,
      values,
      "To do: Test This text hasn't been tested yet.",
    ])
    const { html } = await pages.browser.get(pages.path)
    expect(await attributesOf(html, '#go-live-checks a', 'href')).toEqual([
      pages.at(`sender/server?message=${pages.path.split('/').at(-1)}`),
      '/docs/hosting#public-address',
    ])
    await pages.set({ smtpUrl: 'smtp://mail.example.com' })
    expect(await left()).toEqual([`Problem: ${lost}`, values, "To do: Test This text hasn't been tested yet."])
    const { html: receipt } = await pages.press(pages.path, 'preview', { 'mail.category': 'transactional' })
    expect((await textOf(receipt, '#checklist li')).filter((line) => line.includes('Public address'))).toEqual([])
    const { html: withServer } = await pages.browser.get(pages.path)
    expect(await textOf(withServer, '#go-live-checks p')).toEqual(["These don't stop you from going live:"])
    expect(await textOf(withServer, '#checklist .wrong')).toEqual([
      `Problem: ${lost.replace(' How to set it', ' You can go live anyway. How to set it')}`,
    ])
    expect((await pages.press(pages.path, 'live')).status).toBe(303)
    const { html: live } = await pages.browser.get(pages.path)
    expect(await textOf(live, '#checklist .wrong')).toEqual([`Problem: ${lost}`])
  })

  describe('names links that the email would lack', () => {
    const linksOf = (html: string, list: string) =>
      textOf(html, `${list} li`).then((lines) => lines.filter((line) => line.includes('Links')))
    const allowed = async () => (await pages.store.findAppByPublicId(pages.app.publicId))?.hosts

    test('and allows their domain with one click, which makes a test of it stale', async () => {
      const url = 'https://new.example.org/results/1'
      await pages.event({ properties: { url, headline: 'Ready' } })
      const before = await allowed()
      const tested = await pages.press(pages.path, 'test', {
        to: (await fieldsOf((await pages.browser.get(pages.path)).html)).to ?? '',
      })
      const line = `Note: Links The email doesn't link to ${url}, because new.example.org is not a domain of this app.Allow new.example.org`
      for (const list of ['#checklist', '#go-live-checks'])
        expect([list, await linksOf(tested.html, list)]).toEqual([list, [line]])
      const [value] = (await attributesOf(tested.html, '#go-live-checks button', 'value')).filter((one) =>
        one?.startsWith('allow'),
      )
      const done = await pages.press(pages.path, value ?? '', { 'mail.subject': 'Typed' })
      expect(await linksOf(done.html, '#checklist')).toEqual([])
      expect((await fieldsOf(done.html))['mail.subject']).toBe('Typed')
      expect(await allowed()).toEqual([...(before ?? []), 'new.example.org'])
      const { html } = await pages.browser.get(pages.path)
      expect(await linksOf(html, '#checklist')).toEqual([])
      expect(await textOf(html, '#go-live-checks li')).toContain("To do: Test This text hasn't been tested yet.")
    })

    test('whose domain is not what is wrong', async () => {
      await pages.event({ properties: { url: 'http://10.0.0.1/results', headline: 'Ready' } })
      expect(await linksOf((await pages.browser.get(pages.path)).html, '#go-live-checks')).toEqual([
        "Note: Links The email doesn't link to http://10.0.0.1/results. Links with event values must be https:// addresses on a domain of this app. Write other links in full, such as https://example.com. Show the domains",
      ])
    })

    test('for owners only, and real domains only', async () => {
      const before = await allowed()
      expect((await pages.press(pages.path, 'allowHost co.uk')).status).toBe(400)
      await pages.addMember('eve@example.com', 'editor')
      const eve = await pages.signedIn('eve@example.com')
      await pages.event({ properties: { url: 'https://new.example.org/r', headline: 'Ready' } })
      expect(await linksOf((await eve.get(pages.path)).html, '#checklist')).toEqual([
        "Note: Links The email doesn't link to https://new.example.org/r, because new.example.org is not a domain of this app. Show the domains",
      ])
      expect((await pages.press(pages.path, 'allowHost new.example.org', {}, eve)).status).toBe(403)
      expect(await allowed()).toEqual(before)
    })
  })

  test('shows the daily limit per person', async () => {
    await pages.set({ perPersonDay: 3 })
    const { html } = await pages.browser.get(pages.path)
    expect((await textOf(html, '#go-live p')).join(' ')).toContain(
      'A person gets at most 3 lifecycle emails a day from this app. Further ones wait.',
    )
  })

  test('is checked once, also when refused', async () => {
    await pages.event({ properties: { amount: 1, currency: 'DOLLAR' } })
    const fields = await fieldsOf((await pages.browser.get(pages.path)).html)
    const listing = spyOn(pages.store, 'listEvents')
    const changed = {
      ...fields,
      'mail.body': '{{ event.amount | money: event.currency }}',
      'again.collect.minutes': '',
      do: 'live',
    }
    const { status, html } = await pages.browser.post(pages.path, changed)
    const checks = listing.mock.calls.filter(([{ limit }]) => limit === 500)
    listing.mockRestore()
    expect([status, checks]).toEqual([400, [expect.anything()]])
    expect(await textOf(html, '.problems li')).toEqual([expect.stringContaining('“DOLLAR” is not a currency code')])
  })

  test('says that waiting emails are not sent while paused', async () => {
    await pages.press(pages.path, 'live')
    await pages.event()
    const dialogOf = async (id: string) =>
      (await textOf((await pages.browser.get(pages.path)).html, `#${id} p`)).join(' ')
    expect(await dialogOf('pause')).toBe(
      'It sends no emails until it is live again. 1 email is waiting. It is skipped if it is due before then.',
    )
    const page = await pages.press(pages.path, 'paused')
    expect(page.status).toBe(303)
    expect(await dialogOf('go-live')).toContain('The waiting email is sent when due, if its rules still pass.')
    const { html } = await pages.browser.get(pages.path)
    expect((await textOf(html, '.page-head .with-badge')).join(' ')).toContain(
      '1 waiting, none sent. Emails due while it is paused are skipped.',
    )
  })

  describe('for a stored draft with a mistake', () => {
    const FAULT = '“{{ event.headline” does not end with }}.'
    const BROKEN = `Subject: ${FAULT}`
    beforeEach(async () => {
      const { id, name, content } = await pages.draft()
      const mail = { ...content.mail, subject: '{{ event.headline' }
      const by = { accountId: pages.begun.accountId, appId: pages.app.id, actor: 'test', at: pages.clock.now() }
      await pages.store.saveMessages({ ...by, drafts: [{ id, name, content: { ...content, mail }, status: 'draft' }] })
    })

    test('shows it in the checklist, next to the field and in the dialog', async () => {
      const { html } = await pages.browser.get(pages.path)
      expect(await textOf(html, '.problems li')).toEqual([BROKEN])
      expect(await textOf(html, '[id="mail.subject-fault"]')).toEqual([`Error: ${FAULT}`])
      expect(await textOf(html, '#go-live-checks p')).toEqual([
        'Fix first: Email.',
        "These don't stop you from going live:",
      ])
      expect(await attributesOf(html, '#go-live-checks .refuses > a', 'href')).toEqual(['#mail.subject'])
      expect((await pages.press(pages.path, 'live')).status).toBe(400)
    })

    test('can only be simulated once fixed', async () => {
      await pages.event({ email: 'bob@example.com' })
      const { html } = await pages.browser.get(pages.path)
      const count = async (changes: Record<string, string>) => {
        const fields = { ...(await fieldsOf(html)), ...changes, show: 'reach' }
        return JSON.parse((await pages.browser.post(`${pages.path}/preview`, fields)).html).fragments.reach
      }
      expect(await count({})).toBe("Recipients can't be counted: fix the problem in the email first.")
      expect(await count({ 'mail.subject': 'Mended' })).toStartWith('Simulated as if live with unsaved changes')
      const { html: refused } = await pages.press(pages.path, 'simulate 30')
      expect(await textOf(refused, '.problems li')).toEqual([BROKEN])
      expect(await textOf(refused, '.outcome')).toEqual([])
    })

    test('works once fixed, without saving first', async () => {
      const { html } = await pages.browser.get(pages.path)
      expect(await textOf(html, '#go-live button[name=do]')).toEqual(['Go live'])
      expect((await pages.press(pages.path, 'live', { 'mail.subject': 'Mended' })).status).toBe(303)
      expect(await pages.draft()).toMatchObject({ status: 'live', content: { mail: { subject: 'Mended' } } })
    })

    test('no longer shows fixed problems after any button', async () => {
      const mended = await pages.press(pages.path, 'preview', { 'mail.subject': 'Mended' })
      expect(await textOf(mended.html, '.problems li, .fault')).toEqual([])
      expect((await textOf(mended.html, '#go-live-checks li')).at(-1)).toBe(
        "To do: Test This text hasn't been tested yet.",
      )
      expect(await textOf(mended.html, '#go-live-checks p')).toEqual(["These don't stop you from going live:"])
      const broken = await pages.press(pages.path, 'preview', { 'mail.subject': 'M', 'mail.body': '{{ x }}' })
      expect(await textOf(broken.html, '.problems li')).toEqual([expect.stringContaining('no variable x.')])
    })

    test('is checked while typing', async () => {
      const { html } = await pages.browser.get(pages.path)
      const check = async (changes: Record<string, string>) => {
        const fields = { ...(await fieldsOf(html)), ...changes, show: 'check' }
        return JSON.parse((await pages.browser.post(`${pages.path}/preview`, fields)).html)
      }
      const still = await check({})
      expect(await textOf(still.fragments.checklist, '.problems li')).toEqual([BROKEN])
      expect(Object.keys(still.faults)).toEqual(['mail.subject'])
      expect(await textOf(still.faults['mail.subject'], '.fault')).toEqual([`Error: ${FAULT}`])
      const mended = await check({ 'mail.subject': 'Mended' })
      expect(mended).toMatchObject({ fragments: { refused: '' }, faults: {} })
      expect(await textOf(mended.fragments.checklist, '.problems li')).toEqual([])
      expect((await check({ 'mail.subject': '', 'wait.minutes': 'x' })).faults).toEqual({
        'mail.subject': expect.any(String),
        'wait.minutes': expect.any(String),
      })
    })
  })
})

describe('pausing', () => {
  beforeEach(() => pages.press(pages.path, 'live'))

  test('pauses the message, which can become a draft', async () => {
    expect((await pages.press(pages.path, 'paused')).status).toBe(303)
    expect(await pages.draft()).toMatchObject({ status: 'paused', version: 1 })
    expect((await pages.press(pages.path, 'draft')).status).toBe(303)
    expect(await pages.draft()).toMatchObject({ status: 'draft' })
  })

  test('works with any input, which stays unsaved', async () => {
    const { status, html } = await pages.press(pages.path, 'paused', { 'mail.subject': '', name: HOSTILE })
    expect(status).toBe(200)
    expect(await pages.draft()).toMatchObject({ status: 'paused', name: 'Results ready, they left' })
    expect((await textOf(html, '[role=alert]'))[0]).toContain('Your changes are not saved yet.')
    const fields = await fieldsOf(html)
    expect(fields.name).toBe(HOSTILE)
    expect(
      (await pages.browser.post(pages.path, { ...fields, name: 'N', 'mail.subject': 'S', do: 'save' })).status,
    ).toBe(303)
  })
})

describe('deleting', () => {
  const buttons = async () => textOf((await pages.browser.get(pages.path)).html, '[popovertarget=delete].danger')

  test('deletes a draft after confirmation, and is in the audit log', async () => {
    expect(await buttons()).toEqual(['Delete'])
    const { id } = await pages.draft()
    const { status, location } = await pages.press(pages.path, 'delete', { 'mail.subject': 'Typed' })
    expect([status, location]).toEqual([303, pages.at('messages')])
    expect((await pages.messages()).map(({ name }) => name)).toEqual(['Results not opened yet'])
    const list = await pages.browser.get(pages.at('messages'))
    expect((await textOf(list.html, '.notice.done'))[0]).toContain('The message was deleted')
    const gone = await pages.browser.get(pages.path)
    expect([gone.status, await textOf(gone.html, 'h1')]).toEqual([404, ['Message deleted']])
    expect(await attributesOf(gone.html, 'main .button', 'href')).toEqual([pages.at('messages')])
    const unknown = await pages.browser.get(pages.at('messages/msg_00000000zzz'))
    expect([unknown.status, await textOf(unknown.html, 'h1')]).toEqual([404, ['Message not found']])
    const audited = `SELECT actor, subject FROM audit_entries WHERE action = 'message.delete'`
    expect(await withSql(pages.folder, async (sql) => await sql.prepare(audited).all())).toEqual([
      { actor: expect.stringMatching(/^mem_/), subject: `${publicId('msg', id)} ["Results ready, they left"]` },
    ])
  })

  test('is remembered, however many people are saved afterwards', async () => {
    await pages.press(pages.path, 'delete')
    const { accountId, actor, at } = { accountId: pages.app.accountId, actor: 'mem_1', at: pages.clock.now() + 1 }
    await inTurns(201, () =>
      pages.store.noteExport({ accountId, actor, at, action: 'contact.export', subject: 'con_1' }),
    )
    await inTurns(201, () => pages.store.noteExport({ accountId, actor, at, action: 'data.export', subject: 'people' }))
    expect(await textOf((await pages.browser.get(pages.path)).html, 'h1')).toEqual(['Message deleted'])
  })

  test('is not offered where people were only held back', async () => {
    await pages.press(pages.path, 'live')
    await pages.press(pages.path, 'paused')
    expect(await buttons()).toEqual(['Delete'])
    const { id: messageId } = await pages.draft()
    const at = pages.clock.now()
    await addDeliveries(
      pages.folder,
      { appId: pages.app.id, messageId, at, count: 1 },
      { state: 'skipped', reason: 'holdback', heldBack: true },
    )
    expect(await buttons()).toEqual([])
    expect((await pages.press(pages.path, 'delete')).status).toBe(409)
  })

  test('refuses live messages and those with deliveries', async () => {
    await pages.press(pages.path, 'live')
    expect(await buttons()).toEqual([])
    const hints = async () => (await textOf((await pages.browser.get(pages.path)).html, '.editor-foot .hint')).join(' ')
    expect(await hints()).toContain("A live message can't be deleted. Pause it instead.")
    const live = await pages.press(pages.path, 'delete')
    expect([live.status, (await textOf(live.html, '[role=alert]'))[0]]).toEqual([
      409,
      expect.stringContaining('Pause it before you delete it'),
    ])
    await pages.event({ properties: { url: 'https://app.example.com/r' } })
    await pages.press(pages.path, 'paused')
    expect(await buttons()).toEqual([])
    expect(await hints()).toContain("It has deliveries, so it can't be deleted.")
    expect((await pages.press(pages.path, 'delete')).status).toBe(409)
    expect(await pages.messages()).toHaveLength(2)
  })

  test('shows a concurrent change first', async () => {
    const fields = await fieldsOf((await pages.browser.get(pages.path)).html)
    pages.clock.ms += 1_000
    await pages.press(pages.path, 'save', { 'mail.subject': 'Theirs' })
    const refused = await pages.browser.post(pages.path, { ...fields, do: 'delete' })
    expect([refused.status, (await textOf(refused.html, '[role=alert]'))[0]]).toEqual([
      409,
      expect.stringContaining('It was not deleted.'),
    ])
    expect((await pages.press(pages.path, 'delete')).status).toBe(303)
  })
})

describe('an event name with a slip', () => {
  const triggerLine = async (event: string): Promise<string | undefined> => {
    const { html } = await pages.press(pages.path, 'preview', { 'trigger.event': event })
    return (await textOf(html, '#checks .checks > li')).find((line) => /: Trigger /.test(line))
  }

  test('is named with the event it may mean, once that one arrived', async () => {
    expect(await triggerLine('result_ready')).toBeUndefined()
    await pages.event()
    expect(await triggerLine('results_ready')).toBeUndefined()
    expect(await triggerLine('invoice_paid')).toBeUndefined()
    expect(await triggerLine('result_ready')).toBe(
      'Note: Trigger No event with this name has arrived. Did you mean results_ready?',
    )
    await pages.event({ event: 'result_ready' })
    expect(await triggerLine('result_ready')).toBeUndefined()
  })
})
