import { expect, test } from 'bun:test'
import { AT, contactWrite, done, eventWrite, type Fresh } from '../samples.ts'

export function testLastEvents(store: Fresh): void {
  const lastEventAt = async (email: string): Promise<number | null | undefined> =>
    (await store().findContact(1, email))?.lastEventAt

  test('the last event is exact at once wherever a person is shown', async () => {
    const email = 'once@example.com'
    for (const at of [AT, AT + 1, AT + 2]) {
      await store().recordEvent(eventWrite({ email, at }))
      expect(await lastEventAt(email)).toBe(at)
    }
    const listed = await store().listContacts({ appId: 1, tag: null, updatedAfter: null, before: null, limit: 100 })
    expect(listed.find((row) => row.email === email)?.lastEventAt).toBe(AT + 2)
    const saved = done(await store().updateContact(contactWrite({ email, firstName: 'Ada' })))
    expect(saved.contact.lastEventAt).toBe(AT + 2)
    expect(done(await store().updateContact(contactWrite({ email }))).contact.lastEventAt).toBe(AT + 2)
  })

  test('uses the latest time at which an event happened', async () => {
    const email = 'happened@example.com'
    await store().recordEvent(eventWrite({ email, at: AT + 50, occurredAt: AT + 9 }))
    expect(await lastEventAt(email)).toBe(AT + 9)
    await store().recordEvent(eventWrite({ email, at: AT + 60, occurredAt: AT + 3 }))
    expect(await lastEventAt(email)).toBe(AT + 9)
  })

  test('ignores page views and actions', async () => {
    const email = 'views@example.com'
    await store().recordEvent(eventWrite({ email, type: 'page', path: '/' }))
    await store().recordEvent(eventWrite({ email, type: 'action' }))
    expect(await lastEventAt(email)).toBeNull()
    await store().recordEvent(eventWrite({ email, at: AT + 1 }))
    await store().recordEvent(eventWrite({ email, at: AT + 2, type: 'page', path: '/' }))
    expect(await lastEventAt(email)).toBe(AT + 1)
  })

  test('the last event is exact after a restart', async () => {
    const email = 'stop@example.com'
    for (const at of [AT, AT + 1, AT + 2]) await store().recordEvent(eventWrite({ email, at }))
    await store.reopen()
    expect(await lastEventAt(email)).toBe(AT + 2)
  })

  test('first and last seen come from page views', async () => {
    const email = 'seen@example.com'
    for (const at of [AT + 1, AT + 2, AT + 3])
      await store().recordEvent(eventWrite({ email, at, type: 'page', path: '/' }))
    const seen = await store().findContact(1, email)
    expect([seen?.firstSeenAt, seen?.lastSeenAt, seen?.lastEventAt]).toEqual([AT + 1, AT + 3, null])
  })
}
