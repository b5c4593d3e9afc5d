import { expect, spyOn, test } from 'bun:test'
import type { EventWrite } from '../../../src/store/types.ts'
import { AT, contactWrite, eventWrite, type Fresh, idempotency, newAccount } from '../samples.ts'

export function testBatches(store: Fresh): void {
  const record = (changes: Partial<EventWrite>) => store().recordEvent(eventWrite(changes))
  /** The log line of a write that failed is expected here. */
  const quietly = async <T>(run: () => Promise<T>): Promise<T> => {
    const log = spyOn(console, 'error').mockImplementation(() => {})
    try {
      return await run()
    } finally {
      log.mockRestore()
    }
  }

  test('writes that arrive together share a commit', async () => {
    const commits: number[] = []
    store().onCommit(({ rows }) => commits.push(rows))
    await Promise.all(Array.from({ length: 300 }, (_, index) => record({ email: `g${index}@example.com` })))
    // groups that run at the same time may end in another order
    const groups = store().isShared ? commits.toSorted((a, b) => a - b) : commits
    expect(groups).toEqual(store().isShared ? [32, 32, 44, 64, 128] : [32, 32, 64, 128, 44])
    await record({ email: 'g0@example.com' })
    expect(commits.slice(5)).toEqual([1])
  })

  test('a refused row does not affect its neighbours', async () => {
    const outcomes = await Promise.all([
      record({ email: 'a@example.com' }),
      record({ email: 'b@example.com', createContact: false }),
      record({ email: 'c@example.com' }),
      store().updateContact(contactWrite({ email: 'd@example.com' })),
    ])
    expect(outcomes).toEqual([
      { contactId: expect.any(Number), eventId: expect.any(Number), created: true },
      { refusal: 'contact_not_found' },
      { contactId: expect.any(Number), eventId: expect.any(Number), created: true },
      { refusal: 'contact_not_found' },
    ])
  })

  const BROKEN: [string, (email: string) => Promise<unknown>][] = [
    ['a bigint', (email) => record({ email, occurredAt: 10n as unknown as number, at: 1n as unknown as number })],
    [
      'a circular value',
      (email) => {
        const loop: Record<string, unknown> = {}
        loop.self = loop
        return record({ email, properties: loop as unknown as string })
      },
    ],
    ['a wrong type', (email) => record({ email, at: 'soon' as unknown as number })],
    ['a name that breaks a table constraint', (email) => record({ email, name: null as unknown as string })],
    [
      'tags that are not a list',
      (email) => store().addContact(contactWrite({ email, tags: 7 as unknown as string[] })),
    ],
    [
      'a duplicate ID',
      () =>
        store().createAccount(
          newAccount(1, {
            id: 'acc_twice',
            member: { id: 'mem_1', membershipId: 'own_twice', email: 'm@example.com', passwordHash: null },
          }),
        ),
    ],
  ]
  test.each(BROKEN)('%s fails alone, its neighbours are saved', async (what, breaks) => {
    await store().createAccount(newAccount(1))
    const name = `n${Bun.hash(what)}`
    const emails = Array.from({ length: 20 }, (_, index) => `${name}-${index}@example.com`)
    const writes = emails.map((email, index) => (index === 7 ? breaks(email) : record({ email, name })))
    const outcomes = await quietly(() => Promise.all(writes))
    expect(outcomes[7]).toEqual({ refusal: 'internal_error' })
    expect(outcomes.filter((_, index) => index !== 7).every((one) => (one as { created?: boolean }).created)).toBe(true)
    const events = await store().listEvents({ appId: 1, contactId: null, name, before: null, limit: 100 })
    expect(events.rows).toHaveLength(19)
    expect(await store().findContact(1, emails[7] ?? '')).toBeNull()
  })

  test('a row that fails late leaves nothing behind', async () => {
    const email = 'late@example.com'
    const bad = idempotency({ key: 'late', bodyHash: null as unknown as string })
    expect(await quietly(() => record({ email, idempotency: bad }))).toEqual({ refusal: 'internal_error' })
    expect(await store().findContact(1, email)).toBeNull()
    expect(await record({ email, createContact: false })).toEqual({ refusal: 'contact_not_found' })
    expect(await record({ email })).toMatchObject({ created: true })
  })

  test('the first write about a person wins', async () => {
    const email = 'first@example.com'
    const outcomes = await Promise.all([
      record({ email, firstName: 'One' }),
      record({ email: 'aaa@example.com' }),
      record({ email, firstName: 'Two' }),
      store().addContact(contactWrite({ email, source: 'third' })),
    ])
    expect(outcomes.map((outcome) => 'created' in outcome && outcome.created)).toEqual([true, true, false, false])
    expect(await store().findContact(1, email)).toMatchObject({ firstName: 'One', source: null })
  })

  test('2,000 writes may wait; more are refused at once until there is room', async () => {
    const accepted = 32 + 32 + 64 + 128 + 2_000
    const email = 'queue@example.com'
    const writes = Array.from({ length: accepted + 100 }, () => record({ email, at: AT }))
    expect(store().stats().waiting).toBe(accepted)
    const outcomes = await Promise.all(writes)
    const refused = outcomes.map((outcome) => 'refusal' in outcome && outcome.refusal)
    expect(refused.slice(0, accepted).every((refusal) => refusal === false)).toBe(true)
    expect(refused.slice(accepted).every((refusal) => refusal === 'unavailable')).toBe(true)
    expect(await record({ email })).toMatchObject({ created: false })
    expect(store().stats().waiting).toBe(0)
  })

  test('closing waits for accepted writes and accepts no more', async () => {
    const writes = Array.from({ length: 600 }, (_, index) => record({ email: `stop${index}@example.com` }))
    const old = store()
    const closing = store.reopen()
    const late = old.recordEvent(eventWrite({ email: 'too-late@example.com' }))
    expect(await late).toEqual({ refusal: 'unavailable' })
    for (const outcome of await Promise.all(writes)) expect(outcome).toMatchObject({ created: true })
    await closing
    expect(await store().findContact(1, 'stop599@example.com')).not.toBeNull()
    expect(await store().findContact(1, 'too-late@example.com')).toBeNull()
    expect(await old.recordEvent(eventWrite())).toEqual({ refusal: 'unavailable' })
    await old.close()
  })

  test('reports that it can commit', async () => {
    for (let i = 0; i < 3; i++) expect(await store().canCommit()).toBe(true)
  })
}
