import { expect, test } from 'bun:test'
import type { ContactQuery } from '../../../src/store/contacts.ts'
import type { EventPage, EventQuery } from '../../../src/store/events.ts'
import type { ContactRow, EventRow } from '../../../src/store/types.ts'
import { AT, contactWrite, done, eventWrite, type Fresh, HOUR } from '../samples.ts'

const newest = <T extends { id: number }>(rows: T[]): boolean =>
  rows.every((row, index) => index === 0 || row.id < (rows[index - 1]?.id ?? 0))

export function testLists(store: Fresh): void {
  /** Every page of a list of people, with `between` after each. */
  const walkContacts = async (query: Partial<ContactQuery>, between: (page: number) => Promise<unknown>) => {
    const found: ContactRow[] = []
    for (let before: ContactQuery['before'] = null, page = 1; ; page++) {
      const rows: ContactRow[] = await store().listContacts({
        appId: 1,
        tag: null,
        updatedAfter: null,
        limit: 7,
        ...query,
        before,
      })
      found.push(...rows)
      const last = rows.at(-1)
      if (!last || rows.length < 7) return found
      before = { id: last.id, updatedAt: query.updatedAfter === undefined ? null : last.updatedAt }
      await between(page)
    }
  }
  const walkEvents = async (query: Partial<EventQuery>, between: (page: number) => Promise<unknown>) => {
    const found: EventRow[] = []
    for (let before: number | null = null, page = 1; ; page++) {
      const { rows, next }: EventPage = await store().listEvents({
        appId: 1,
        contactId: null,
        name: null,
        limit: 7,
        ...query,
        before,
      })
      expect(rows.length).toBeLessThanOrEqual(7)
      found.push(...rows)
      if (next === null) return found
      before = next
      await between(page)
    }
  }

  test('people: newest first, complete and without repeats while more arrive', async () => {
    const emails = Array.from({ length: 40 }, (_, index) => `p${index}@example.com`)
    for (const email of emails) await store().addContact(contactWrite({ email, appId: 11 }))
    const arrive = (page: number) => store().addContact(contactWrite({ appId: 11, email: `late${page}@example.com` }))
    const found = await walkContacts({ appId: 11 }, arrive)
    expect(found.map((row) => row.email)).toEqual(emails.toReversed())
    expect(newest(found)).toBe(true)
  })

  test('people of one app with a tag', async () => {
    for (let index = 0; index < 30; index++) {
      const tags = index % 3 === 0 ? ['vip', 'x'] : ['x']
      await store().addContact(contactWrite({ appId: 12, email: `t${index}@example.com`, tags }))
    }
    await store().addContact(contactWrite({ appId: 13, email: 'other@example.com', tags: ['vip'] }))
    const arrive = (page: number) =>
      store().addContact(contactWrite({ appId: 12, email: `l${page}@example.com`, tags: ['vip'] }))
    const found = await walkContacts({ appId: 12, tag: 'vip' }, arrive)
    expect(found.map((row) => row.email)).toEqual([27, 24, 21, 18, 15, 12, 9, 6, 3, 0].map((n) => `t${n}@example.com`))
    expect(await walkContacts({ appId: 12, tag: 'nope' }, arrive)).toEqual([])
  })

  test('people updated after a time, with and without a tag, several in one millisecond', async () => {
    for (let index = 0; index < 40; index++) {
      const tags = index % 2 ? ['odd'] : ['even']
      const at = AT + Math.floor(index / 5)
      await store().addContact(contactWrite({ appId: 14, email: `u${index}@example.com`, tags, at }))
    }
    const arrive = (page: number) =>
      store().updateContact(
        contactWrite({ appId: 14, email: `u${page}@example.com`, firstName: 'Moved', at: AT + 100 + page }),
      )
    const expected = (from: number, step: number) =>
      Array.from({ length: 40 }, (_, index) => 39 - index).filter((n) => n >= from && n % step === step - 1)
    const all = await walkContacts({ appId: 14, updatedAfter: AT + 1 }, arrive)
    expect(all.map((row) => row.email)).toEqual(expected(10, 1).map((n) => `u${n}@example.com`))
    const odd = await walkContacts({ appId: 14, updatedAfter: AT + 1, tag: 'odd' }, async () => {})
    const moved = odd.filter((row) => row.firstName === 'Moved').map((row) => row.email)
    expect(odd.filter((row) => row.firstName === null).map((row) => row.email)).toEqual(
      expected(10, 2).map((n) => `u${n}@example.com`),
    )
    expect(moved).toEqual(['u3@example.com', 'u1@example.com'])
    expect(await walkContacts({ appId: 14, updatedAfter: AT + 500 }, arrive)).toEqual([])
  })

  test('events: newest first, complete and without repeats while more arrive', async () => {
    for (let index = 0; index < 40; index++) await store().recordEvent(eventWrite({ appId: 15, name: `e${index}` }))
    const arrive = (page: number) => store().recordEvent(eventWrite({ appId: 15, name: `late${page}` }))
    const found = await walkEvents({ appId: 15 }, arrive)
    expect(found.map((row) => row.name)).toEqual(Array.from({ length: 40 }, (_, index) => `e${39 - index}`))
    expect(newest(found)).toBe(true)
  })

  test('events of one person, with and without a name', async () => {
    let contactId = 0
    for (let index = 0; index < 40; index++) {
      const email = index % 2 ? 'odd@example.com' : 'even@example.com'
      const saved = done(await store().recordEvent(eventWrite({ appId: 16, email, name: `e${index % 4}` })))
      if (index % 2) contactId = saved.contactId
    }
    const arrive = () => store().recordEvent(eventWrite({ appId: 16, email: 'odd@example.com', name: 'e1' }))
    const found = await walkEvents({ appId: 16, contactId, name: 'e1' }, arrive)
    expect(found.map((row) => [row.name, row.email])).toEqual(
      Array.from({ length: 10 }, () => ['e1', 'odd@example.com']),
    )
    expect(newest(found)).toBe(true)
    expect((await walkEvents({ appId: 16, contactId }, async () => {})).map((row) => row.email)).not.toContain(
      'even@example.com',
    )
  })

  test('events by name over many hours, also for a rare name and after a clock change', async () => {
    const times = [...Array.from({ length: 150 }, (_, index) => AT + index * HOUR), AT - 30 * HOUR, AT - 29 * HOUR, AT]
    for (const [index, at] of times.entries()) {
      await store().recordEvent(eventWrite({ appId: 17, name: 'common', at }))
      if (index % 50 === 7) await store().recordEvent(eventWrite({ appId: 17, name: 'rare', at }))
    }
    const arrive = () => store().recordEvent(eventWrite({ appId: 17, name: 'common', at: AT + 200 * HOUR }))
    const common = await walkEvents({ appId: 17, name: 'common' }, arrive)
    expect(common.map((row) => row.receivedAt)).toEqual(times.toReversed())
    expect(newest(common)).toBe(true)
    const rare = await walkEvents({ appId: 17, name: 'rare' }, async () => {})
    expect(rare.map((row) => row.receivedAt)).toEqual([107, 57, 7].map((hours) => AT + hours * HOUR))
    expect(await walkEvents({ appId: 17, name: 'never' }, async () => {})).toEqual([])
    expect(await walkEvents({ appId: 18, name: 'common' }, async () => {})).toEqual([])
  })

  test('a page scans a limited number of events for a rare name, and the next page continues', async () => {
    const [many, email] = [6_000, 'often@example.com']
    const names = Array.from({ length: many }, (_, n) => (n === 0 || n === 2_000 || n === many - 1 ? 'rare' : 'common'))
    for (let from = 0; from < many; from += 1_000) {
      const writes = names.slice(from, from + 1_000).map((name) => eventWrite({ appId: 19, email, name }))
      for (const outcome of await Promise.all(writes.map((write) => store().recordEvent(write)))) done(outcome)
    }
    const [common] = (await store().listEvents({ appId: 19, contactId: null, name: 'common', before: null, limit: 1 }))
      .rows
    for (const contactId of [null, common?.contactId ?? 0]) {
      const query = { appId: 19, contactId, name: 'rare', limit: 7 }
      const first = await store().listEvents({ ...query, before: null })
      expect(first.rows.length).toBeLessThan(3)
      expect(first.next).toBeGreaterThan(0)
      const all = await walkEvents(query, async () => {})
      expect(all.map((row) => row.name)).toEqual(['rare', 'rare', 'rare'])
      expect(newest(all)).toBe(true)
    }
  })

  test('events after a given one: the newest, of all names or of one', async () => {
    const names = ['a', 'b', 'a', 'a', 'b', 'c']
    for (const [index, name] of names.entries()) {
      await store().recordEvent(eventWrite({ appId: 20, name, at: AT + index * HOUR }))
    }
    const list = async (after: number, name: string | null, limit = 7) => {
      const query = { appId: 20, contactId: null, name, before: null, after, limit }
      const { rows, next } = await store().listEvents(query)
      return { names: rows.map((row) => row.name).join(''), ids: rows.map(({ id }) => id), hasMore: next !== null }
    }
    const { ids } = await list(0, null)
    const [last = 0, , , second = 0] = ids
    expect(await list(second, null)).toEqual({ names: 'cba', ids: ids.slice(0, 3), hasMore: false })
    expect(await list(second, null, 2)).toMatchObject({ names: 'cb', hasMore: true })
    expect(await list(second, 'a')).toMatchObject({ names: 'a', hasMore: false })
    expect(await list(0, 'a', 2)).toMatchObject({ names: 'aa', hasMore: true })
    expect(await list(last, null)).toMatchObject({ names: '', hasMore: false })
    for (const name of ['b', 'c', 'never']) expect(await list(last, name)).toMatchObject({ names: '', hasMore: false })
  })

  test('one event is found only in its app', async () => {
    const [row] = (await store().listEvents({ appId: 20, contactId: null, name: 'c', before: null, limit: 1 })).rows
    expect(await store().findEvent(20, row?.id ?? 0)).toEqual(row ?? null)
    expect(await store().findEvent(19, row?.id ?? 0)).toBe(null)
    expect(await store().findEvent(20, 1)).toBe(null)
  })

  test.each([1, 2, 100])('a page of %i', async (limit) => {
    const people = await store().listContacts({ appId: 11, tag: null, updatedAfter: null, before: null, limit })
    const events = await store().listEvents({ appId: 17, contactId: null, name: 'common', before: null, limit })
    expect([people.length, events.rows.length]).toEqual([Math.min(limit, 45), limit])
  })
}
