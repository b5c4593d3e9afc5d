import { beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { checkLive } from '../../src/messages/message-checks.ts'
import { describeUntried } from '../../src/messages/tried.ts'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import { exportMessages } from '../../src/messages/message-files.ts'
import { mayDelete } from '../../src/messages/message-changes.ts'
import { deleteMessage, saveMessage, setMessageStatus } from '../../src/messages/messages.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import { appOf } from '../api/reports.ts'
import { createTestSenders, type TestServer, useSharedServer } from '../helper.ts'
import { createMessaging, messageOf, type Messaging, RESULT } from '../messaging.ts'

const openServer = useSharedServer()
let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  messaging = await createMessaging(server)
})

const names = async () =>
  (await messaging.store().listMessages(messaging.app.id)).map(({ name, status, version }) => [name, status, version])
const save = (value: object, id: number | null = null) => saveMessage(messaging.context(), messaging.by, { id, value })
const rowOf = async (id: number) => {
  const row = await messaging.store().findMessage(messaging.app.id, id)
  if (!row) throw new Error('no message')
  return row
}
const problemsOf = async (content: MessageContent) => (await checkLive(messaging.context(), content)).problems
const withoutSender = () => {
  const parts = { store: messaging.store(), clock: server.clock }
  return { ...messaging.context(), senders: createTestSenders(parts, { from: null }) }
}

describe('a new app', () => {
  const drafts = FIRST_MESSAGES.map(({ name }) => [name, 'draft', 1])
  test('has the two drafts, which send nothing', async () => {
    expect(await names()).toEqual(drafts)
    await messaging.event()
    expect(await messaging.deliveries()).toEqual([])
    expect(await exportMessages(messaging.store(), messaging.app)).toEqual(
      FIRST_MESSAGES.map(({ name, content }) => ({ name, status: 'draft', ...content })),
    )
  })
  test('its drafts can go live unchanged, also without headlines, URLs or a home page', async () => {
    const problems = async () => Promise.all(FIRST_MESSAGES.map(({ content }) => problemsOf(content)))
    await messaging.event({ properties: { url: RESULT.url } })
    expect(await problems()).toEqual([[], []])
    await messaging.event({ properties: {} })
    await messaging.event({ properties: undefined })
    await messaging.event({ properties: { resultId: 1 } })
    expect(await problems()).toEqual([[], []])
    for (const { content } of FIRST_MESSAGES) {
      expect((await checkLive(messaging.context(), content)).warnings).toEqual([])
    }
  })
})

describe('saving', () => {
  test('overwrites a draft, versions a live message, and ignores an unchanged one', async () => {
    const draft = { ...messageOf(), status: 'draft' }
    const { id } = await messaging.put(draft)
    expect(await save({ ...draft, mail: { subject: 'Two', body: 'Two' } }, id)).toMatchObject({
      version: 1,
      change: 'changed',
    })
    expect(await save({ ...messageOf(), mail: { subject: 'Two', body: 'Two' } }, id)).toMatchObject({
      version: 1,
      status: 'live',
    })
    expect(
      await save(
        {
          mail: {
            body: 'Two',
            subject: 'Two',
          },
          trigger: messageOf().trigger,
          name: 'A message',
        },
        id,
      ),
    ).toMatchObject({ version: 1, change: 'unchanged', status: 'live' })
    expect(await save(messageOf({ mail: { subject: 'Three', body: 'Three' } }), id)).toMatchObject({
      version: 2,
      change: 'changed',
    })
    expect(
      (await messaging.store().listVersions(id, { before: null, limit: 10 })).map(({ version, content }) => [
        version,
        content.mail.subject,
      ]),
    ).toEqual([
      [2, 'Three'],
      [1, 'Two'],
    ])
  })

  test('does not overwrite a concurrent change', async () => {
    const draft = { ...messageOf(), status: 'draft' }
    const { id } = await messaging.put(draft)
    const { updatedAt: basedOn } = await rowOf(id)
    const value = { ...draft, mail: { subject: 'Mine', body: 'Mine' } }
    const saveMine = (from: number) => saveMessage(messaging.context(), messaging.by, { id, value, basedOn: from })
    server.clock.tick(1)
    await messaging.put({ ...draft, mail: { subject: 'Theirs', body: 'Theirs' } }, id)
    expect(await saveMine(basedOn)).toEqual({ refusal: 'message_changed' })
    expect((await rowOf(id)).content.mail.subject).toBe('Theirs')
    expect(await saveMine(basedOn + 1)).toMatchObject({ change: 'changed' })
  })

  test('refuses a name that was taken after the check', async () => {
    const store = messaging.store()
    const { saveMessages } = store
    const racing = spyOn(store, 'saveMessages').mockImplementationOnce(async (asked) => {
      racing.mockRestore()
      await messaging.put(messageOf())
      return saveMessages(asked)
    })
    const value = { ...messageOf(), status: 'draft', mail: { subject: '{{ oh', body: 'B' } }
    const outcome = await saveMessage({ ...messaging.context(), store }, messaging.by, { id: null, value })
    racing.mockRestore()
    expect(outcome).toEqual({ refusal: 'message_name_taken' })
  })

  test('names are unique within an app', async () => {
    const { id } = await messaging.put({ ...messageOf(), status: 'draft' })
    expect(await save(messageOf())).toMatchObject({ refusal: 'message_name_taken' })
    expect(await save({ ...messageOf({ name: FIRST_MESSAGES[0]?.name }), status: 'draft' }, id)).toEqual({
      refusal: 'message_name_taken',
    })
    const other = await appOf(server, server.second)
    const by = { ...messaging.by, accountId: other.accountId, appId: other.id }
    const context = { ...messaging.context(), app: other }
    expect(await saveMessage(context, by, { id: null, value: messageOf() })).toMatchObject({ change: 'created' })
    expect(await saveMessage(context, by, { id, value: messageOf() })).toMatchObject({ refusal: 'message_not_found' })
    expect(await setMessageStatus(context, by, { message: await rowOf(id), status: 'live' })).toMatchObject({
      refusal: 'message_not_found',
    })
    expect(await messaging.store().deleteMessage({ ...by, id })).toEqual({ refusal: 'message_not_found' })
  })

  test('a message without deliveries can be deleted when it is not live', async () => {
    const { id } = await messaging.put(messageOf())
    const { id: used } = await messaging.put(messageOf({ name: 'Used', trigger: { event: 'used' } }))
    await messaging.event({ event: 'used' })
    const [store, by] = [messaging.store(), messaging.by]
    const mayDeleteIt = async (which: number) => {
      const message = await store.findMessage(by.appId, which)
      const hasDeliveries = await store.hasDeliveries(which)
      return message && mayDelete(message, { hasDeliveries: () => hasDeliveries, followers: [] })
    }
    expect(await deleteMessage(store, { ...by, id })).toMatchObject({
      refusal: 'message_in_use',
      message: expect.stringContaining('is live'),
    })
    for (const which of [id, used]) await store.setMessageStatus({ ...by, id: which, status: 'paused' })
    expect([await mayDeleteIt(id), await mayDeleteIt(used)]).toEqual([true, false])
    expect(await deleteMessage(store, { ...by, id })).toEqual({ done: true })
    expect(await deleteMessage(store, { ...by, id: used })).toEqual({ refusal: 'message_in_use' })
    expect(await deleteMessage(store, { ...by, id })).toEqual({ refusal: 'message_not_found' })
    await messaging.event()
    expect(await messaging.deliveries()).toHaveLength(1)
  })
})

describe('going live', () => {
  test('needs a sender: of the message, the app or the installation', async () => {
    const { id } = await messaging.put({ ...messageOf(), status: 'draft' })
    const message = await rowOf(id)
    const turn = () => setMessageStatus(withoutSender(), messaging.by, { message, status: 'live' })
    expect(await turn()).toMatchObject({ refusal: 'invalid_field', field: 'mail.fromEmail' })
    await messaging.set({ fromEmail: 'post@first.example' })
    expect(await turn()).toEqual({ stillSending: 0 })
    const choosing = async (fromEmail: string) =>
      (await checkLive(withoutSender(), { ...messageOf(), mail: { subject: 'S', body: 'B', fromEmail } })).problems
    await messaging.set({ otherFromEmails: ['a@b.example'] })
    expect(await choosing('A@b.Example')).toEqual([])
    expect(await choosing('x@b.example')).toMatchObject([{ field: 'mail.fromEmail', code: 'sender_not_listed' }])
  })

  test('applies to the checked version only; stopping needs no check', async () => {
    const draft = { ...messageOf(), status: 'draft' }
    const { id } = await messaging.put(draft)
    const seen = await rowOf(id)
    const turn = (status: 'live' | 'paused') =>
      setMessageStatus(messaging.context(), messaging.by, { message: seen, status })
    await save({ ...draft, mail: { subject: 'Theirs', body: 'Theirs' } }, id)
    expect(await turn('live')).toEqual({ refusal: 'message_changed' })
    expect(await rowOf(id)).toMatchObject({ status: 'draft', version: 1 })
    expect(await turn('paused')).toEqual({ stillSending: 0 })
    await save({ ...draft, status: 'paused', mail: seen.content.mail }, id)
    expect(await turn('live')).toEqual({ stillSending: 0 })
  })

  test.each([
    ['{{ event.headline | default: "" }}', '{{ event.headline | default: "Your results are ready" }}'],
    ['{{ event.headline | upcase | default: "" }}', undefined],
  ])('replaces an empty fallback: %s', async (body, by) => {
    await messaging.event({ properties: { url: 'x' } })
    const { problems } = await checkLive(messaging.context(), messageOf({ mail: { subject: 'Ready', body } }))
    expect(problems).toEqual([
      {
        field: 'mail.body',
        code: 'missing_value',
        message:
          '`event.headline` is missing in the only event so far, and an empty fallback counts as none. Add a fallback: `{{ event.headline | default: "Your results are ready" }}`.',
        ...(by === undefined ? {} : { replace: { from: body, by } }),
      },
    ])
  })

  test('refuses values that real events lack, and proposes a fallback', async () => {
    for (let index = 0; index < 8; index += 1) {
      await messaging.event({
        email: `p${index}@example.com`,
        properties: index < 2 ? { url: 'x' } : { headline: 'H' },
      })
    }
    await messaging.event({ event: 'other', properties: {} })
    const mail = { subject: '{{ event.headline }}', body: '{{ contact.firstName }} {{ event.url | default: "" }}' }
    expect(await checkLive(messaging.context(), messageOf({ mail }))).toEqual({
      problems: [
        {
          field: 'mail.subject',
          code: 'missing_value',
          message:
            '`event.headline` is missing in 2 of the last 8 events. Add a fallback: `{{ event.headline | default: "Your results are ready" }}`.',
          replace: { from: '{{ event.headline }}', by: '{{ event.headline | default: "Your results are ready" }}' },
        },
        {
          field: 'mail.body',
          code: 'missing_value',
          message: expect.stringContaining('`contact.firstName` is missing in 8 of the last 8 events.'),
          replace: { from: '{{ contact.firstName }}', by: '{{ contact.firstName | default: "there" }}' },
        },
      ],
      warnings: [],
      tried: { tried: 8, of: 8, what: 'events', usesValues: true },
      lacked: null,
    })
    const refused = {
      refusal: 'invalid_field',
      errors: [
        { field: 'mail.subject', code: 'missing_value', message: expect.any(String) },
        { field: 'mail.body', code: 'missing_value', message: expect.any(String) },
      ],
    }
    expect(await save(messageOf({ mail }))).toMatchObject(refused)
    const draft = await save({ ...messageOf({ mail }), status: 'draft' })
    const message = await rowOf('id' in draft ? draft.id : 0)
    const turn = () => setMessageStatus(messaging.context(), messaging.by, { message, status: 'live' })
    expect(await turn()).toMatchObject(refused)
    const fallbacks = {
      subject: '{{ event.headline | default: "Your results are ready" }}',
      body: '{{ contact.firstName | default: "there" }}',
    }
    expect(await save(messageOf({ mail: fallbacks }), message.id)).toMatchObject({ status: 'live' })
  })

  test('warns of events without a text', async () => {
    for (const properties of [{ headline: 'H' }, {}]) await messaging.event({ properties })
    const mail = { subject: 'S', body: '{% if event.headline %}Ready{% endif %}' }
    expect(await checkLive(messaging.context(), messageOf({ mail }))).toMatchObject({
      problems: [],
      warnings: [
        {
          field: 'mail.body',
          code: 'empty_mail',
          message: 'The text is empty in 1 of the last 2 events. No email is sent in that case.',
        },
      ],
    })
    expect(await save(messageOf({ mail }))).toMatchObject({ status: 'live' })
  })

  test('no events are fine, an invalid template is not', async () => {
    const unused = { ...messageOf(), mail: { subject: '{{ event.x }}', body: 'B' } }
    expect(await checkLive(messaging.context(), unused)).toMatchObject({ problems: [], warnings: [] })
    const broken = await problemsOf({ ...messageOf(), mail: { subject: '{{ event.x', body: '{% include "a" %}' } })
    expect(broken.map(({ field }) => field)).toEqual(['mail.subject', 'mail.body'])
  })

  test('refuses event values in a message that no event starts', async () => {
    const body = '{{ contact.firstName | default: "there" }} {{ event.headline | default: "Done" }}'
    for (const trigger of [{ contact: 'created' as const }, { page: '/pricing' }, { tag: 'beta' }]) {
      const problems = (subject: string) => problemsOf({ ...messageOf({ trigger }), mail: { subject, body } })
      expect(await problems('{{ event.headline }}')).toEqual([
        {
          field: 'mail.subject',
          code: 'missing_value',
          message:
            'No event triggers this message, so `event.headline` has no value. Give it a fallback: `{{ event.headline | default: "..." }}`.',
        },
      ])
      expect(await problems('Welcome')).toEqual([])
    }
  })

  test('reports no percentage for one event', async () => {
    await messaging.event({ properties: {} })
    const mail = { subject: '{{ event.headline }}', body: 'B' }
    const [problem] = await problemsOf({ ...messageOf(), mail })
    expect(problem?.message).toStartWith('`event.headline` is missing in the only event so far.')
  })

  test('counts missing values of real people', async () => {
    for (const [email, firstName] of [
      ['a@example.com', 'A'],
      ['b@example.com', undefined],
    ] as const) {
      await messaging.event({ email, firstName })
    }
    const mail = { subject: 'Hello {{ contact.firstName }}', body: 'B' }
    for (const trigger of [{ contact: 'created' as const }, { page: '/pricing' }, { tag: 'beta' }]) {
      const [problem] = await problemsOf({ ...messageOf({ trigger }), mail })
      expect(problem?.message).toStartWith('`contact.firstName` is missing for 1 of the last 2 people.')
      const field = { ...mail, subject: 'Your {{ contact.fields.plan }}' }
      expect(await problemsOf({ ...messageOf({ trigger }), mail: field })).toHaveLength(1)
    }
  })

  test('says why no value could be checked', async () => {
    const mail = { subject: 'Hello {{ contact.firstName }}', body: 'B' }
    const triedOf = async (changes: Parameters<typeof messageOf>[0]) => {
      const { tried } = await checkLive(messaging.context(), messageOf({ mail, ...changes }))
      return tried && describeUntried(tried)
    }
    const page = { trigger: { page: '/pricing' } }
    expect(await triedOf({})).toBe('No events to check yet.')
    expect(await triedOf(page)).toBe('No people to check yet.')
    expect(await triedOf({ mail: { subject: 'Hello', body: 'B' } })).toBeNull()
    await messaging.event({ event: 'other' })
    expect(await triedOf({})).toBe('No events to check yet.')
    expect(await triedOf(page)).toBeNull()
  })

  test('checks an edit of a live message too', async () => {
    const { id } = await messaging.put(messageOf())
    expect(await save(messageOf({ mail: { subject: '{{ nobody.knows }}', body: 'B' } }), id)).toMatchObject({
      field: 'mail.subject',
    })
  })
})
