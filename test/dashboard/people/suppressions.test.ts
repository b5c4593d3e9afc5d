import { withSql } from '../../data-folder.ts'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { publicId } from '../../../src/core/ids.ts'
import { type AccountPages, appOf, type Browser, hiddenFieldsOf, openAccount } from '../browser.ts'
import { putMessage, sendEvent } from '../messages/mailing.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
let app: AppRow
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
  app = await appOf(pages)
})
afterEach(() => pages.close())

const BOB = 'bob@example.com'
const path = (what = '') => pages.at(`suppressions${what}`)
const see = async (query = '') => (await browser.get(path(query))).html
async function find(email: string, as = browser) {
  const answer = await as.post(path(), { email })
  return answer.location === null ? answer : as.get(answer.location)
}
const suppress = (email: string, reason: 'unsubscribed' | 'bounced' | 'complained' = 'unsubscribed') =>
  pages.store.suppress({ appId: app.id, email, reason, at: pages.clock.now() })
const rowsIn = (html: string) => textOf(html, 'td[data-label=Address]')

async function erase(email: string): Promise<void> {
  const by = { accountId: app.accountId, actor: 'test', at: pages.clock.now() }
  await pages.store.eraseContact({ ...by, appId: app.id, email })
}

/** Actions and subjects of the audit list, oldest first. */
const audited = (): Promise<{ action: string; subject: string }[]> =>
  withSql(pages.folder, async (sql) => {
    const text = `SELECT action, subject FROM audit_entries WHERE action LIKE 'suppression.%' ORDER BY created_at, id`
    return await sql.prepare<{ action: string; subject: string }>(text).all()
  })

describe('the list', () => {
  test('is empty', async () => {
    const html = await see()
    expect(await textOf(html, '.empty h2, .page-head .lead')).toEqual(['No addresses yet.', 'No suppressions'])
    expect(await textOf(html, '.page-head .button')).toEqual(['Add addresses'])
  })

  test('has one row for each address, of people with a link', async () => {
    await sendEvent(pages, { app, email: BOB })
    await sendEvent(pages, { app, email: 'carol@example.com' })
    await suppress(BOB)
    pages.clock.ms += 1
    await suppress('gone@example.com', 'complained')
    const html = await see()
    expect(await rowsIn(html)).toEqual(['gone@example.com', BOB])
    expect(await textOf(html, 'td .badge')).toEqual(['Complained', 'Unsubscribed'])
    const bob = await pages.store.findContact(app.id, BOB)
    expect(await attributesOf(html, 'td[data-label=Address] a', 'href')).toEqual([
      pages.at(`people/${publicId('con', bob?.id ?? 0)}`),
    ])
    expect(await textOf(html, '.page-head .lead')).toEqual(['2 addresses, newest first.'])
  })

  test('shows no address and no hash of an erased person, until the person is back', async () => {
    await sendEvent(pages, { app, email: BOB })
    const cause = { by: 'report', kind: 'bounced', provider: 'postmark', text: `550 ${BOB} unknown` } as const
    await pages.store.suppress({ appId: app.id, email: BOB, reason: 'bounced', at: pages.clock.now(), cause })
    expect(await textOf(await see(), 'td .cause')).toEqual([`Postmark reported a hard bounce: “550 ${BOB} unknown”`])
    const [row] = await pages.store.listSuppressions({ appId: app.id, reason: null, before: null, limit: 1 })
    await erase(BOB)
    const html = await see()
    expect(await rowsIn(html)).toEqual(['Erased person'])
    expect(await textOf(html, 'td .cause')).toEqual(['Postmark reported a hard bounce'])
    expect([html.includes(BOB), html.includes(row?.emailHash.slice(0, 8) ?? BOB)]).toEqual([false, false])
    expect(await attributesOf(html, 'td form', 'action')).toEqual([])
    await sendEvent(pages, { app, email: BOB })
    expect(await rowsIn(await see())).toEqual([BOB])
  })

  test('shows no erased address that never had a person, and keeps it suppressed', async () => {
    await suppress(BOB)
    await erase(BOB)
    expect(await rowsIn(await see())).toEqual(['Erased person'])
    expect(await pages.store.findSuppression(app.id, BOB)).toBe('unsubscribed')
  })

  test('pages, and is filtered by reason', async () => {
    for (let i = 0; i < 120; i++) {
      pages.clock.ms += i % 3
      await suppress(`p${i}@example.com`, i % 2 === 0 ? 'bounced' : 'unsubscribed')
    }
    const walk = async (start: string): Promise<string[]> => {
      const found: string[] = []
      for (let query: string | undefined = start; query !== undefined;) {
        const html = await see(query)
        found.push(...(await rowsIn(html)))
        const [href] = await attributesOf(html, '.pager [rel=next]', 'href')
        query = href?.slice(path().length)
      }
      return found
    }
    for (const [query, count] of [
      ['', 120],
      ['?reason=bounced', 60],
      ['?reason=unsubscribed', 60],
      ['?reason=complained', 0],
    ] as const) {
      const found = await walk(query)
      expect([query, found.length, new Set(found).size]).toEqual([query, count, count])
    }
  })

  test('is counted and exported as it is filtered or searched', async () => {
    for (const [email, reason] of [
      [BOB, 'bounced'],
      ['bobby@example.com', 'unsubscribed'],
      ['carol@example.com', 'unsubscribed'],
      ['gone@example.com', 'unsubscribed'],
    ] as const) {
      pages.clock.ms += 1
      await suppress(email, reason)
    }
    await erase('gone@example.com')
    const shownOn = async (html: string) => {
      const [lead = ''] = await textOf(html, '.page-head .lead')
      const hrefs = await attributesOf(html, '.page-head a', 'href')
      const href = hrefs.find((one) => one?.includes('/export')) ?? null
      const [, ...lines] = href === null ? [''] : (await browser.get(href)).html.split('\r\n')
      return { lead: lead.split(/[.,]/)[0], href, exported: lines.map((line) => line.split(',')[0]).filter(Boolean) }
    }
    const all = await shownOn(await see())
    expect(all).toMatchObject({ lead: '4 addresses', exported: ['carol@example.com', 'bobby@example.com', BOB] })
    expect(await shownOn(await see('?reason=bounced'))).toMatchObject({ lead: '1 address matches', exported: [BOB] })
    expect(await shownOn(await see('?reason=unsubscribed'))).toMatchObject({
      lead: '3 addresses match',
      exported: ['carol@example.com', 'bobby@example.com'],
    })
    expect(await shownOn(await see('?reason=complained'))).toMatchObject({ lead: 'No addresses match', href: null })
    const { location } = await browser.post(path(), { email: 'Bob' })
    expect(location).toMatch(/\?find=sealed%3Av1%3A[\w-]{40,}$/)
    const searched = await shownOn((await browser.get(location ?? '')).html)
    expect(searched).toMatchObject({ lead: '2 addresses match', exported: [BOB, 'bobby@example.com'] })
    expect(await shownOn((await find('gone@example.com')).html)).toMatchObject({ lead: '1 address matches' })
    const log = await browser.get(pages.at('audit?kind=changes'))
    const what = await textOf(log.html, 'td[data-label=What]')
    for (const how of ['as CSV', 'as CSV, filtered by reason', 'as CSV, filtered by search'])
      expect(what.filter((text) => text.endsWith(how))).not.toEqual([])
  })

  test('of another app is not seen', async () => {
    await suppress(BOB)
    const other = await pages.addAccount('eve@example.com', 'Other')
    const eve = await pages.signedIn('eve@example.com')
    for (const what of ['', '/new', '/export']) expect((await eve.get(path(what))).status).toBe(404)
    expect((await find(BOB, eve)).status).toBe(404)
    const { location } = await eve.post(`/apps/${other.appId}/suppressions`, { email: BOB })
    const { html } = await eve.get(location ?? '')
    expect(await rowsIn(html)).toEqual([])
  })
})

describe('finding an address', () => {
  test('by its start, or an erased person by the whole of it', async () => {
    for (const email of [BOB, 'bobby@example.com', 'carol@example.com']) {
      await sendEvent(pages, { app, email })
      await suppress(email)
    }
    expect(await rowsIn((await find(' Bob')).html)).toEqual([BOB, 'bobby@example.com'])
    await erase(BOB)
    expect(await rowsIn((await find('bob')).html)).toEqual(['bobby@example.com'])
    const { html } = await find(' Bob@Example.com ')
    expect(await rowsIn(html)).toEqual(['Erased person'])
    // and can be removed
    expect(await attributesOf(html, 'td input[name=email]', 'value')).toEqual(['Bob@Example.com'])
  })

  test('that is not on the list says so, safely', async () => {
    await suppress('carol@example.com')
    const { status, html } = await find(HOSTILE)
    expect([status, await textOf(html, '.empty h2')]).toEqual([200, ['Not on the list']])
    await expectHarmless(html)
    expect((await browser.post(path(), { email: ' ' })).location).toBe(path())
  })

  test('is for viewers too', async () => {
    await suppress(BOB)
    await pages.addMember('viewer@example.com', 'viewer')
    const { html } = await find(BOB, await pages.signedIn('viewer@example.com'))
    expect([await rowsIn(html), await attributesOf(html, 'td form', 'action')]).toEqual([[BOB], []])
  })
})

describe('changing it', () => {
  const add = (fields: Record<string, string> = {}) =>
    browser.post(path('/new'), { addresses: BOB, why: 'They  wrote to us', reason: 'unsubscribed', ...fields })
  const remove = (fields: Record<string, string> = {}) =>
    browser.post(path('/remove'), { email: BOB, why: 'They asked for it', confirmed: 'on', ...fields })
  const noticesAt = async (location: string | null) => textOf((await browser.get(location ?? '')).html, '[role=status]')

  test('ends email to an address at once, with the reason in the audit log', async () => {
    await putMessage(pages, { app })
    await sendEvent(pages, { app, email: BOB })
    const { status, location } = await add({ reason: 'complained' })
    expect([status, await noticesAt(location)]).toEqual([303, ['Done: 1 address was added.']])
    expect(await pages.store.findSuppression(app.id, BOB)).toBe('complained')
    expect((await pages.store.findContact(app.id, BOB))?.status).toBe('complained')
    expect(await audited()).toEqual([
      { action: 'suppression.add', subject: expect.stringMatching(/^[\w-]{43} con_\w+: They wrote to us$/) },
    ])
    const log = await browser.get(pages.at('audit?kind=people'))
    expect(await textOf(log.html, 'td[data-label=What]')).toContain(`suppressed ${BOB}: They wrote to us`)
    expect(await noticesAt((await add()).location)).toEqual([
      'Done: 0 addresses were added. 1 was already on the list.',
    ])
  })

  test('takes several addresses, with one audit entry', async () => {
    await sendEvent(pages, { app, email: BOB })
    await suppress('carol@example.com')
    pages.clock.ms += 1
    const { location } = await add({ addresses: `${BOB}, carol@example.com\n\n dave@example.com;${BOB} ` })
    expect(await noticesAt(location)).toEqual(['Done: 2 addresses were added. 1 was already on the list.'])
    expect(await noticesAt(location)).toEqual([])
    expect(await noticesAt(path('?added=7&listed=0&skipped=0'))).toEqual([])
    expect((await pages.store.findContact(app.id, BOB))?.status).toBe('unsubscribed')
    expect(await audited()).toEqual([{ action: 'suppression.import', subject: '3 (They wrote to us)' }])
    const bob = await pages.store.findContact(app.id, BOB)
    const person = await browser.get(pages.at(`people/${publicId('con', bob?.id ?? 0)}`))
    expect(await textOf(person.html, '.timeline > li > .hint')).toContain('By ada@example.com: “They wrote to us”')
  })

  test('says which note it asks for', async () => {
    await suppress(BOB)
    const forms = [await browser.get(path('/new')), await browser.post(path('/remove'), { email: BOB })]
    expect(await Promise.all(forms.map(({ html }) => textOf(html, '#why-hint')))).toEqual([
      ["Why you're adding them. Shown with your email."],
      ["Why you're removing it. Shown with your email."],
    ])
  })

  test('asks why before it removes', async () => {
    await suppress(BOB)
    const { status, html } = await browser.post(path('/remove'), { email: BOB })
    expect([status, await textOf(html, 'h1')]).toEqual([200, [`Remove ${BOB} from suppressions?`]])
    expect(await pages.store.findSuppression(app.id, BOB)).toBe('unsubscribed')
    const fields = await hiddenFieldsOf(html)
    expect((await browser.post(path('/remove'), { ...fields, why: 'They asked' })).status).toBe(303)
    expect(await pages.store.findSuppression(app.id, BOB)).toBe(null)
  })

  test('warns if the person reported an email as spam, after a bounce too', async () => {
    await sendEvent(pages, { app, email: BOB })
    await suppress(BOB, 'bounced')
    const cautions = async () => textOf((await browser.post(path('/remove'), { email: BOB })).html, '.notice.caution')
    expect(await cautions()).toEqual([])
    pages.clock.ms += 1
    const cause = { by: 'report', kind: 'complained', provider: 'postmark' } as const
    await pages.store.suppress({ appId: app.id, email: BOB, reason: 'complained', at: pages.clock.now(), cause })
    expect(await rowsIn(await see('?reason=complained'))).toEqual([BOB])
    expect(await rowsIn(await see('?reason=bounced'))).toEqual([])
    expect((await cautions()).join()).toContain('This person reported an email as spam.')
    const bob = await pages.store.findContact(app.id, BOB)
    const person = await browser.get(pages.at(`people/${publicId('con', bob?.id ?? 0)}`))
    expect(await textOf(person.html, '.timeline > li > .hint')).toContain('Postmark reported a spam complaint')
  })

  test('allows email again', async () => {
    await sendEvent(pages, { app, email: BOB })
    await add()
    pages.clock.ms += 1
    await remove()
    expect(await pages.store.findSuppression(app.id, BOB)).toBe(null)
    const bob = await pages.store.findContact(app.id, BOB)
    expect(bob?.status).toBe('subscribed')
    const person = await browser.get(pages.at(`people/${publicId('con', bob?.id ?? 0)}`))
    expect((await textOf(person.html, '.timeline > li > div > span'))[0]).toBe('ChangeRemoved from suppressions')
    expect((await audited()).at(-1)).toEqual({
      action: 'suppression.remove',
      subject: expect.stringMatching(/^[\w-]{43} con_\w+: They asked for it$/),
    })
    const whatOf = async () => textOf((await browser.get(pages.at('audit'))).html, 'td[data-label=What]')
    expect(await whatOf()).toContain(`removed the suppression for ${BOB}: They asked for it`)
    await erase(BOB)
    expect(await whatOf()).toContain('removed the suppression for an erased person: They asked for it')
  })

  test('removes an erased person by the address', async () => {
    await sendEvent(pages, { app, email: BOB })
    await add()
    await erase(BOB)
    expect((await remove()).status).toBe(303)
    expect(await rowsIn(await see())).toEqual([])
  })

  test('refuses to remove an address that is not listed', async () => {
    await sendEvent(pages, { app, email: BOB })
    for (const email of [BOB, 'stranger@example.com']) {
      const { status, html } = await remove({ email })
      expect([status, await textOf(html, '[role=alert]')]).toEqual([400, ['Error: This address is not on the list.']])
      expect(await attributesOf(html, '#why', 'value')).toEqual(['They asked for it'])
    }
    expect(await audited()).toEqual([])
  })

  test('applies to people added later', async () => {
    await add()
    await sendEvent(pages, { app, email: BOB })
    expect((await pages.store.findContact(app.id, BOB))?.status).toBe('unsubscribed')
    expect(await attributesOf(await see(), 'td[data-label=Address] a', 'href')).toHaveLength(1)
  })

  test.each([
    [{ addresses: '' }, ['Enter at least one complete email address.']],
    [{ addresses: `${BOB}\nnobody` }, ['Line 2 is not a complete email address.']],
    [
      { addresses: `${BOB}\nzoë@example.com` },
      ['Line 2: Use only ASCII characters before the @, such as letters without accents.'],
    ],
    [{ why: ' ' }, ["Enter a note. It's shown with your email address."]],
    [{ why: 'x'.repeat(201) }, ['Use up to 200 characters.']],
    [{ reason: 'hearsay' }, ['Choose a reason.']],
    [
      { addresses: HOSTILE, why: '' },
      ['Line 1 is not a complete email address.', "Enter a note. It's shown with your email address."],
    ],
  ])('refuses invalid input and keeps it (%j)', async (fields, faults) => {
    const { status, html } = await add(fields)
    expect(status).toBe(400)
    await expectHarmless(html)
    expect(await textOf(html, '.fault')).toEqual(faults.map((fault) => `Error: ${fault}`))
    expect(await textOf(html, '[role=alert]')).toEqual([
      `Error: Not saved. Correct the marked ${faults.length === 1 ? 'field' : 'fields'}.`,
    ])
    const typed = { addresses: BOB, why: 'They  wrote to us', ...fields }
    expect(await attributesOf(html, '#why', 'value')).toEqual([typed.why])
    expect(await textOf(html, '#addresses')).toEqual([typed.addresses])
    expect(await audited()).toEqual([])
  })

  test.each([
    ['bob', 'Enter one complete email address.'],
    ['zoë@example.com', 'Use only ASCII characters before the @, such as letters without accents.'],
  ])('is not removed for %s', async (email, fault) => {
    const fields = { email, why: 'They asked', confirmed: 'on' }
    const { status, html } = await browser.post(path('/remove'), fields)
    expect([status, html.includes(fault)]).toEqual([400, true])
  })

  test('is for editors', async () => {
    for (const [role, status] of [
      ['viewer', 403],
      ['editor', 303],
    ] as const) {
      await pages.addMember(`${role}@example.com`, role)
      const member = await pages.signedIn(`${role}@example.com`)
      expect(await textOf((await member.get(path())).html, '.page-head .button')).toHaveLength(
        role === 'editor' ? 1 : 0,
      )
      const fields = { addresses: `${role}s@example.com`, email: `${role}s@example.com`, why: 'x', reason: 'bounced' }
      expect((await member.get(path('/new'))).status).toBe(role === 'editor' ? 200 : 403)
      expect((await member.post(path('/new'), fields)).status).toBe(status)
      expect((await member.post(path('/remove'), { ...fields, confirmed: 'on' })).status).toBe(status)
    }
  })
})

describe('a file', () => {
  const upload = (file: string, fields: Record<string, string> = {}) => {
    const body = new FormData()
    for (const [name, value] of Object.entries({ addresses: '', reason: 'bounced', why: 'moved here', ...fields }))
      body.set(name, value)
    body.set('file', new File([file], 'list.csv', { type: 'text/csv' }))
    return browser.upload(path('/new'), body)
  }
  const noticesAt = async (location: string | null) => textOf((await browser.get(location ?? '')).html, '[role=status]')

  test('of another mail provider is taken, with its reasons; lines without an address are named', async () => {
    const file =
      'Type,Recipient,Note\r\nSpamComplaint,Ann@Example.com,"a, ""b""\nc"\r\nx,,y\r\nother,bob@example.com,\r\n'
    const { status, location } = await upload(file)
    expect(status).toBe(303)
    expect(await noticesAt(location)).toEqual([
      'Caution: 2 addresses were added. 1 line has no known reason, so it is listed as bounced. Line 4 had no email address.',
    ])
    expect([
      await pages.store.findSuppression(app.id, 'ann@example.com'),
      await pages.store.findSuppression(app.id, BOB),
    ]).toEqual(['complained', 'bounced'])
  })

  test.each([
    ['unsubscribed', 'bounced'],
    ['complained', 'unsubscribed'],
  ])('with an address as %s and as %s leaves its person unsubscribed once it is removed', async (...reasons) => {
    await sendEvent(pages, { app, email: BOB })
    // with another address, and alone
    for (const more of ['ann@example.com,bounced\n', '']) {
      await upload(`${reasons.map((reason) => `${BOB},${reason}\n`).join('')}${more}`)
      expect(await pages.store.findSuppression(app.id, BOB)).not.toBe('unsubscribed')
      await browser.post(path('/remove'), { email: BOB, why: 'They asked', confirmed: 'on' })
      expect((await pages.store.findContact(app.id, BOB))?.status).toBe('unsubscribed')
      await browser.post(path('/remove'), { email: BOB, why: 'They asked', confirmed: 'on' })
      expect((await pages.store.findContact(app.id, BOB))?.status).toBe('subscribed')
    }
  })

  test('with unknown reasons says which one they got', async () => {
    const file =
      'email,reason\nann@example.com,550 no such user\nbob@example.com,5.1.1\neve@example.com,bounce\nzoe@example.com,\n'
    const { location } = await upload(file, { reason: 'unsubscribed' })
    expect(await noticesAt(location)).toEqual([
      'Caution: 4 addresses were added. 2 lines have no known reason, so they are listed as unsubscribed.',
    ])
    const reasons = ['ann', 'bob', 'eve', 'zoe'].map((name) =>
      pages.store.findSuppression(app.id, `${name}@example.com`),
    )
    expect(await Promise.all(reasons)).toEqual(['unsubscribed', 'unsubscribed', 'bounced', 'unsubscribed'])
  })

  test('counts lines that repeat an address', async () => {
    const { location } = await upload('ann@example.com\nbob@example.com\nAnn@Example.com\n')
    expect(await noticesAt(location)).toEqual(['Done: 2 addresses were added. 1 line repeats an address.'])
    const again = await upload(
      'ann@example.com,bounced\neve@example.com,bounced\nann@example.com,unsubscribed\neve@example.com\n',
    )
    expect(await noticesAt(again.location)).toEqual([
      'Done: 1 address was added. 1 was already on the list. 2 lines repeat an address.',
    ])
  })

  test('has to be chosen again when another field is wrong', async () => {
    const { status, html } = await upload('ann@example.com\n', { why: '' })
    expect(status).toBe(400)
    expect([await textOf(html, '#why-fault'), await textOf(html, '#file-fault')]).toEqual([
      ["Error: Enter a note. It's shown with your email address."],
      ['Error: Choose the file again.'],
    ])
    expect(await attributesOf(html, '[autofocus]', 'id')).toEqual(['why'])
    const typed = await upload('', { addresses: BOB, why: '' })
    expect(await textOf(typed.html, '#file-fault')).toEqual([])
    const wrong = await upload('nobody\n')
    expect(await textOf(wrong.html, '#file-fault')).toEqual(['Error: Enter at least one complete email address.'])
    expect(await textOf(wrong.html, '[role=alert]')).toEqual(['Error: Not saved. Correct the marked field.'])
  })

  test('of 3,000 addresses is taken in parts', async () => {
    const { location } = await upload(Array.from({ length: 3_000 }, (_, index) => `p${index}@example.com`).join('\n'))
    expect(await noticesAt(location)).toEqual(['Done: 3000 addresses were added.'])
    expect(await pages.store.countSuppressions({ appId: app.id, reason: null, start: null }, 10_000)).toBe(3_000)
    expect(await audited()).toEqual([{ action: 'suppression.import', subject: '3000 (moved here)' }])
    const searched = await browser.get((await browser.post(path(), { email: 'P' })).location ?? '')
    expect((await textOf(searched.html, '.page-head .lead')).join()).toStartWith('3000 addresses match.')
    const [href] = await attributesOf(searched.html, '.page-head .button', 'href')
    const { html, headers } = await browser.get(href ?? '')
    expect(headers.get('content-disposition')).toContain('"suppressions-engine-2026-05-03-filtered.csv"')
    const lines = html.split('\r\n').slice(1, -1)
    expect([lines.length, new Set(lines).size, lines[0]?.split(',')[0]]).toEqual([3_000, 3_000, 'p0@example.com'])
  })

  test('that is exported can be imported', async () => {
    await suppress('carol@example.com', 'complained')
    await suppress(`+dave=x@example.com`, 'bounced')
    await sendEvent(pages, { app, email: BOB })
    await suppress(BOB)
    await erase(BOB)
    const exported = await browser.get(path('/export'))
    expect(exported.headers.get('content-disposition')).toBe(
      'attachment; filename="suppressions-engine-2026-05-03.csv"',
    )
    const lines = exported.html.split('\r\n')
    expect(lines[0]).toBe('email,reason,since,why')
    expect(lines.slice(1).toSorted()).toEqual([
      '',
      "'+dave=x@example.com,bounced,2026-05-03T12:00:00.000Z,",
      'carol@example.com,complained,2026-05-03T12:00:00.000Z,',
    ])
    const by = { accountId: app.accountId, actor: 'test', why: 'x' }
    for (const email of ['carol@example.com', '+dave=x@example.com'])
      await pages.store.unsuppress({ appId: app.id, email, at: 1, by })
    await upload(exported.html, { reason: 'unsubscribed' })
    expect([
      await pages.store.findSuppression(app.id, 'carol@example.com'),
      await pages.store.findSuppression(app.id, '+dave=x@example.com'),
    ]).toEqual(['complained', 'bounced'])
  })

  test('without an address is refused', async () => {
    const { status, html } = await upload('a,b\n1,2\n')
    expect([status, await textOf(html, '.fault')]).toEqual([400, ['Error: Enter at least one complete email address.']])
  })
})
