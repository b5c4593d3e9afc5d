import { expect, test } from 'bun:test'
import type { ContactRow, ContactWrite } from '../../../src/store/types.ts'
import { AT, BY, contactWrite, done, eventWrite, type Fresh, idempotency } from '../samples.ts'

const start = { firstName: 'Ada', lastName: 'Lovelace', tags: ['a', 'b'], fields: { plan: 'pro', seats: 3 } }

type Case = [name: string, change: Partial<ContactWrite>, becomes: Partial<ContactRow>]

/** What a merge makes of a person who has `start`. */
const MERGES: Case[] = [
  ['absent is unchanged', {}, {}],
  ['null clears a name', { firstName: null }, { firstName: null }],
  ['a name is set', { lastName: 'King' }, { lastName: 'King' }],
  ['undefined is absent', { firstName: undefined }, {}],
  ['tags are a set', { tags: ['b', 'c', 'c'] }, { tags: ['a', 'b', 'c'] }],
  ['a field is set beside the others', { fields: { plan: 'free' } }, { fields: { plan: 'free', seats: 3 } }],
  ['null removes a field', { fields: { plan: null } }, { fields: { seats: 3 } }],
  ['the last field goes', { fields: { plan: null, seats: null } }, { fields: null }],
  ['null for a field that is not there', { fields: { other: null } }, {}],
  ['no fields at all', { fields: {} }, {}],
  [
    'false, 0 and "" are values',
    { fields: { plan: false, seats: 0, note: '' } },
    { fields: { plan: false, seats: 0, note: '' } },
  ],
]

const UPDATES: Case[] = [
  ['a tag is removed', { removeTags: ['a'] }, { tags: ['b'] }],
  ['one is added, one removed', { tags: ['c'], removeTags: ['a'] }, { tags: ['b', 'c'] }],
  ['all tags go', { removeTags: ['a', 'b'] }, { tags: null }],
  ['a tag that is not there', { removeTags: ['z'] }, {}],
  ['source may change', { source: 'import' }, { source: 'import' }],
  ['null clears the source', { source: null }, { source: null }],
]

export function testContacts(store: Fresh): void {
  let number = 0
  const newEmail = (): string => `person${++number}@example.com`
  const tagged = async (tag: string, email: string): Promise<boolean> =>
    (await store().listContacts({ appId: 1, tag, updatedAfter: null, before: null, limit: 100 })).some(
      (contact) => contact.email === email,
    )

  test('stores all fields of a new person', async () => {
    const email = newEmail()
    const write = contactWrite({ ...start, email, shownEmail: 'Ada@Example.com', source: 'landing' })
    const saved = done(await store().addContact(write))
    expect(saved).toEqual({
      contactId: saved.contact.id,
      created: true,
      contact: {
        id: expect.any(Number),
        appId: 1,
        email,
        shownEmail: 'Ada@Example.com',
        source: 'landing',
        ...start,
        status: 'subscribed',
        createdAt: AT,
        updatedAt: AT,
        firstSeenAt: null,
        lastSeenAt: null,
        lastEventAt: null,
      },
    })
    expect(await store().findContact(1, email)).toEqual(saved.contact)
  })

  test('finds several people by ID and skips erased ones', async () => {
    const saved = [newEmail(), newEmail()].map((email) => store().addContact(contactWrite({ ...start, email })))
    const people = (await Promise.all(saved)).map((outcome) => done(outcome).contact)
    const found = await store().listContactsById([...people.map(({ id }) => id), 7])
    const stored = people.map(({ firstSeenAt: _, lastSeenAt: __, lastEventAt: ___, ...row }) => row)
    expect(found.toSorted((a, b) => a.id - b.id)).toEqual(stored.toSorted((a, b) => a.id - b.id))
    expect(await store().listContactsById([])).toEqual([])
  })

  const both = (['addContact', 'updateContact'] as const).flatMap((call) =>
    MERGES.map((row) => [call, ...row] as const),
  )
  const cases = [...both, ...UPDATES.map((row) => ['updateContact', ...row] as const)]
  test.each(cases)('%s: %s', async (call, _, change, becomes) => {
    const email = newEmail()
    const before = done(await store().addContact(contactWrite({ ...start, email, source: 'first' }))).contact
    const outcome = done(await store()[call](contactWrite({ email, at: AT + 1, ...change })))
    const isSame = Object.keys(becomes).length === 0
    const after = { ...before, ...becomes, updatedAt: isSame ? AT : AT + 1 }
    expect(outcome).toEqual({ contactId: before.id, created: false, contact: after })
    expect(await store().findContact(1, email)).toEqual(after)
    for (const tag of ['a', 'b', 'c', 'z']) expect(await tagged(tag, email)).toBe(after.tags?.includes(tag) ?? false)
  })

  test('keeps the first source when the person is added again', async () => {
    const email = newEmail()
    await store().addContact(contactWrite({ email, source: 'first' }))
    const again = done(await store().addContact(contactWrite({ email, source: 'second', at: AT + 1 })))
    expect(again.contact).toMatchObject({ source: 'first', updatedAt: AT })
  })

  test('an update does not create a person', async () => {
    const email = newEmail()
    expect(await store().updateContact(contactWrite({ email }))).toEqual({ refusal: 'contact_not_found' })
    expect(await store().findContact(1, email)).toBeNull()
  })

  test('a field may be named __proto__, constructor or 0', async () => {
    const email = newEmail()
    const fields = JSON.parse('{"__proto__":"own","constructor":1,"0":true}') as Record<string, string>
    const saved = done(await store().addContact(contactWrite({ email, fields })))
    const stored = JSON.stringify((await store().findContact(1, email))?.fields)
    expect(stored).toBe('{"0":true,"__proto__":"own","constructor":1}')
    expect(JSON.stringify(saved.contact.fields)).toBe(stored)
    const gone = JSON.parse('{"__proto__":null}') as Record<string, null>
    const after = done(await store().updateContact(contactWrite({ email, fields: gone })))
    expect(JSON.stringify(after.contact.fields)).toBe('{"0":true,"constructor":1}')
  })

  test('returns hostile text unchanged', async () => {
    const email = newEmail()
    const text = `'"; DROP TABLE contacts; -- \u0001 \u202e 𝒳 <script>`
    const write = contactWrite({ email, firstName: text, tags: [text], fields: { [text]: text }, source: text })
    expect(done(await store().addContact(write)).contact).toMatchObject({ firstName: text, tags: [text], source: text })
    expect((await store().findContact(1, email))?.fields).toEqual({ [text]: text })
    expect(await tagged(text, email)).toBe(true)
  })

  test('merges fill a person up to the limit, and removal always works', async () => {
    const email = newEmail()
    const some = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`)
    for (const prefix of ['a', 'b', 'c', 'd']) {
      done(await store().addContact(contactWrite({ email, tags: some(prefix, 50) })))
    }
    expect(await store().updateContact(contactWrite({ email, tags: ['one-more'] }))).toEqual({ refusal: 'tags_full' })
    expect(await store().updateContact(contactWrite({ email, tags: ['a0'] }))).not.toHaveProperty('refusal')
    done(await store().updateContact(contactWrite({ email, tags: ['one-more'], removeTags: ['a0'] })))
    const fields = (prefix: string, text = '') => Object.fromEntries(some(prefix, 60).map((name) => [name, text]))
    done(await store().updateContact(contactWrite({ email, fields: fields('x') })))
    expect(await store().updateContact(contactWrite({ email, fields: fields('y') }))).toEqual({
      refusal: 'fields_full',
    })
    const large = contactWrite({ email, fields: fields('x', 'x'.repeat(300)) })
    expect(await store().updateContact(large)).toEqual({ refusal: 'fields_full' })
    expect((await store().findContact(1, email))?.fields).toEqual(fields('x'))
  })

  test('erasure deletes the person, events, tags and stored answers, and nothing of others', async () => {
    const [email, neighbour] = [newEmail(), newEmail()]
    const once = idempotency({ key: 'erased' })
    await store().addContact(contactWrite({ email, tags: ['erased'], idempotency: once }))
    await store().addContact(contactWrite({ email: neighbour, tags: ['erased'] }))
    for (const who of [email, neighbour]) await store().recordEvent(eventWrite({ email: who, name: 'erased' }))
    const known = await store().findContact(1, email)
    expect(await store().eraseContact({ ...BY, appId: 1, email })).toEqual({ contactId: known?.id ?? 0 })
    expect(await store().findContact(1, email)).toBeNull()
    expect([await tagged('erased', email), await tagged('erased', neighbour)]).toEqual([false, true])
    const events = await store().listEvents({ appId: 1, contactId: null, name: 'erased', before: null, limit: 9 })
    expect(events.rows.map((event) => event.email)).toEqual([neighbour])
    expect(await store().eraseContact({ ...BY, appId: 1, email })).toEqual({ refusal: 'contact_not_found' })
    const again = done(await store().addContact(contactWrite({ email, idempotency: once })))
    expect(again).toMatchObject({ created: true, contact: { tags: null } })
    expect(again.contactId).toBeGreaterThan(known?.id ?? Infinity)
  })
}
