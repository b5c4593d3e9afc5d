import { expect, test } from 'bun:test'
import { DEFAULT_RETENTION } from '../../../src/accounts/retention.ts'
import { pickSettings } from '../../../src/store/apps.ts'
import type { EventWrite } from '../../../src/store/types.ts'
import { AT, BY, contactWrite, DAY, done, eventWrite, type Fresh, idempotency, newAccount } from '../samples.ts'

/** By the clock that tells the age of a record; the time of the write itself is of no concern. */
const later = (write: EventWrite, at: number): EventWrite => ({
  ...write,
  idempotency: write.idempotency && { ...write.idempotency, at },
})

export function testIdempotency(store: Fresh): void {
  const countEvents = async (email: string): Promise<number> =>
    (await store().listEvents({ appId: 1, contactId: null, name: null, before: null, limit: 100 })).rows.filter(
      (event) => event.email === email,
    ).length

  test('repeating a request returns the first outcome and runs once', async () => {
    const write = eventWrite({ email: 'same@example.com', idempotency: idempotency({ key: 'same' }) })
    const first = done(await store().recordEvent(write))
    expect(first).toEqual({ contactId: first.contactId, eventId: expect.any(Number), created: true })
    expect(await store().recordEvent(later(write, AT + DAY - 1))).toEqual({ ...first, replayed: true })
    expect(await countEvents('same@example.com')).toBe(1)
  })

  test('a request repeated in one batch runs once', async () => {
    const write = eventWrite({ email: 'pair@example.com', idempotency: idempotency({ key: 'pair' }) })
    const outcomes = await Promise.all([store().recordEvent(write), store().recordEvent(write)])
    expect(outcomes.map((outcome) => 'replayed' in outcome)).toEqual([false, true])
    expect(await countEvents('pair@example.com')).toBe(1)
  })

  test('the stored answer contains the person as they were then', async () => {
    const email = 'was@example.com'
    const write = contactWrite({ email, firstName: 'Ada', tags: ['x'], idempotency: idempotency({ key: 'was' }) })
    const first = done(await store().addContact(write))
    await store().updateContact(contactWrite({ email, firstName: 'Eve', at: AT + 1 }))
    expect(await store().addContact(write)).toEqual({ ...first, replayed: true })
    expect((await store().findContact(1, email))?.firstName).toBe('Eve')
  })

  test('a different body with the same key is refused', async () => {
    const email = 'other@example.com'
    await store().recordEvent(eventWrite({ email, idempotency: idempotency({ key: 'other' }) }))
    const other = idempotency({ key: 'other', bodyHash: 'another' })
    expect(await store().recordEvent(eventWrite({ email, idempotency: other }))).toEqual({
      refusal: 'idempotency_mismatch',
    })
    expect(await countEvents(email)).toBe(1)
  })

  test('an idempotency key belongs to one API key', async () => {
    const email = 'keys@example.com'
    await store().recordEvent(eventWrite({ email, idempotency: idempotency({ key: 'k' }) }))
    const other = idempotency({ key: 'k', keyId: 'key_2', bodyHash: 'another' })
    expect(await store().recordEvent(eventWrite({ email, idempotency: other }))).not.toHaveProperty('refusal')
  })

  test('after 24 hours the key is free for any body', async () => {
    const email = 'free@example.com'
    const first = eventWrite({ email, idempotency: idempotency({ key: 'free' }) })
    await store().recordEvent(first)
    const other = idempotency({ key: 'free', bodyHash: 'another' })
    const second = eventWrite({ email, idempotency: other })
    expect(await store().recordEvent(later(second, AT + DAY - 1))).toHaveProperty('refusal')
    const next = done(await store().recordEvent(later(second, AT + DAY)))
    expect(next).toEqual({ contactId: next.contactId, eventId: expect.any(Number), created: false })
    expect(await store().recordEvent(later(first, AT + DAY + 1))).toEqual({ refusal: 'idempotency_mismatch' })
  })

  test('the parts of a request share its key, taken by the first that runs', async () => {
    const email = 'parts@example.com'
    const of = (part: number | null, bodyHash = 'whole') =>
      eventWrite({ email, idempotency: idempotency({ key: 'parts', part, bodyHash }) })
    const list = async () =>
      (await store().listOutcomes({ keyId: 'key_1', key: 'parts', at: AT })).map(({ part, bodyHash }) => [
        part,
        bodyHash,
      ])
    expect(await list()).toEqual([])
    expect(await store().recordEvent({ ...of(0), createContact: false })).toHaveProperty('refusal')
    expect(await list()).toEqual([])
    const first = done(await store().recordEvent(of(1)))
    const second = done(await store().recordEvent(of(2)))
    expect((await list()).sort()).toEqual(
      [
        [1, 'whole'],
        [2, 'whole'],
        [null, 'whole'],
      ].sort(),
    )
    expect(await store().recordEvent(of(1))).toEqual({ ...first, replayed: true })
    expect(await store().recordEvent(of(2))).toEqual({ ...second, replayed: true })
    for (const part of [null, 0, 1, 3]) {
      expect(await store().recordEvent(of(part, 'other'))).toEqual({ refusal: 'idempotency_mismatch' })
    }
    expect(await countEvents(email)).toBe(2)
    await store().eraseContact({ ...BY, appId: 1, email })
    expect(await list()).toEqual([])
  })

  test('a longer key with the same prefix is a different key', async () => {
    await store().recordEvent(eventWrite({ email: 'long@example.com', idempotency: idempotency({ key: 'long er' }) }))
    expect(await store().listOutcomes({ keyId: 'key_1', key: 'long', at: AT })).toEqual([])
    expect(await store().listOutcomes({ keyId: 'key_1', key: 'long er', at: AT + DAY - 1 })).toHaveLength(1)
    expect(await store().listOutcomes({ keyId: 'key_1', key: 'long er', at: AT + DAY })).toEqual([])
  })

  test('a refusal is not stored', async () => {
    const email = 'refused@example.com'
    const write = eventWrite({ email, createContact: false, idempotency: idempotency({ key: 'refused' }) })
    expect(await store().recordEvent(write)).toEqual({ refusal: 'contact_not_found' })
    await store().addContact(contactWrite({ email }))
    expect(await store().recordEvent(write)).toEqual({
      contactId: expect.any(Number),
      eventId: expect.any(Number),
      created: false,
    })
    expect(await store().recordEvent(write)).toMatchObject({ replayed: true })
  })

  test('the clean-up deletes expired records only', async () => {
    const clean = async (at: number) => done(await store().cleanUp({ at })).deleted
    const base = AT + 10 * DAY
    await clean(base)
    const write = later(eventWrite({ email: 'age@example.com', idempotency: idempotency({ key: 'age' }) }), base)
    await store().recordEvent(write)
    expect(await clean(base + DAY - 1)).toBe(0)
    expect(await store().recordEvent(later(write, base + DAY - 1))).toMatchObject({ replayed: true })
    expect(await clean(base + DAY)).toBe(1)
  })

  test('the clean-up deletes the expired record of one app, not the later one of another with the same key', async () => {
    const base = AT + 15 * DAY
    const write = (appId: number, at: number) =>
      later(eventWrite({ email: 'both@example.com', appId, idempotency: idempotency({ key: 'both' }) }), at)
    await store().recordEvent(write(2, base))
    const second = done(await store().recordEvent(write(1, base + DAY)))
    expect(second).not.toHaveProperty('replayed')
    done(await store().cleanUp({ at: base + DAY }))
    expect(await store().recordEvent(write(1, base + DAY + 1))).toEqual({ ...second, replayed: true })
  })

  const setDays = async (appId: number, responseDays: number | null, at: number) => {
    const app = await store().findApp(appId)
    if (app === null) throw new Error('there is no app')
    const retention = { ...DEFAULT_RETENTION, responseDays }
    const settings = pickSettings(app, { hosts: [], addsPeople: false }, retention)
    done(await store().updateApp({ accountId: app.accountId, actor: 'test', at, appId, settings }))
  }

  test('a record lasts as many days as its app sets, also after a restart, and those of others a day', async () => {
    const base = AT + 20 * DAY
    for (const number of [1, 2]) done(await store().createAccount(newAccount(number)))
    const write = (key: string, more: Partial<EventWrite> = {}) =>
      later(eventWrite({ email: 'days@example.com', idempotency: idempotency({ key }), ...more }), base)
    const [own, other] = [write('own'), write('of another', { accountId: 'acc_2', appId: 2 })]
    await store().recordEvent(own)
    await store().recordEvent(other)
    await setDays(1, 3, base)
    await store.reopen()
    const repeat = async (one: EventWrite, at: number) => 'replayed' in (await store().recordEvent(later(one, at)))
    await store().cleanUp({ at: base + 3 * DAY - 1 })
    expect(await repeat(own, base + 3 * DAY - 1)).toBe(true)
    expect(await repeat(other, base + DAY)).toBe(false)
    expect(await repeat(own, base + 3 * DAY)).toBe(false)
  })

  test('the parts of a request last as long as their own apps say', async () => {
    const base = AT + 40 * DAY
    await setDays(1, 3, base)
    const of = (part: number, more: Partial<EventWrite> = {}) =>
      later(eventWrite({ email: 'each@example.com', idempotency: idempotency({ key: 'each', part }), ...more }), base)
    const writes = [of(0, { accountId: 'acc_2', appId: 2 }), of(1)]
    for (const one of writes) done(await store().recordEvent(one))
    const repeated = []
    for (const one of writes) repeated.push('replayed' in (await store().recordEvent(later(one, base + 2 * DAY))))
    expect(repeated).toEqual([false, true])
  })

  test('fewer days count at once, and more days bring back no record that has expired', async () => {
    const base = AT + 60 * DAY
    const list = async (at: number) => (await store().listOutcomes({ keyId: 'key_1', key: 'back', at })).length
    const write = later(eventWrite({ email: 'back@example.com', idempotency: idempotency({ key: 'back' }) }), base)
    await setDays(1, 5, base)
    await store().recordEvent(write)
    expect(await list(base + 4 * DAY)).toBe(1)
    await setDays(1, 2, base + 3 * DAY)
    expect(await list(base + 3 * DAY)).toBe(0)
    await setDays(1, 30, base + 3 * DAY)
    expect(await list(base + 3 * DAY)).toBe(0)
    await setDays(1, null, base + 3 * DAY)
    await store().recordEvent(later(write, base + 3 * DAY))
    await setDays(1, 30, base + 4 * DAY - 1)
    expect(await list(base + 6 * DAY)).toBe(1)
  })

  test('the clean-up deletes what has expired by the days of its app, and not more', async () => {
    const base = AT + 80 * DAY
    const clean = async (at: number) => {
      let all = 0
      for (let deleted = 1; deleted > 0; all += deleted) ({ deleted } = done(await store().cleanUp({ at })))
      return all
    }
    await setDays(1, 3, base)
    await setDays(2, null, base)
    await clean(base)
    const writeOne = (index: number) =>
      store().recordEvent(later(eventWrite({ idempotency: idempotency({ key: `clean ${index}` }) }), base))
    await Promise.all(Array.from({ length: 510 }, (_, index) => writeOne(index)))
    const other = { accountId: 'acc_2', appId: 2, idempotency: idempotency({ key: 'clean' }) }
    await store().recordEvent(later(eventWrite(other), base + 1))
    expect(await clean(base + DAY)).toBe(0)
    expect(await clean(base + DAY + 1)).toBe(1)
    expect(await clean(base + 3 * DAY - 1)).toBe(0)
    expect(await clean(base + 3 * DAY)).toBe(510)
    await setDays(1, null, base)
  })

  test('records survive a restart', async () => {
    const write = eventWrite({ email: 'stop@example.com', idempotency: idempotency({ key: 'stop' }) })
    const first = done(await store().recordEvent(write))
    await store.reopen()
    expect(await store().recordEvent(write)).toEqual({ ...first, replayed: true })
  })
}
