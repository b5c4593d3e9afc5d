import { DEFAULT_RETENTION } from '../../../src/accounts/retention.ts'
import { expect, test } from 'bun:test'
import type { VisitReportWrite, ReportedItem } from '../../../src/store/visit-reports.ts'
import type { AppRow, SnippetSettings } from '../../../src/store/types.ts'
import { AT, visitReportWrite, BY, DAY, done, eventWrite, type Fresh, HOUR, newAccount } from '../samples.ts'

const page = (path: string, occurredAt = AT): ReportedItem => ({ type: 'page', name: null, path, occurredAt })
const leave = (path: string, occurredAt = AT): ReportedItem => ({ ...page(path, occurredAt), type: 'leave' })
const here = (path: string, occurredAt = AT): ReportedItem => ({ ...page(path, occurredAt), type: 'here' })
const action = (name: string, path: string): ReportedItem => ({ type: 'action', name, path, occurredAt: AT })

export function testBrowserBatches(store: Fresh): void {
  const know = async (email: string, appId = 1): Promise<number> =>
    done(await store().recordEvent(eventWrite({ email, appId, name: 'known' }))).contactId
  const send = (changes: Partial<VisitReportWrite>) => store().recordVisitReport(visitReportWrite(changes))
  const list = async (contactId: number) => {
    const { rows } = await store().listEvents({ appId: 1, contactId, name: null, before: null, limit: 100 })
    return rows.map(({ type, name, path, via, receivedAt, occurredAt }) => [
      type,
      name,
      path,
      via,
      receivedAt,
      occurredAt,
    ])
  }

  test('page views and actions are stored as events, leaves are not', async () => {
    const email = 'kinds@example.com'
    const contactId = await know(email)
    const items = [page('/a', AT - 5), action('signed.up', '/a'), leave('/a')]
    expect(await send({ email, items })).toEqual({ contactId, created: false, repeated: false })
    expect(await list(contactId)).toEqual([
      ['action', 'signed.up', '/a', 'browser', AT, AT],
      ['page', '$page', '/a', 'browser', AT, AT - 5],
      ['event', 'known', null, 'api', AT, AT],
    ])
    expect(await store().findContact(1, email)).toMatchObject({
      firstSeenAt: AT - 5,
      lastSeenAt: AT - 5,
      lastEventAt: AT,
    })
  })

  test('adds people only when allowed, and counts them in the plan', async () => {
    const plan = { accountId: 'acc_browser', newPeoplePerMonth: 1 }
    expect(await send({ ...plan, email: 'new1@example.com' })).toEqual({ refusal: 'contact_not_found' })
    expect(await store().findContact(1, 'new1@example.com')).toBeNull()
    const made = await send({ ...plan, email: 'new1@example.com', shownEmail: 'New1@example.com', createContact: true })
    expect(made).toMatchObject({ created: true, repeated: false })
    expect(await store().findContact(1, 'new1@example.com')).toMatchObject({
      shownEmail: 'New1@example.com',
      source: null,
    })
    const second = { ...plan, email: 'new2@example.com', createContact: true }
    expect(await send(second)).toEqual({ refusal: 'plan_limit_reached' })
    expect(await store().findContact(1, 'new2@example.com')).toBeNull()
  })

  test('stores one batch for each person and ID in 48 hours, also under concurrent requests', async () => {
    const [one, two] = ['once1@example.com', 'once2@example.com']
    const contactId = await know(one)
    await know(two)
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => send({ email: one, reportId: 'same' })))
    expect(outcomes.filter((outcome) => 'repeated' in outcome && !outcome.repeated)).toHaveLength(1)
    expect(await send({ email: two, reportId: 'same' })).toMatchObject({ repeated: false })
    await store.reopen()
    expect(await send({ email: one, reportId: 'same', at: AT + 2 * DAY - 1 })).toMatchObject({ repeated: true })
    expect(await send({ email: one, reportId: 'same', at: AT + 2 * DAY })).toMatchObject({ repeated: false })
    expect(await send({ email: one, reportId: 'same', at: AT + 3 * DAY })).toMatchObject({ repeated: true })
    expect(await list(contactId)).toHaveLength(3)
  })

  test('stores the last report of a batch with its ID', async () => {
    const email = 'reports@example.com'
    const contactId = await know(email)
    await send({ email, reportId: 'late', items: [page('/two', AT - 1), page('/one', AT - 9)] })
    await send({ email, reportId: 'equal', at: AT + 1, items: [page('/one'), leave('/one'), action('x', '/one')] })
    await send({ email, reportId: 'silent', at: AT + 2, items: [action('x', '/one')] })
    const reports = await store().listReports(1, contactId, AT - 1)
    const nameless = { pageLoad: null, reportNumber: null, isReturn: false }
    expect(reports.toSorted((a, b) => a.reportedAt - b.reportedAt)).toEqual([
      { ...nameless, receivedAt: AT, reportedAt: AT - 1, path: '/two', isHere: true },
      { ...nameless, receivedAt: AT + 1, reportedAt: AT, path: '/one', isHere: false },
      { ...nameless, receivedAt: AT + 2, reportedAt: AT + 2, path: '', isHere: null },
    ])
    expect(await store().listReports(1, contactId, AT)).toHaveLength(2)
    expect(await store().listReports(2, contactId, 0)).toEqual([])
  })

  test('stores every return to an open page as presence, not as an event', async () => {
    const email = 'returns@example.com'
    const contactId = await know(email)
    const items = [here('/a', AT - 9), leave('/a', AT - 8), here('/a', AT - 5), here('/a', AT - 5)]
    expect(await send({ email, reportId: 'load.4', items })).toEqual({ contactId, created: false, repeated: false })
    expect(await send({ email, reportId: 'load.4', items })).toMatchObject({ repeated: true })
    await store.reopen()
    expect(await send({ email, reportId: 'load.4', items })).toMatchObject({ repeated: true })
    const [first, last, ...others] = (await store().listReports(1, contactId, 0)).toSorted(
      (a, b) => a.reportedAt - b.reportedAt,
    )
    const common = { reportNumber: 4, receivedAt: AT, path: '/a', isHere: true, isReturn: true }
    expect(first).toEqual({ ...common, pageLoad: expect.any(Number), reportedAt: AT - 9 })
    expect(last).toEqual({ ...common, pageLoad: first?.pageLoad ?? 0, reportedAt: AT - 5 })
    expect(others).toEqual([])
    expect(await list(contactId)).toEqual([['event', 'known', null, 'api', AT, AT]])
    expect(await store().findContact(1, email)).toMatchObject({ firstSeenAt: null, lastSeenAt: null })
    done(await store().eraseContact({ ...BY, appId: 1, email }))
    expect(await store().listReports(1, contactId, 0)).toEqual([])
  })

  test('the part before the dot identifies the page load', async () => {
    const email = 'loads@example.com'
    const contactId = await know(email)
    for (const reportId of ['a.1', 'a.2', 'b.1', 'a', '.1', 'b']) await send({ email, reportId })
    const loads = (await store().listReports(1, contactId, 0)).map(({ pageLoad }) => pageLoad)
    expect(loads).toHaveLength(6)
    const counts = Array.from(
      Map.groupBy(loads, (load) => load),
      ([load, all]) => [load !== null, all.length],
    )
    expect(counts.toSorted()).toEqual([
      [false, 3],
      [true, 1],
      [true, 2],
    ])
  })

  test('a whole number after the dot is the position of the batch in its page load', async () => {
    const email = 'positions@example.com'
    const contactId = await know(email)
    const positions = new Map([
      ['a.7', 7],
      ['a.0', 0],
      ['a.123456789', 123_456_789],
      ['a.1234567890', null],
      ['a.-1', null],
      ['a.1.2', null],
      ['a.', null],
      ['7', null],
      ['.7', null],
    ])
    for (const [index, reportId] of [...positions.keys()].entries()) {
      await send({ email, reportId, items: [page('/', AT + index)] })
    }
    const reports = await store().listReports(1, contactId, 0)
    const stored = reports.toSorted((a, b) => a.reportedAt - b.reportedAt).map(({ reportNumber }) => reportNumber)
    expect(stored).toEqual([...positions.values()])
  })

  test('the clean-up deletes batches that are 48 hours old, and no others', async () => {
    const email = 'clean@example.com'
    const contactId = await know(email)
    const at = AT + 90 * DAY
    const old = (_: unknown, i: number) => send({ email, reportId: `old${i}`, at: at - 1, items: [page('/', at - 1)] })
    await Promise.all(Array.from({ length: 1_200 }, old))
    await send({ email, reportId: 'young', at, items: [page('/', at)] })
    let deleted = 1
    while (deleted > 0) deleted = done(await store().cleanUp({ at: at + 2 * DAY - 1 })).deleted
    expect((await store().listReports(1, contactId, 0)).map((row) => row.reportedAt)).toEqual([at])
  })

  test('erasing a person deletes their batches', async () => {
    const email = 'gone@example.com'
    const [contactId, other] = [await know(email), await know('stays@example.com')]
    await send({ email })
    await send({ email: 'stays@example.com' })
    done(await store().eraseContact({ ...BY, appId: 1, email }))
    expect(await store().listReports(1, contactId, 0)).toEqual([])
    expect(await store().listReports(1, other, 0)).toHaveLength(1)
    expect(await send({ email })).toEqual({ refusal: 'contact_not_found' })
  })
}

const pickSettings = ({ name, homeUrl, hosts, timezone, locale }: AppRow) => ({
  name,
  homeUrl,
  hosts,
  timezone,
  locale,
  retention: DEFAULT_RETENTION,
})

export function testSites(store: Fresh): void {
  const change = (number: number) => ({ accountId: `acc_${number}`, actor: 'mem_1', at: AT })

  test('finds a site with its app, plan, secrets and settings', async () => {
    done(await store().createAccount(newAccount(1)))
    done(await store().createAccount(newAccount(2)))
    expect(await store().findSite('site_2', AT)).toEqual({
      app: { ...newAccount(2).app, id: 2, accountId: 'acc_2', createdAt: AT + 2, timezone: 'UTC', locale: 'en-US' },
      plan: expect.objectContaining({ snippetLimits: true }),
      secrets: [{ id: 'sec_2', secret: 'secret_2', createdAt: AT + 2, retiredAt: null }],
      settings: { hosts: [], addsPeople: false },
    })
    for (const unknown of ['site_3', 'app_2', '']) expect(await store().findSite(unknown, AT)).toBeNull()
  })

  test('includes rotated secrets for the requested time', async () => {
    done(
      await store().rotateSecret({
        ...change(2),
        at: AT + DAY,
        secret: { id: 'sec_3', secret: 'secret_3' },
        replaces: null,
      }),
    )
    const ids = async (after: number) => (await store().findSite('site_2', after))?.secrets.map(({ id }) => id)
    expect(await ids(AT + DAY - 1)).toEqual(['sec_3', 'sec_2'])
    expect(await ids(AT + DAY)).toEqual(['sec_3'])
  })

  test('only the account of an app changes its settings, all at once', async () => {
    const snippet = { hosts: ['a.example.com'], addsPeople: true }
    const [homeUrl, timezone, locale] = [null, 'Asia/Kolkata', 'hi-IN']
    const retention = { eventDays: 90, pageViewDays: 30, capturedDays: null, requestDays: 14, responseDays: 3 }
    const settings = {
      name: 'Renamed',
      homeUrl,
      hosts: ['b.example', 'a.example'],
      timezone,
      locale,
      snippet,
      retention,
    }
    expect(await store().findRetention(2)).toEqual(DEFAULT_RETENTION)
    const before = await store().listApps('acc_2')
    expect(await store().updateApp({ ...change(1), appId: 2, settings })).toEqual({ refusal: 'app_not_found' })
    expect(await store().listApps('acc_2')).toEqual(before)
    expect(await store().updateApp({ ...change(2), appId: 2, settings })).toEqual({ done: true })
    await store.reopen()
    const hosts = ['a.example', 'b.example']
    expect(await store().listApps('acc_2')).toMatchObject([
      { ...before[0], name: 'Renamed', homeUrl, timezone, locale, hosts },
    ])
    expect(await store().mailSettings(2)).toMatchObject({ timezone, locale, fromEmail: null })
    expect(await store().findAppsByHost(['b.example', 'app2.example.com'])).toEqual([2])
    expect(await store().snippetSettings(2)).toEqual(snippet)
    expect(await store().findRetention(2)).toEqual(retention)
    const off = { hosts: [], addsPeople: false }
    for (const app of before)
      done(await store().updateApp({ ...change(2), appId: 2, settings: { ...pickSettings(app), snippet: off } }))
    expect(await store().listApps('acc_2')).toEqual(before)
  })

  test('settings are changed by the owner and persist', async () => {
    const [app] = await store().listApps('acc_2')
    if (!app) throw new Error('there is no app')
    const [on, off] = [
      { hosts: ['a.example.com', 'b.example.com'], addsPeople: true },
      { hosts: [], addsPeople: false },
    ]
    const save = (account: number, snippet: SnippetSettings) =>
      store().updateApp({ ...change(account), appId: 2, settings: { ...pickSettings(app), snippet } })
    expect(await save(1, on)).toEqual({ refusal: 'app_not_found' })
    expect(await save(2, on)).toEqual({ done: true })
    await store.reopen()
    expect(await store().snippetSettings(2)).toEqual(on)
    expect(await store().snippetSettings(1)).toEqual(off)
    done(await save(2, off))
    expect((await store().findSite('site_2', AT))?.settings).toEqual(off)
  })

  test('an app can be created with settings', async () => {
    const snippet = { hosts: ['c.example.com'], addsPeople: true }
    const app = { ...newAccount(3).app, hosts: ['app1.example.com'], snippet }
    done(await store().createApp({ ...change(1), app }))
    expect((await store().findSite('site_3', AT))?.settings).toEqual(snippet)
  })

  test('reports the sizes of the last hour, except for accounts without limits', async () => {
    const at = AT + 30 * DAY
    for (const [appId, email, when] of [
      [1, 'size1@example.com', at],
      [1, 'size1@example.com', at - HOUR],
      [1, 'size1@example.com', at - HOUR + 1],
      [2, 'size2@example.com', at],
    ] as const) {
      const person = { accountId: `acc_${appId}`, appId, email, at: when, createContact: true }
      done(
        await store().recordVisitReport(
          visitReportWrite({ ...person, reportId: `${when}`, items: [here('/', when - 1), leave('/', when)] }),
        ),
      )
    }
    done(await store().setPlan({ ...change(2), plan: { snippetLimits: false } }))
    const size = { appId: 1, email: 'size1@example.com', items: 2 }
    expect(await store().listBatchSizes(at - HOUR)).toEqual([
      { ...size, receivedAt: at - HOUR + 1 },
      { ...size, receivedAt: at },
    ])
    done(await store().setPlan({ ...change(2), plan: { snippetLimits: true } }))
    expect(await store().listBatchSizes(at - HOUR)).toHaveLength(3)
    for (const appId of [1, 2]) done(await store().eraseContact({ ...BY, appId, email: `size${appId}@example.com` }))
  })

  test('finds apps by host', async () => {
    expect((await store().findAppsByHost(['app1.example.com', 'example.com'])).toSorted()).toEqual([1, 3])
    expect(await store().findAppsByHost(['www.app2.example.com', 'app2.example.com'])).toEqual([2])
    expect(await store().findAppsByHost(['example.com'])).toEqual([])
  })

  test('counts notes and keeps the last reason', async () => {
    const note = { appId: 1, kind: 'refused', count: 2, lastAt: AT, reason: 'first', origin: null } as const
    done(await store().addNotes([note, { ...note, kind: 'old_secret' }, { ...note, appId: 2 }]))
    done(await store().addNotes([{ ...note, count: 3, lastAt: AT + 9, reason: 'last', origin: 'https://a.example' }]))
    done(await store().addNotes([{ ...note, count: 1, lastAt: AT + 5, reason: 'late' }]))
    await store.reopen()
    expect((await store().listNotes(1)).toSorted((a, b) => (a.kind < b.kind ? -1 : 1))).toEqual([
      { ...note, kind: 'old_secret' },
      { appId: 1, kind: 'refused', count: 6, lastAt: AT + 9, reason: 'last', origin: 'https://a.example' },
    ])
  })

  test('activation reads the newest event, the newest other than a page view, and the newest page view', async () => {
    expect(await store().latestActivity(1)).toEqual({ lastEventAt: null, lastNamedAt: null, lastViewAt: null })
    done(await store().recordEvent(eventWrite({ at: AT + 3 })))
    expect(await store().latestActivity(1)).toEqual({ lastEventAt: AT + 3, lastNamedAt: AT + 3, lastViewAt: null })
    done(await store().recordVisitReport(visitReportWrite({ at: AT + 4, items: [action('x', '/')] })))
    expect(await store().latestActivity(1)).toEqual({ lastEventAt: AT + 4, lastNamedAt: AT + 4, lastViewAt: null })
    done(await store().recordVisitReport(visitReportWrite({ reportId: 'page', at: AT + 5 })))
    expect(await store().latestActivity(1)).toEqual({ lastEventAt: AT + 5, lastNamedAt: AT + 4, lastViewAt: AT + 5 })
    expect(await store().latestActivity(2)).toEqual({ lastEventAt: null, lastNamedAt: null, lastViewAt: null })
  })
}
