import { expect, test } from 'bun:test'
import type { EventSender } from '../../../src/store/event-texts.ts'
import { EVENT_TYPES, VIAS, type EventRow } from '../../../src/store/types.ts'
import { AT, done, eventWrite, type Fresh, HOUR, countedBy } from '../samples.ts'

const query = { contactId: null, name: null, before: null, limit: 100 }

const sender: EventSender = {
  apps: [{ id: 1, accountId: 'acc_1', publicId: 'app_1', hosts: [] }],
  newPeoplePerMonth: null,
  limits: countedBy('events:key_1'),
}

export function testEvents(store: Fresh): void {
  const eventsOf = async (email: string): Promise<EventRow[]> =>
    (await store().listEvents({ ...query, appId: 1 })).rows.filter((event) => event.email === email)

  test('refuses an unknown person and stores nothing', async () => {
    const email = 'nobody@example.com'
    expect(await store().recordEvent(eventWrite({ email, createContact: false }))).toEqual({
      refusal: 'contact_not_found',
    })
    expect(await store().findContact(1, email)).toBeNull()
    expect(await eventsOf(email)).toEqual([])
  })

  test('creates the person from the event, once', async () => {
    const email = 'new@example.com'
    const write = eventWrite({ email, shownEmail: 'New@Example.com', firstName: 'Ada', lastName: null })
    const first = done(await store().recordEvent(write))
    expect(first).toEqual({ contactId: expect.any(Number), eventId: expect.any(Number), created: true })
    expect(await store().recordEvent(write)).toEqual({
      contactId: first.contactId,
      eventId: expect.any(Number),
      created: false,
    })
    expect(await store().findContact(1, email)).toEqual({
      id: first.contactId,
      appId: 1,
      email,
      shownEmail: 'New@Example.com',
      firstName: 'Ada',
      lastName: null,
      source: null,
      status: 'subscribed',
      tags: null,
      fields: null,
      createdAt: AT,
      updatedAt: AT,
      firstSeenAt: null,
      lastSeenAt: null,
      lastEventAt: AT,
    })
  })

  test('events sent as text are parsed and stored among others, each with its own outcome', async () => {
    const textOf = (email: string, more: object = {}) => JSON.stringify({ app: 'app_1', email, event: 'e', ...more })
    const send = (text: string) => store().recordEventText({ text, sender, via: 'api', at: AT })
    const made = { createContact: true, properties: { said: 'é€😀"\\\n' } }
    const outcomes = await Promise.all([
      send(textOf('text1@example.com', made)),
      store().recordEvent(eventWrite({ email: 'between@example.com' })),
      send(textOf('text2@example.com')),
      send(textOf('text3@example.com', { app: 'app_2' })),
      send('{'),
      send(textOf('text1@example.com')),
    ])
    const recorded = { contactId: expect.any(Number), eventId: expect.any(Number) }
    expect(outcomes).toEqual([
      { ...recorded, created: true, appId: 1 },
      { ...recorded, created: true },
      { refusal: 'contact_not_found', appId: 1 },
      { refused: { refusal: 'app_not_found' } },
      { refused: { refusal: 'invalid_json', message: expect.stringContaining('at character 2.') } },
      { ...recorded, created: false, appId: 1 },
    ])
    expect((await eventsOf('text1@example.com')).map(({ properties }) => properties)).toEqual([
      null,
      JSON.stringify(made.properties),
    ])
    expect(await eventsOf('text3@example.com')).toEqual([])
    const counted = (await store().listUsage(0)).filter(({ bucket }) => bucket === 'events:key_1')
    expect(counted.reduce((sum, { count }) => sum + count, 0)).toBe(3)
  })

  test('an event over the limit is parsed, replayed if stored before, and not stored otherwise', async () => {
    const email = 'over@example.com'
    const send = (more: object, key?: string, isOver = false) =>
      store().recordEventText({
        text: JSON.stringify({ app: 'app_1', email, event: 'e', createContact: true, ...more }),
        sender,
        via: 'api',
        at: AT,
        ...(key === undefined ? {} : { idempotency: { keyId: 'key_1', key, target: 'POST /events', at: AT } }),
        ...(isOver ? { refusal: 'rate_limited' } : {}),
      })
    const first = await send({}, 'first')
    const outcomes = [
      await send({}, 'first', true),
      await send({ event: 'other' }, 'first', true),
      await send({}, 'second', true),
      await send({}, undefined, true),
      await send({ email: 'x' }, 'second', true),
      await send({}, 'second'),
    ]
    expect(outcomes).toMatchObject([
      { ...first, replayed: true },
      { refusal: 'idempotency_mismatch', appId: 1 },
      { refused: { refusal: 'rate_limited' }, appId: 1 },
      { refused: { refusal: 'rate_limited' }, appId: 1 },
      { refused: { refusal: 'invalid_field', field: 'email' }, appId: 1, lacksEmail: false },
      { contactId: expect.any(Number), created: false },
    ])
    expect(await eventsOf(email)).toHaveLength(2)
  })

  test('a known person does not need createContact', async () => {
    const email = 'known@example.com'
    await store().addContact({ ...eventWrite({ email }), tags: [], removeTags: [], fields: null, source: null })
    const outcome = await store().recordEvent(eventWrite({ email, createContact: false }))
    expect(outcome).toEqual({ contactId: expect.any(Number), eventId: expect.any(Number), created: false })
  })

  test('the same email in two apps is two people', async () => {
    const email = 'both@example.com'
    const one = done(await store().recordEvent(eventWrite({ email })))
    expect(await store().recordEvent(eventWrite({ email, appId: 2, createContact: false }))).toEqual({
      refusal: 'contact_not_found',
    })
    const other = done(await store().recordEvent(eventWrite({ email, appId: 2 })))
    expect(other.contactId).not.toBe(one.contactId)
    expect((await store().listEvents({ ...query, appId: 2, contactId: one.contactId })).rows).toEqual([])
  })

  test('names fill empty fields and overwrite none', async () => {
    const email = 'names@example.com'
    const names = async (firstName: string | null, lastName: string | null, at: number) => {
      const { keptNames } = done(await store().recordEvent(eventWrite({ email, firstName, lastName, at })))
      const row = await store().findContact(1, email)
      return [row?.firstName, row?.lastName, row?.updatedAt, keptNames]
    }
    expect(await names(null, null, AT)).toEqual([null, null, AT, undefined])
    expect(await names('Ada', null, AT + 1)).toEqual(['Ada', null, AT + 1, undefined])
    expect(await names('Eve', null, AT + 2)).toEqual(['Ada', null, AT + 1, ['firstName']])
    expect(await names('Eve', 'Lovelace', AT + 3)).toEqual(['Ada', 'Lovelace', AT + 3, ['firstName']])
    expect(await names('Eve', 'Smith', AT + 4)).toEqual(['Ada', 'Lovelace', AT + 3, ['firstName', 'lastName']])
    expect(await names('Ada', 'Lovelace', AT + 5)).toEqual(['Ada', 'Lovelace', AT + 3, undefined])
    expect(await names(null, null, AT + 6)).toEqual(['Ada', 'Lovelace', AT + 3, undefined])
  })

  test('fills a cleared name again', async () => {
    const email = 'cleared@example.com'
    await store().recordEvent(eventWrite({ email, firstName: 'Ada', lastName: 'Lovelace' }))
    const cleared = { ...eventWrite({ email }), tags: [], removeTags: [], fields: null, source: null }
    await store().updateContact({ ...cleared, firstName: null, lastName: undefined })
    await store().recordEvent(eventWrite({ email, firstName: 'Augusta', lastName: 'King' }))
    expect(await store().findContact(1, email)).toMatchObject({ firstName: 'Augusta', lastName: 'Lovelace' })
  })

  test.each(EVENT_TYPES.flatMap((type) => VIAS.map((via) => [type, via] as const)))('a %s by %s', async (type, via) => {
    const email = `${type}-${via}@example.com`
    const path = type === 'event' ? null : '/projects/7'
    const properties = type === 'page' ? null : '{"url":"https://example.com/ü"}'
    const write = eventWrite({ email, shownEmail: `Shown-${email}`, type, via, path, properties, name: `${type}.x` })
    const { contactId } = done(await store().recordEvent({ ...write, at: AT + 5, occurredAt: AT - HOUR }))
    expect((await store().listEvents({ ...query, appId: 1, contactId })).rows).toEqual([
      {
        id: expect.any(Number),
        contactId,
        email,
        type,
        name: `${type}.x`,
        properties,
        path,
        via,
        receivedAt: AT + 5,
        occurredAt: AT - HOUR,
      },
    ])
  })

  test('an event without a time happened when it arrived', async () => {
    const email = 'now@example.com'
    await store().recordEvent(eventWrite({ email, at: AT + 7 }))
    await store().recordEvent(eventWrite({ email, at: AT + 8, occurredAt: AT + 8 }))
    expect((await eventsOf(email)).map((event) => event.occurredAt)).toEqual([AT + 8, AT + 7])
  })
}
