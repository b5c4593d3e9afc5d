import { expect, test } from 'bun:test'
import { PAGE_NAME } from '../../../src/store/visit-reports.ts'
import { AT, visitReportWrite, DAY, eventWrite, type Fresh, HOUR } from '../samples.ts'

const hourOf = (at: number): number => Math.floor(at / HOUR)
const dayOf = (at: number): number => Math.floor(at / DAY)

/** What was counted by the hour. */
export function testCounts(store: Fresh): void {
  const send = (name: string, at: number, appId = 1) => store().recordEvent(eventWrite({ name, at, appId }))
  const names = (asked: Partial<{ appId: number; sinceHour: number; after: string; limit: number }> = {}) =>
    store().listNames({ appId: 1, sinceHour: hourOf(AT), after: '', limit: 9, ...asked })

  test('lists names since an hour alphabetically, in pages', async () => {
    await send('before', AT - 1)
    for (const name of ['b', 'a', 'b', 'c']) await send(name, AT + 2 * HOUR)
    await send('b', AT)
    await send('theirs', AT, 2)
    expect(await names()).toEqual([
      { name: 'a', count: 1 },
      { name: 'b', count: 3 },
      { name: 'c', count: 1 },
    ])
    expect(await names({ after: 'a', limit: 1 })).toEqual([{ name: 'b', count: 3 }])
    expect(await names({ after: 'c' })).toEqual([])
    expect(await names({ sinceHour: hourOf(AT) + 1 })).toContainEqual({ name: 'b', count: 2 })
    expect(await names({ sinceHour: hourOf(AT) - 1 })).toContainEqual({ name: 'before', count: 1 })
    expect(await names({ appId: 2 })).toEqual([{ name: 'theirs', count: 1 }])
  })

  test('lists the most frequent names first, then alphabetically', async () => {
    const top = await store().listTopNames({ appId: 1, sinceHour: hourOf(AT), limit: 2 })
    expect(top).toEqual([
      { name: 'b', count: 3 },
      { name: 'a', count: 1 },
    ])
  })

  test('counts by UTC day, page views separately', async () => {
    const midnight = Date.UTC(2026, 4, 20)
    await send('d', midnight - 1)
    await send('d', midnight)
    await store().recordVisitReport(visitReportWrite({ at: midnight, items: [1, 2].map(() => view(midnight)) }))
    const counted = await store().countDays({ appId: 1, sinceHour: hourOf(midnight) - 24, pageName: PAGE_NAME })
    expect(counted.toSorted((a, b) => a.day - b.day || Number(a.isPage) - Number(b.isPage))).toEqual([
      { day: dayOf(midnight) - 1, isPage: false, count: 1 },
      { day: dayOf(midnight), isPage: false, count: 1 },
      { day: dayOf(midnight), isPage: true, count: 2 },
    ])
    expect(await store().countDays({ appId: 3, sinceHour: 0, pageName: PAGE_NAME })).toEqual([])
  })

  test('counts new people of an account by UTC month', async () => {
    const june = Date.UTC(2026, 5, 1)
    const add = (email: string, at: number) => store().recordEvent(eventWrite({ accountId: 'acc_new', email, at }))
    await add('may@example.com', june - 1)
    for (const email of ['june@example.com', 'other@example.com', 'june@example.com']) await add(email, june)
    expect(await store().countNewPeople('acc_new', '2026-05')).toBe(1)
    expect(await store().countNewPeople('acc_new', '2026-06')).toBe(2)
    expect(await store().countNewPeople('acc_new', '2026-07')).toBe(0)
    expect(await store().countNewPeople('acc_none', '2026-06')).toBe(0)
  })

  test('counts new people of an app by UTC day, without those erased since', async () => {
    const day = dayOf(Date.UTC(2026, 6, 1))
    const add = (email: string, at: number) => store().recordEvent(eventWrite({ appId: 7, email, at }))
    await add('june@example.com', day * DAY - 1)
    for (const email of ['july@example.com', 'other@example.com', 'july@example.com']) await add(email, day * DAY)
    expect(await store().countPeopleByDay(7, day)).toEqual([{ day, people: 2 }])
    await store().eraseContact({
      accountId: 'acc_1',
      appId: 7,
      email: 'other@example.com',
      actor: 'test',
      at: day * DAY,
    })
    expect(await store().countPeopleByDay(7, day - 1)).toEqual([
      { day: day - 1, people: 1 },
      { day, people: 1 },
    ])
    expect(await store().countPeopleByDay(7, day + 1)).toEqual([])
    expect(await store().countPeopleByDay(8, 0)).toEqual([])
  })

  test('counts survive a restart', async () => {
    await store.reopen()
    expect(await names({ after: '$page', limit: 1 })).toEqual([{ name: 'a', count: 1 }])
    await send('a', AT)
    expect(await names({ after: '$page', limit: 1 })).toEqual([{ name: 'a', count: 2 }])
  })
}

const view = (occurredAt: number) => ({ type: 'page' as const, name: null, path: '/results', occurredAt })
