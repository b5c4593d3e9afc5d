import { beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import { exportMessages, importMessages } from '../../src/messages/message-files.ts'
import { type TestServer, useSharedServer } from '../helper.ts'
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

describe('a file', () => {
  const read = (file: unknown, more: object = {}) =>
    importMessages(messaging.context(), messaging.by, { file, status: null, dryRun: false, ...more })

  test('imports unchanged, and reports changes', async () => {
    const file = await exportMessages(messaging.store(), messaging.app)
    expect(await read(file)).toMatchObject({ messages: [{ change: 'unchanged', fields: [] }, { change: 'unchanged' }] })
    const [first, second] = file
    const changed = [
      { ...first, wait: { minutes: 20 }, onlyIf: first?.onlyIf?.slice(0, 2) },
      { ...second, name: 'New' },
    ]
    const expected = {
      messages: [
        { name: first?.name, change: 'changed', status: 'draft', fields: ['wait.minutes', 'onlyIf[2]'] },
        { name: 'New', change: 'created', status: 'draft', fields: [] },
      ],
      stillSending: 0,
      warnings: [],
    }
    expect(await read(changed, { dryRun: true })).toEqual(expected as never)
    expect(await exportMessages(messaging.store(), messaging.app)).toEqual(file)
    expect(await read(changed)).toEqual(expected as never)
    expect((await names()).map(([name]) => name)).toEqual([first?.name, second?.name, 'New'] as never)
  })

  test('goes live as a whole or not at all', async () => {
    const file = await exportMessages(messaging.store(), messaging.app)
    const bad = { name: 'Bad', ...FIRST_MESSAGES[0]?.content, mail: { subject: '{{ oh', body: 'B' } }
    expect(await read([...file, bad], { status: 'live' })).toMatchObject({
      refusal: 'invalid_field',
      field: '[2].mail.subject',
    })
    expect((await names()).map(([, status]) => status)).toEqual(['draft', 'draft'])
    const unchecked = {
      field: '[0].mail',
      code: 'unchecked',
      message: expect.stringContaining('No events to check yet.'),
    }
    expect(await read(file, { status: 'live' })).toMatchObject({
      messages: [{ status: 'live', fields: ['status'] }, {}],
      warnings: [unchecked, { ...unchecked, field: '[1].mail' }],
    })
    await messaging.event()
    expect(await messaging.deliveries()).toHaveLength(2)
  })

  test.each([
    ['changed content', 'Q', (id: number) => messaging.put({ ...messageOf({ name: 'Q' }), status: 'draft' }, id)],
    ['a status', 'Q', (id: number) => messaging.store().setMessageStatus({ ...messaging.by, id, status: 'live' })],
    ['a new name', 'New', () => messaging.put(messageOf({ name: 'New' }))],
  ])('does not overwrite %s saved after the check', async (_, name, change) => {
    const { id } = await messaging.put({ ...messageOf({ name: 'Q', wait: { minutes: 1 } }), status: 'draft' })
    const { status: _status, ...draft } = messageOf({ name, mail: { subject: 'S', body: '{{ x | nofilter }}' } })
    const store = messaging.store()
    const { saveMessages } = store
    const racing = spyOn(store, 'saveMessages').mockImplementationOnce(async (asked) => {
      racing.mockRestore()
      await change(id)
      return saveMessages(asked)
    })
    const context = { ...messaging.context(), store }
    const other = messageOf({ name: 'Other' })
    const outcome = await importMessages(context, messaging.by, { file: [other, draft], status: null, dryRun: false })
    racing.mockRestore()
    expect(outcome).toEqual({ refusal: 'message_changed', message: expect.stringContaining('nothing was imported') })
    const saved = await store.listMessages(messaging.app.id)
    expect(saved.filter(({ content }) => content.mail.body.includes('nofilter'))).toEqual([])
    expect(saved.some((one) => one.name === 'Other')).toBe(false)
  })

  test('refuses values that real events lack, by their position in the file', async () => {
    await messaging.event({ properties: { url: RESULT.url } })
    const file = [messageOf(), messageOf({ name: 'B', mail: { subject: '{{ event.headline }}', body: 'B' } })]
    const message = expect.stringContaining('`event.headline` is missing in the only event so far.')
    expect(await read(file)).toEqual({
      refusal: 'invalid_field',
      field: '[1].mail.subject',
      message,
    })
    expect(await names()).toHaveLength(2)
  })

  test.each<[string, unknown, string]>([
    ['no list', {}, 'file'],
    ['too many', Array.from({ length: 201 }, () => messageOf()), 'file'],
    ['one that is wrong', [messageOf(), { ...messageOf({ name: 'B' }), wait: 1 }], '[1].wait'],
    ['one that is nothing', [null], '[0]'],
    ['a name twice', [messageOf(), messageOf()], '[1].name'],
  ])('%s is refused', async (_, file, field) => {
    expect(await read(file)).toMatchObject({ refusal: 'invalid_field', field })
    expect(await names()).toHaveLength(2)
  })
})
