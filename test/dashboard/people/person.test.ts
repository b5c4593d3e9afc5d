import { withSql } from '../../data-folder.ts'
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { publicId } from '../../../src/core/ids.ts'
import { formatTimeInZone } from '../../../src/core/format-time.ts'
import { type ContactFields } from '../../../src/people/contact-input.ts'
import { contactWrite } from '../../../src/people/contacts.ts'
import type { ReportedItem } from '../../../src/store/visit-reports.ts'
import { eventWrite, visitReportWrite } from '../../store/samples.ts'
import { MAIL, putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'
import { inTurns } from '../../helper.ts'

let pages: AccountPages
let browser: Browser
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
})
afterEach(() => pages.close())

const MINUTE = 60_000
const NEW = () => pages.at('people/new')
const ADA = {
  email: 'Ada@Example.com',
  firstName: 'Ada',
  lastName: '',
  source: 'landing page',
  tags: 'beta\n\n paid \nbeta',
  'fields[0].name': 'plan',
  'fields[0].value': 'free',
  'fields[1].name': 'seats',
  'fields[1].value': '3',
  'fields[2].name': 'zip',
  'fields[2].value': '"8001"',
  'fields[3].name': 'isAdmin',
  'fields[3].value': 'true',
}

/** @returns the person's page */
async function addAda(changes: Record<string, string> = {}): Promise<string> {
  const { status, location } = await browser.post(NEW(), { ...ADA, ...changes })
  if (status !== 303 || location === null) throw new Error(`adding answered ${status}`)
  pages.clock.ms += 1
  return location
}
const findAda = async () => {
  const app = await appOf(pages)
  return pages.store.findContact(app.id, 'ada@example.com')
}

/** As one report of the browser script, now. */
async function reportPages(...items: (Pick<ReportedItem, 'type' | 'path'> & { age?: number })[]): Promise<void> {
  const { id: appId, accountId } = await appOf(pages)
  const at = pages.clock.now()
  const reported = items.map(({ age = 0, ...item }) => ({ ...item, name: null, occurredAt: at - age }))
  const email = 'ada@example.com'
  await pages.store.recordVisitReport(
    visitReportWrite({ accountId, appId, email, at, reportId: `load.${at}`, items: reported }),
  )
}
const errorsOf = (html: string) => textOf(html, '.fault')

describe('a field that is not the date that a live message needs', () => {
  const FIELDS = { 'fields[0].name': 'renewsOn', 'fields[1].name': 'endsOn', 'fields[1].value': 'later' }
  const caution = async (path: string | null) =>
    (await textOf((await browser.get(path ?? '')).html, '[role=status]')).map((text) => text.replace(/ Enter .*/, ''))
  const trigger = (date: string) => ({ date, days: 3, when: 'before' as const })

  test('is saved with a warning, once', async () => {
    const app = await appOf(pages)
    await putMessage(pages, { app, content: { ...MAIL, trigger: trigger('renewsOn') } })
    const path = await addAda({ ...FIELDS, 'fields[0].value': '30.11.2026' })
    const { html } = await browser.get(path)
    expect(await textOf(html, '[role=status]')).toEqual([
      'Caution: The person was added. One field is not a date, so it triggers no message for this person. Enter a date like 2026-11-30 or 2026-11-30T09:00:00Z. See which field it is under Emails.',
    ])
    expect((await textOf(html, '#mail')).join()).toContain('has 30.11.2026 in the field renewsOn, which is not a date.')
    expect(await caution(path)).toEqual([])
    const edit = async (fields: Record<string, string>) =>
      caution((await browser.submit(`${path}/edit`, `${path}/edit`, fields)).location)
    expect(await edit({ firstName: 'Eve' })).toEqual(['Done: The person was saved.'])
    await putMessage(pages, { app, name: 'Ends', content: { ...MAIL, trigger: trigger('endsOn') } })
    expect(await edit({ ...FIELDS, 'fields[0].value': 'soon', 'fields[1].value': 'never' })).toEqual([
      'Caution: The person was saved. 2 fields are not dates, so they trigger no messages for this person.',
    ])
    expect(await edit({ ...FIELDS, 'fields[0].value': '2026-11-30', 'fields[1].value': '' })).toEqual([
      'Done: The person was saved.',
    ])
  })

  test('needs no warning without the message', async () => {
    const path = await addAda({ ...FIELDS, 'fields[0].value': '30.11.2026' })
    expect(await caution(path)).toEqual(['Done: The person was added.'])
  })
})

describe('adding a person', () => {
  test('saves what was typed, with numbers, true and false as such', async () => {
    const { html } = await browser.get(await addAda())
    expect(await textOf(html, 'h1')).toEqual(['ada@example.com'])
    expect(html).toContain('The person was added.')
    expect(await findAda()).toMatchObject({
      firstName: 'Ada',
      lastName: null,
      source: 'landing page',
      tags: ['beta', 'paid'],
      fields: { plan: 'free', seats: 3, zip: '8001', isAdmin: true },
    })
  })

  test('requires only the email', async () => {
    const { html } = await browser.get(NEW())
    const optional = await attributesOf(html, 'main form input:not([required])', 'name')
    const required = await attributesOf(html, 'main form [required]', 'name')
    expect([optional?.length, required]).toEqual([9, ['email']])
  })

  test('refuses a wrong email and keeps the rest', async () => {
    const { status, html } = await browser.post(NEW(), { ...ADA, email: 'ada@' })
    expect(status).toBe(400)
    expect(await errorsOf(html)).toHaveLength(1)
    expect(await attributesOf(html, '#firstName', 'value')).toEqual(['Ada'])
    expect(await attributesOf(html, '[name="fields[0].value"]', 'value')).toEqual(['free'])
    expect(await findAda()).toBeNull()
  })

  test('puts the focus in the first field with an error', async () => {
    const { html } = await browser.post(NEW(), { ...ADA, tags: 't'.repeat(65), source: 's'.repeat(65) })
    expect(await errorsOf(html)).toHaveLength(2)
    expect(await attributesOf(html, '[autofocus]', 'name')).toEqual(['source'])
  })

  test('refuses a person who is already here, without changing them', async () => {
    const path = await addAda()
    const { status, html } = await browser.post(NEW(), { ...ADA, firstName: 'Eve' })
    expect(status).toBe(409)
    expect(await errorsOf(html)).toEqual([
      'Error: This app already has a person with this email. Edit that person instead.',
    ])
    expect(await attributesOf(html, '.fault > a', 'href')).toEqual([`${path}/edit`])
    expect((await findAda())?.firstName).toBe('Ada')
  })

  test.each([
    ['without a name', { 'fields[0].name': '' }, 'Name each field.'],
    ['twice', { 'fields[1].name': 'plan' }, 'Use each name only once.'],
    ['with a name that the API refuses', { 'fields[0].name': 'a b' }, 'Use 1 to 64 characters for each name'],
  ])('refuses a field %s', async (_, changes, message) => {
    const { status, html } = await browser.post(NEW(), { ...ADA, ...changes })
    expect([status, (await errorsOf(html))[0]]).toEqual([400, expect.stringContaining(message)])
    expect(await findAda()).toBeNull()
  })

  test('says what to enter instead of an incomplete email', async () => {
    const { html } = await browser.post(NEW(), { ...ADA, email: 'ada' })
    expect((await errorsOf(html))[0]).toContain('Enter one complete email address')
    const { html: accented } = await browser.post(NEW(), { ...ADA, email: 'zoë@example.com' })
    expect(await errorsOf(accented)).toEqual([
      'Error: Use only ASCII characters before the @, such as letters without accents.',
    ])
  })

  test('counts towards the plan', async () => {
    await pages.store.setPlan({
      accountId: pages.begun.accountId,
      plan: { newPeoplePerMonth: 0 },
      actor: 'test',
      at: pages.clock.now(),
    })
    const { status, html } = await browser.post(NEW(), ADA)
    expect(status).toBe(403)
    expect((await textOf(html, '[role=alert]'))[0]).toContain('plan')
  })

  test('is for editors', async () => {
    await pages.addMember('eve@example.com', 'viewer')
    const viewer = await pages.signedIn('eve@example.com')
    expect((await viewer.get(pages.at('people'))).html).not.toContain('people/new')
    expect([(await viewer.get(NEW())).status, (await viewer.post(NEW(), ADA)).status]).toEqual([403, 403])
  })

  test('says when it cannot be saved', async () => {
    const failing = spyOn(pages.store, 'addContact').mockResolvedValue({ refusal: 'unavailable' })
    const { status, html } = await browser.post(NEW(), ADA)
    failing.mockRestore()
    expect(status).toBe(503)
    expect(await attributesOf(html, '#firstName', 'value')).toEqual(['Ada'])
  })
})

describe('editing a person', () => {
  const edit = async (path: string, changes: Record<string, string>) => {
    const { html } = await browser.get(`${path}/edit`)
    const [names, values] = await Promise.all(
      ['name', 'value'].map((attribute) => attributesOf(html, 'main form input', attribute)),
    )
    const shown = Object.fromEntries((names ?? []).map((name, index) => [name ?? '', values?.[index] ?? '']))
    return browser.post(`${path}/edit`, { ...shown, tags: (await textOf(html, 'textarea'))[0] ?? '', ...changes })
  }

  test('shows what is saved, and saves it unchanged', async () => {
    const path = await addAda()
    const before = await findAda()
    expect((await edit(path, {})).status).toBe(303)
    expect(await findAda()).toEqual(before)
  })

  test('changes, adds and removes', async () => {
    const path = await addAda()
    const changes = {
      lastName: 'Lovelace',
      tags: 'paid\nvip',
      'fields[0].value': 'pro',
      'fields[1].name': '',
      'fields[1].value': '',
      'fields[3].value': '',
      'fields[4].name': 'city',
      'fields[4].value': HOSTILE,
    }
    expect((await edit(path, changes)).location).toBe(path)
    expect(await findAda()).toMatchObject({
      lastName: 'Lovelace',
      tags: ['paid', 'vip'],
      fields: { plan: 'pro', zip: '8001', city: HOSTILE },
    })
    expect(Object.keys((await findAda())?.fields ?? {})).toEqual(['plan', 'zip', 'city'])
    const { html } = await browser.get(path)
    await expectHarmless(html)
    expect(await textOf(html, '.day h3')).toEqual(['Today'])
    expect((await textOf(html, '.timeline > li > div > span'))[0]).toBe('ChangeDetails changed')
    expect(await textOf(html, '.timeline > li > .hint')).toEqual(['By ada@example.com', 'By ada@example.com'])
    expect(await textOf(html, '.followed li')).toEqual([
      'Last name: Lovelace',
      'Tags added: vip',
      'Tags removed: beta',
      `city: ${HOSTILE}`,
      'isAdmin: removed (was true)',
      'plan: free → pro',
      'seats: removed (was 3)',
    ])
  })

  test('is in the audit log, like adding, without values', async () => {
    const path = await addAda()
    await edit(path, {})
    await edit(path, { lastName: 'Lovelace', tags: 'beta', 'fields[0].value': 'team' })
    const text = "SELECT action, subject FROM audit_entries WHERE action LIKE 'contact.%' ORDER BY id"
    const found = await withSql(pages.folder, async (sql) => await sql.prepare(text).all())
    const id = path.split('/').at(-1) ?? ''
    expect(found).toEqual([
      { action: 'contact.add', subject: id },
      { action: 'contact.change', subject: `${id} ["lastName","tags","fields.plan"]` },
    ])
    const rows = await textOf((await browser.get(pages.at('audit'))).html, 'tbody tr td:nth-child(3)')
    expect(rows.slice(0, 2)).toEqual([
      'changed the person ada@example.com: last name, tags, “plan”',
      'added the person ada@example.com',
    ])
  })

  test('is in the audit log if only topics changed', async () => {
    await browser.post(pages.at('sender/topics'), { name: 'Tips', description: '' })
    const path = await addAda()
    const [topic] = await pages.store.listTopics((await appOf(pages)).id)
    const shown = { [`${publicId('top', topic?.id ?? 0)}.shown`]: 'on' }
    const isOn = { [publicId('top', topic?.id ?? 0)]: 'on' }
    const log = async () => textOf((await browser.get(pages.at('audit?kind=people'))).html, 'td[data-label=What]')
    await browser.post(`${path}/topics`, { ...shown, ...isOn })
    expect(await log()).toEqual(['added the person ada@example.com'])
    for (const fields of [shown, shown, { ...shown, ...isOn }]) {
      pages.clock.ms += 1
      await browser.post(`${path}/topics`, fields)
    }
    const changed = 'changed the person ada@example.com: topics'
    expect(await log()).toEqual([changed, changed, 'added the person ada@example.com'])
  })

  describe('that changes meanwhile', () => {
    /** @returns what a browser sends from the form as it is now */
    const openForm = async (path: string): Promise<Record<string, string>> =>
      formOf((await browser.get(`${path}/edit`)).html)
    const formOf = async (html: string): Promise<Record<string, string>> => {
      const [names, values] = await Promise.all(
        ['name', 'value'].map((attribute) => attributesOf(html, 'main form input', attribute)),
      )
      const valueOf = (name: string, value: string): string =>
        name.startsWith('shown.') ? value : value.replaceAll('\n', '')
      const sent = (names ?? []).map((name, index) => [name ?? '', valueOf(name ?? '', values?.[index] ?? '')] as const)
      return { ...Object.fromEntries(sent), tags: (await textOf(html, 'textarea'))[0] ?? '' }
    }
    const changeByApi = async (changes: Partial<ContactFields>) => {
      const app = await appOf(pages)
      const email = 'ada@example.com'
      const fields = {
        app: app.publicId,
        email,
        emailShown: email,
        tags: [],
        removeTags: [],
        fields: null,
      }
      const context = {
        access: { plan: { newPeoplePerMonth: null } },
        app,
        via: 'api' as const,
        limits: [],
        idempotency: null,
      }
      pages.clock.ms += 1
      await pages.store.updateContact(contactWrite(pages, context, { ...fields, ip: null, ...changes }))
      pages.clock.ms += 1
    }

    test('keeps what the API changed, and saves what was typed', async () => {
      const path = await addAda()
      const form = await openForm(path)
      await changeByApi({
        lastName: 'King',
        tags: ['vip'],
        removeTags: ['paid'],
        fields: { plan: 'pro', seats: null, city: 'Paris' },
      })
      const typed = { firstName: 'Augusta', tags: `${form.tags}\nnew`, 'fields[2].value': '"9000"' }
      expect((await browser.post(`${path}/edit`, { ...form, ...typed })).status).toBe(303)
      expect(await findAda()).toMatchObject({ firstName: 'Augusta', lastName: 'King', source: 'landing page' })
      const { tags, fields } = (await findAda()) ?? {}
      expect(tags?.toSorted()).toEqual(['beta', 'new', 'vip'])
      expect(fields).toEqual({ plan: 'pro', zip: '9000', isAdmin: true, city: 'Paris' })
    })

    test('shows a conflict with who and what, keeps what was typed, and saves it the second time', async () => {
      const path = await addAda()
      const form = await openForm(path)
      await changeByApi({ firstName: 'Countess', lastName: 'King', fields: { plan: 'pro', seats: 9 } })
      const typed = {
        firstName: 'Augusta',
        'fields[0].value': 'team',
        'fields[4].name': 'city',
        'fields[4].value': 'Rome',
      }
      const refused = await browser.post(`${path}/edit`, { ...form, ...typed })
      expect(refused.status).toBe(409)
      expect((await textOf(refused.html, '[role=alert]'))[0]).toBe(
        'Error: The API changed this person while you were editing: First name (now Countess); plan (now pro). Nothing was saved. Save again to overwrite these changes.',
      )
      expect(await findAda()).toMatchObject({ firstName: 'Countess', fields: { plan: 'pro', seats: 9 } })
      const again = await formOf(refused.html)
      expect(again).toMatchObject({ firstName: 'Augusta', lastName: 'King', 'fields[0].value': 'team' })
      expect((await browser.post(`${path}/edit`, again)).status).toBe(303)
      expect(await findAda()).toMatchObject({
        firstName: 'Augusta',
        lastName: 'King',
        fields: { plan: 'team', seats: 9, zip: '8001', isAdmin: true, city: 'Rome' },
      })
    })

    test('clears names and the source', async () => {
      const path = await addAda()
      const form = await openForm(path)
      expect((await browser.post(`${path}/edit`, { ...form, firstName: '', source: ' ' })).status).toBe(303)
      expect(await findAda()).toMatchObject({ firstName: null, source: null, tags: ['beta', 'paid'] })
    })

    test('names the member, and no conflict where both typed the same', async () => {
      const path = await addAda()
      const form = await openForm(path)
      expect((await browser.post(`${path}/edit`, { ...form, source: 'podcast', lastName: 'King' })).status).toBe(303)
      pages.clock.ms += 1
      const refused = await browser.post(`${path}/edit`, { ...form, source: 'radio', lastName: 'King' })
      expect((await textOf(refused.html, '[role=alert]'))[0]).toStartWith(
        'Error: ada@example.com changed this person while you were editing: Source (now podcast).',
      )
    })

    test('names nobody for a change that is not on the timeline', async () => {
      const path = await addAda()
      const form = await openForm(path)
      // what changes with the adding is no change
      pages.clock.ms -= 2
      await changeByApi({ lastName: 'King' })
      const refused = await browser.post(`${path}/edit`, { ...form, lastName: 'Byron' })
      expect((await textOf(refused.html, '[role=alert]'))[0]).toStartWith('Error: Someone changed this person')
    })

    test('keeps what the form showed after an error', async () => {
      const path = await addAda()
      const form = await openForm(path)
      await changeByApi({ lastName: 'King', tags: ['vip'] })
      const refused = await browser.post(`${path}/edit`, { ...form, 'fields[4].value': 'nameless' })
      expect(refused.status).toBe(400)
      const again = { ...(await formOf(refused.html)), 'fields[4].name': 'city' }
      expect((await browser.post(`${path}/edit`, again)).status).toBe(303)
      expect(await findAda()).toMatchObject({
        lastName: 'King',
        tags: ['beta', 'paid', 'vip'],
        fields: { city: 'nameless', plan: 'free' },
      })
    })

    test('leaves values with line feeds and outer spaces, and the largest form fits', async () => {
      const path = await addAda()
      const texts = Object.fromEntries(
        Array.from({ length: 90 }, (_, number) => [`key${number}`, ` ${number}\n${'ü'.repeat(70)} `]),
      )
      const tags = (from: number): string[] =>
        Array.from({ length: 50 }, (_, number) => `${'ü'.repeat(60)}${from + number}`)
      await changeByApi({ fields: texts, tags: tags(100) })
      await changeByApi({ tags: tags(150) })
      const before = await findAda()
      const { status } = await browser.post(`${path}/edit`, { ...(await openForm(path)), lastName: 'King' })
      expect(status).toBe(303)
      expect(await findAda()).toMatchObject({ lastName: 'King', fields: before?.fields, tags: before?.tags })
    })
  })

  test('is for editors of the account', async () => {
    const path = await addAda()
    await pages.addMember('eve@example.com', 'viewer')
    const viewer = await pages.signedIn('eve@example.com')
    expect((await viewer.get(path)).html).not.toContain('/edit')
    expect([(await viewer.get(`${path}/edit`)).status, (await viewer.post(`${path}/edit`, {})).status]).toEqual([
      403, 403,
    ])
    expect((await browser.get(pages.at('people/con_000000000001/edit'))).status).toBe(404)
  })
})

describe('the timeline', () => {
  test('begins with the member who added the person', async () => {
    const { html } = await browser.get(await addAda())
    expect(await textOf(html, '.timeline > li')).toEqual([
      expect.stringMatching(/^ChangeAdded\d\d:\d\dBy ada@example\.com$/),
    ])
  })

  test('has events, emails, changes and page views by day, in order, and goes on', async () => {
    const path = await addAda()
    const app = await appOf(pages)
    const at = pages.clock.now()
    await inTurns(60, (number) =>
      pages.store.recordEvent(
        eventWrite({
          accountId: app.accountId,
          appId: app.id,
          email: 'ada@example.com',
          name: `event_${number}`,
          at: at + number,
          occurredAt: at + number,
        }),
      ),
    )
    pages.clock.ms = at + 24 * 60 * MINUTE
    browser = await pages.signedIn()
    const actor = { email: 'ada@example.com', why: 'asked', reason: 'unsubscribed' }
    await browser.post(pages.at('suppressions/new'), { addresses: actor.email, why: actor.why, reason: actor.reason })
    const names = async (query: string) => {
      const { html } = await browser.get(`${path}${query}`)
      const [older] = await attributesOf(html, '.pager [rel=next]', 'href')
      const days = await textOf(html, '.day h3')
      return { days, names: await textOf(html, '.timeline > li > div > span'), older }
    }
    const first = await names('')
    expect(first.days).toEqual(['Today', 'Yesterday'])
    expect(first.names.slice(0, 3)).toEqual(['ChangeUnsubscribed', 'Eventevent_59', 'Eventevent_58'])
    const second = await names((first.older ?? '').replace(path, ''))
    expect([...first.names, ...second.names].slice(1)).toEqual([
      ...Array.from({ length: 60 }, (_, number) => `Eventevent_${59 - number}`),
      'ChangeAdded',
    ])
  })

  test('has the items of a page report in the order in which they happened', async () => {
    const path = await addAda()
    await reportPages(
      { type: 'page', path: '/one', age: 4 },
      { type: 'here', path: '/one', age: 3 },
      { type: 'page', path: '/two', age: 2 },
      { type: 'leave', path: '/two', age: 1 },
    )
    const { html } = await browser.get(path)
    const shown = await textOf(html, '.timeline > li > div > span')
    expect(shown.slice(0, 4)).toEqual(['PageLeft /two', 'Page view/two', 'PageBack on /one', 'Page view/one'])
  })

  test('has an event that was received late on the day it was received, and says when it happened', async () => {
    const path = await addAda()
    const app = await appOf(pages)
    const at = pages.clock.now()
    const send = async (name: string, occurredAt: number) =>
      await pages.store.recordEvent(
        eventWrite({ accountId: app.accountId, appId: app.id, email: 'ada@example.com', name, at, occurredAt }),
      )
    await send('first', at)
    await send('late', at - 6 * 24 * 60 * MINUTE)
    await send('last', at - 1_000)
    const { html } = await browser.get(path)
    expect(await textOf(html, '.day h3')).toEqual(['Today'])
    expect(await textOf(html, '.timeline > li > div > span')).toEqual([
      'Eventlast',
      'Eventlate',
      'Eventfirst',
      'ChangeAdded',
    ])
    expect(new Set(await textOf(html, '.timeline > li > div > time')).size).toBe(1)
    expect(await textOf(html, '.timeline > li > .hint')).toEqual([
      `Happened on ${formatTimeInZone(at - 6 * 24 * 60 * MINUTE, 'UTC')}.`,
      'By ada@example.com',
    ])
    expect(await textOf(html, '#timeline > .hint')).toEqual(['In order of arrival.'])
  })

  test('says who came back after an email, and who unsubscribed by its link', async () => {
    const path = await addAda()
    const app = await appOf(pages)
    await putMessage(pages, { app, content: MAIL })
    await sendEvent(pages, { app, email: 'ada@example.com' })
    await sendDue(pages)
    const contact = await pages.store.findContact(app.id, 'ada@example.com')
    const query = { appId: app.id, messageId: null, contactId: null, states: null, before: null, limit: 1 }
    const [delivery] = await pages.store.listDeliveries(query)
    const handedAt = delivery?.handedAt ?? 0
    const comeBack = `UPDATE deliveries SET state = 'sent', came_back_at = ?`
    await withSql(pages.folder, async (sql) => await sql.prepare(comeBack).run(handedAt + 47_000))
    await pages.store.unsubscribe({ contactId: contact?.id ?? 0, at: pages.clock.now() + MINUTE })
    const hints = await textOf((await browser.get(path)).html, '.timeline > li > .hint')
    expect(hints).toEqual(expect.arrayContaining(['By the person, from an email', 'Came back 47 s later.']))
  })

  describe('shows when pages were left and returned to', () => {
    const linesOf = async (path: string) => {
      const { html } = await browser.get(path)
      return [await textOf(html, '.timeline > li > div > span'), await textOf(html, '.timeline > li > .hint')]
    }

    test('between events, one line each', async () => {
      const path = await addAda()
      await reportPages({ type: 'page', path: '/upload' })
      pages.clock.ms += MINUTE
      await reportPages({ type: 'leave', path: '/upload' })
      pages.clock.ms += MINUTE
      await sendEvent(pages, { app: await appOf(pages), email: 'ada@example.com' })
      pages.clock.ms += MINUTE
      await reportPages({ type: 'here', path: '/upload' })
      const lines = ['PageBack on /upload', 'Eventresults_ready', 'PageLeft /upload', 'Page view/upload', 'ChangeAdded']
      expect(await linesOf(path)).toEqual([lines, ['Ready', 'By ada@example.com']])
    })

    test('that arrive late at the time they were received, like events, with the time they happened', async () => {
      const path = await addAda()
      await reportPages({ type: 'page', path: '/upload' })
      pages.clock.ms += 20 * MINUTE
      await sendEvent(pages, { app: await appOf(pages), email: 'ada@example.com' })
      pages.clock.ms += MINUTE
      await reportPages({ type: 'leave', path: '/upload', age: 15 * MINUTE })
      const [lines, details] = await linesOf(path)
      expect(lines).toEqual(['PageLeft /upload', 'Eventresults_ready', 'Page view/upload', 'ChangeAdded'])
      expect(details).toEqual([expect.stringMatching(/^Happened on .+\.$/), 'Ready', 'By ada@example.com'])
      const times = await attributesOf((await browser.get(path)).html, '.timeline > li time:first-of-type', 'datetime')
      expect(times.length).toBeGreaterThanOrEqual(3)
      expect(new Date(times[0] ?? '').getTime()).toBe(pages.clock.ms)
    })

    test('many in a row as one line a visit, on one page', async () => {
      const path = await addAda()
      await reportPages({ type: 'page', path: '/upload' })
      for (let visit = 0; visit < 2; visit += 1) {
        pages.clock.ms += 30 * MINUTE
        for (let number = 0; number < 30; number += 1) {
          await reportPages({ type: 'leave', path: '/upload' })
          pages.clock.ms += 1_000
          await reportPages({ type: 'here', path: '/upload' })
          pages.clock.ms += 1_000
        }
        await reportPages({ type: 'leave', path: '/wait' })
      }
      const counts = expect.stringMatching(/^Left 31 times and came back 30 times after \d\d:\d\d\.$/)
      expect(await linesOf(path)).toEqual([
        ['PageLeft /wait', 'PageLeft /wait', 'Page view/upload', 'ChangeAdded'],
        [counts, counts, 'By ada@example.com'],
      ])
      const { html } = await browser.get(path)
      expect(await attributesOf(html, '.pager [rel=next]', 'href')).toEqual([])
    })

    test('on later pages too, each once', async () => {
      const path = await addAda()
      const app = await appOf(pages)
      for (let number = 0; number < 30; number += 1) {
        await reportPages({ type: 'leave', path: `/${number}` })
        pages.clock.ms += 1_000
        await reportPages({ type: 'here', path: `/${number}` })
        pages.clock.ms += 1_000
        await sendEvent(pages, { app, email: 'ada@example.com' })
        pages.clock.ms += 1_000
      }
      const first = await browser.get(path)
      const [older] = await attributesOf(first.html, '.pager [rel=next]', 'href')
      const both = [first, await browser.get(older ?? '')].map(({ html }) =>
        textOf(html, '.timeline > li > div > span'),
      )
      const shown = (await Promise.all(both)).flat().filter((line) => line.startsWith('Page'))
      expect(shown).toEqual(Array.from({ length: 30 }, (_, number) => `PageBack on /${29 - number}`))
    })
  })

  test('follows the newest emails, also of one message', async () => {
    const path = await addAda()
    const app = await appOf(pages)
    const again = { once: 'property', property: 'n' } as const
    await putMessage(pages, { app, content: { ...MAIL, again } })
    const shown = async () => {
      const { html } = await browser.get(path)
      const [all = null] = await attributesOf(html, '#mail > p a', 'href')
      return { badges: await textOf(html, '#mail > ul > li .badge'), all }
    }
    const send = async (from: number, to: number) => {
      for (let n = from; n < to; n += 1) {
        await sendEvent(pages, { app, email: 'ada@example.com', properties: { headline: 'Ready', n } })
        pages.clock.ms += 1_000
      }
    }
    await send(0, 2)
    await sendDue(pages)
    await send(2, 3)
    const drafts = ['Draft', 'Draft']
    expect(await shown()).toEqual({ badges: ['Waiting', 'Captured', 'Captured', ...drafts], all: null })
    await send(3, 10)
    const { badges, all } = await shown()
    expect(badges).toEqual(Array(8).fill('Waiting'))
    expect(await textOf((await browser.get(all ?? '')).html, 'tbody tr, .deliveries > li')).toHaveLength(10)
  })

  test('shows an email at the time it was sent, and a waiting one first', async () => {
    const path = await addAda()
    const app = await appOf(pages)
    const content = { ...MAIL, wait: { minutes: 10 } }
    await putMessage(pages, { app, content })
    await sendEvent(pages, { app, email: 'ada@example.com' })
    const { html } = await browser.get(path)
    const shown = await textOf(html, '.timeline > li > div > span')
    expect(shown).toEqual([expect.stringMatching(/^Email.*Waiting$/), 'Eventresults_ready', 'ChangeAdded'])
    const clock = expect.stringMatching(/^\d\d:\d\d$/)
    expect(await textOf(html, '.timeline div > time')).toEqual([expect.stringMatching(/^Due \d\d:\d\d$/), clock, clock])
    expect(await textOf(html, '.lead')).toEqual([expect.stringContaining('Last event just now.')])
    expect((await textOf(html, '.timeline > li > .hint'))[0]).toBe('Due in 10 min.')
    pages.clock.ms += 14 * MINUTE
    await sendEvent(pages, { app, email: 'ada@example.com', properties: { headline: 'Again' } })
    pages.clock.ms += MINUTE
    await sendDue(pages)
    const later = (await browser.get(path)).html
    expect(await textOf(later, '.timeline > li > div > span')).toEqual([
      'EmailA messageCaptured',
      'Eventresults_ready',
      'Eventresults_ready',
      'ChangeAdded',
    ])
    expect(await textOf(later, '.followed .hint')).toEqual([
      expect.stringContaining('This message is sent once per person.'),
    ])
  })
})

describe('the export of one person', () => {
  test('has all that is stored, as JSON', async () => {
    const path = await addAda()
    const app = await appOf(pages)
    const at = pages.clock.now()
    await inTurns(450, (number) =>
      pages.store.recordEvent(
        eventWrite({
          accountId: app.accountId,
          appId: app.id,
          email: 'ada@example.com',
          name: `event_${number}`,
          properties: JSON.stringify({ number }),
          at: at + number,
          occurredAt: at + number,
        }),
      ),
    )
    await browser.post(`${path}/edit`, { ...ADA, lastName: 'Lovelace' })
    const { html, headers } = await browser.get(`${path}/export`)
    const record = JSON.parse(html) as Record<string, unknown> & { events: { event: string }[] }
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="con_\w+\.json"$/)
    expect(record).toMatchObject({
      person: { email: 'ada@example.com', fields: { plan: 'free' } },
      suppression: null,
      emails: [],
      changes: [{ lastName: [null, 'Lovelace'] }, { added: true }],
    })
    expect(record.events.map(({ event }) => event)).toEqual(
      Array.from({ length: 450 }, (_, number) => `event_${449 - number}`),
    )
    expect((await pages.get(`${path}/export`)).status).toBe(303)
  })

  test('has every report of a page, also many', async () => {
    const path = await addAda()
    for (let number = 0; number < 120; number += 1) {
      await reportPages({ type: 'leave', path: `/${number}` }, { type: 'here', path: `/${number}` })
      pages.clock.ms += 1_000
      await reportPages({ type: 'leave', path: `/${number}` })
      pages.clock.ms += 1_000
    }
    const { pageReports } = JSON.parse((await browser.get(`${path}/export`)).html) as { pageReports: object[] }
    expect(pageReports).toHaveLength(240)
    const at = new Date(pages.clock.now() - 1_000).toISOString()
    expect(pageReports[0]).toEqual({ type: 'leave', path: '/119', at })
  })

  test('has every email, in pages', async () => {
    const path = await addAda()
    const app = await appOf(pages)
    await putMessage(pages, {
      app,
      content: { ...MAIL, wait: { minutes: 10 }, again: { once: 'property', property: 'headline' } },
    })
    await inTurns(205, (number) =>
      sendEvent(pages, { app, email: 'ada@example.com', properties: { headline: `${number}` } }),
    )
    const { emails } = JSON.parse((await browser.get(`${path}/export`)).html) as {
      emails: { id: string; why: string }[]
    }
    expect(new Set(emails.map(({ id }) => id)).size).toBe(205)
    expect(emails[0]?.why).toStartWith('It is waiting.')
  })
})
