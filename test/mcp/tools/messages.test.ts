import { describe, expect, test } from 'bun:test'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { createTestServer } from '../../helper.ts'
import { openManaged } from '../client.ts'
import { MESSAGE, useManaged } from './managed.ts'

const { server, known, call, save } = useManaged()
const preview = async (messageId: unknown) => (await call('preview_message', { messageId })).data

const whereIs = (condition: object) => ({
  ...MESSAGE,
  trigger: { event: 'signed_up', where: [{ property: 'plan', ...condition }] },
})

describe('save_message_draft', () => {
  test('creates and overwrites a draft, and records the actor', async () => {
    const { data } = await save()
    const { messageId } = data
    const updatedAt = new Date(server().clock.now()).toISOString()
    const created = { status: 'draft', version: 1, updatedAt, change: 'created', waiting: 0 }
    expect(data as unknown).toEqual({ ok: true, messageId, ...created })
    expect((await save({ wait: { minutes: 5 } }, { messageId })).data).toMatchObject({ messageId, change: 'changed' })
    expect((await call('get_message', { messageId })).data.message).toMatchObject({ wait: { minutes: 5 } })
    expect((await save()).data).toMatchObject({ error: 'message_name_taken' })
  })
  test('reports every invalid field by its path', async () => {
    const message = { ...MESSAGE, onlyIf: [{ rule: 'away', minutes: -1 }], mail: { subject: '', body: 'x' } }
    const { data } = await call('save_message_draft', { message })
    expect(data).toMatchObject({ error: 'invalid_field', field: 'message.onlyIf[0].minutes' })
    expect(data.errors).toMatchObject([{ field: 'message.onlyIf[0].minutes' }, { field: 'message.mail.subject' }])
  })
  test.each([
    ['message', undefined],
    ['message', []],
    ['message', 'Hello'],
    ['message.status', { ...MESSAGE, status: 'live' }],
    ['message.colour', { ...MESSAGE, colour: 'red' }],
    ['message.trigger.where[0].to', whereIs({ is: 'present', to: 'x' })],
    ['message.trigger.where[0].to', whereIs({ is: 'equal' })],
    ['message.onlyIf[0].to', { ...MESSAGE, onlyIf: [{ rule: 'field', field: 'plan', is: 'absent', to: 1 }] }],
  ])('refuses %s: %p', async (field, message) => {
    expect((await call('save_message_draft', { message })).data).toMatchObject({ error: 'invalid_field', field })
  })
  test('says what is missing', async () => {
    const { name, trigger } = MESSAGE
    const { data } = await call('save_message_draft', { message: { name, trigger } })
    expect(data).toMatchObject({ field: 'message.mail', message: 'Send `mail` with `subject` and `body`.' })
  })
  test('names the known fields for an unknown one', async () => {
    const mail = { subject: 'S', body: 'B', text: 'T' }
    const { data } = await call('save_message_draft', { message: { ...MESSAGE, mail, delay: 5 } })
    const known =
      'Known fields: `subject`, `preheader`, `body`, `html`, `variants`, `fromName`, `fromEmail`, `replyTo`, `category`.'
    expect(data.errors).toMatchObject([
      { field: 'message.mail.text', code: 'unknown_field', message: expect.stringContaining(known) },
      {
        field: 'message.delay',
        message: expect.stringMatching(/Known fields: `name`, `trigger`, `wait`, `onlyIf`, `again`, /),
      },
    ])
  })
  test('does not overwrite what someone else saved after the message was read', async () => {
    const { messageId } = known()
    const { updatedAt: basedOn, message } = (await call('get_message', { messageId })).data
    const { store, clock } = { ...server().parts(), clock: server().clock }
    clock.tick(60_000)
    const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(clock.now())
    const { mail, ...rest } = message as typeof MESSAGE
    const theirs = { ...rest, mail: { ...mail, subject: 'Theirs' } }
    const other = await openManaged(server())
    const saving = { messageId, basedOn, message: theirs }
    const saved = (await other.call('save_message_draft', saving)).data
    expect([saved.change, typeof saved.updatedAt]).toEqual(['changed', 'string'])
    const { data } = await call('save_message_draft', { messageId, basedOn, message })
    const [key] = (await store.listKeys(server().first.accountId)).filter(({ id }) => id !== server().first.keyId)
    expect(data).toMatchObject({
      error: 'message_changed',
      message: `API key ${key?.name} changed this message on ${day}, 12:01 UTC, after you read it. Nothing was saved. Call get_message again and apply your change to what it returns.`,
    })
    expect((await call('get_message', { messageId })).data.message).toMatchObject({ mail: { subject: 'Theirs' } })
    const again = { messageId, basedOn: saved.updatedAt, message }
    expect((await call('save_message_draft', again)).data).toMatchObject({ change: 'changed' })
  })
  test.each([
    ['a message without what it is based on', 'missing', (known: object) => known],
    ['null', 'missing', (known: object) => ({ ...known, basedOn: null })],
    ['no time', 'invalid', (known: object) => ({ ...known, basedOn: 'today' })],
    ['no text', 'invalid', (known: object) => ({ ...known, basedOn: 7 })],
    ['a new message that is based on one', 'conflict', () => ({ basedOn: '2026-05-15T12:00:00.000Z' })],
  ])('refuses %s: %s', async (_, code, argumentsOf) => {
    const message = { ...MESSAGE, colour: 'red' }
    const { data } = await call('save_message_draft', { ...argumentsOf({ messageId: known().messageId }), message })
    expect(data.errors).toMatchObject([{ field: 'basedOn', code }, { field: 'message.colour' }])
  })
  test('does not overwrite a message that goes live meanwhile', async () => {
    const slow = await createTestServer({
      wrapStore: (store) => ({
        ...store,
        saveMessages: async (saving) => {
          const [draft] = saving.drafts
          if (draft?.id) await store.setMessageStatus({ ...saving, id: draft.id, status: 'live', at: saving.at + 1 })
          return store.saveMessages(saving)
        },
      }),
    })
    const { messageId, ...managed } = await openManaged(slow)
    const ask = async (tool: string, args: object = {}) => (await managed.call(tool, { messageId, ...args })).data
    const { message: before, updatedAt: basedOn } = await ask('get_message')
    expect(await ask('save_message_draft', { basedOn, message: MESSAGE })).toMatchObject({ error: 'message_changed' })
    expect(await ask('get_message')).toMatchObject({ status: 'live', message: before })
    await slow.close()
  })
  test('changes a live message at once, if it has no problems', async () => {
    await call('set_message_status', { messageId: known().messageId, status: 'live', token: known().token })
    const broken = await save({ mail: { subject: '{{ oh', body: 'B' } }, { messageId: known().messageId })
    expect(broken.data).toMatchObject({ error: 'invalid_field', field: 'message.mail.subject' })
    const { data } = await save({}, { messageId: known().messageId })
    expect(data).toMatchObject({ status: 'live', version: 2, change: 'changed', waiting: 0 })
    await call('send_event', { email: 'ada@example.com', event: 'signed_up', createContact: true })
    expect((await call('list_deliveries')).data.data).toMatchObject([{ version: 2 }])
  })
})

describe('set_message_status', () => {
  const turnOn = async (messageId: unknown, token?: unknown) =>
    (await call('set_message_status', { messageId, status: 'live', ...(token === undefined ? {} : { token }) })).data

  test('goes live with the token of its preview, and sends from then on', async () => {
    const { messageId } = (await save()).data
    const { token } = await preview(messageId)
    expect(await turnOn(messageId, token)).toEqual({ ok: true, messageId, status: 'live' })
    const event = { email: 'ada@example.com', event: 'signed_up', createContact: true }
    expect((await call('send_event', event)).data.messages).toMatchObject([{ messageId }])
    expect((await call('set_message_status', { messageId, status: 'paused' })).data).toMatchObject({ status: 'paused' })
    expect((await call('send_event', { ...event, email: 'bob@example.com' })).data.messages).toEqual([])
  })
  test('not without a token, or with one of another message, content or installation', async () => {
    const { messageId } = (await save()).data
    const { messageId: other } = (await save({ name: 'Other' })).data
    const { token } = await preview(messageId)
    const own = String(token)
    const wrong = [undefined, '', 'x', 7, (await preview(other)).token, `${own.slice(0, -2)}AA`, own.toLowerCase()]
    for (const one of wrong)
      expect(await turnOn(messageId, one)).toMatchObject({
        field: 'token',
        message: expect.stringContaining('problems'),
      })
    await save({ mail: { ...MESSAGE.mail, subject: 'Hello!' } }, { messageId })
    expect(await turnOn(messageId, token)).toMatchObject({ error: 'invalid_field', field: 'token' })
    await save({}, { messageId })
    expect(await turnOn(messageId, token)).toMatchObject({ ok: true })
    const elsewhere = await createTestServer()
    const managed = await openManaged(elsewhere)
    const asked = { messageId: managed.messageId, status: 'live', token: known().token }
    const { data } = await managed.call('set_message_status', asked)
    expect(data).toMatchObject({ error: 'invalid_field', field: 'token' })
    await elsewhere.close()
  })
  test('not a version written after the preview', async () => {
    const theirs = { ...MESSAGE, name: 'Theirs', mail: { subject: 'Theirs', body: 'Theirs' } }
    const { name, ...content } = theirs
    const slow = await createTestServer({
      wrapStore: (store) => ({
        ...store,
        setMessageStatus: async (change) => {
          const draft = { id: change.id, name, content: content as MessageContent, status: null }
          if (change.status === 'live') await store.saveMessages({ ...change, drafts: [draft] })
          return store.setMessageStatus(change)
        },
      }),
    })
    const { messageId, token, ...managed } = await openManaged(slow)
    const ask = async (tool: string, args: object = {}) => (await managed.call(tool, { messageId, ...args })).data
    expect(await ask('set_message_status', { status: 'live', token })).toMatchObject({ error: 'message_changed' })
    expect(await ask('get_message')).toMatchObject({ status: 'draft', message: theirs })
    await slow.close()
  })
  test('a token survives a restart', async () => {
    await server().restart()
    expect(await turnOn(known().messageId, known().token)).toMatchObject({ ok: true })
  })
  test('not with open problems, even with an older token', async () => {
    const mail = { subject: 'S', body: '{% for i in (1..event.count) %}x{% endfor %}' }
    const message = { name: 'Counts', trigger: { event: 'results_ready' }, mail }
    const { messageId } = (await call('save_message_draft', { message })).data
    const { token } = (await call('preview_message', { messageId })).data
    const properties = { count: 5_000 }
    await call('send_event', { email: 'ada@example.com', event: 'results_ready', createContact: true, properties })
    expect(await turnOn(messageId, token)).toMatchObject({ error: 'invalid_field', field: 'mail.body' })
    expect((await call('get_message', { messageId })).data.status).toBe('draft')
  })
  test.each([undefined, 'gone', null])('accepts no other status: %p', async (status) => {
    const { data } = await call('set_message_status', { messageId: known().messageId, status })
    expect(data).toMatchObject({ error: 'invalid_field', field: 'status' })
  })
})
