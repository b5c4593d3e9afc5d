import { describe, expect, test } from 'bun:test'
import { RESULT_BYTES } from '../../../src/mcp/budget.ts'
import { inTurns } from '../../helper.ts'
import { MESSAGE, useManaged } from './managed.ts'

const { server, known, call, save } = useManaged()

describe('list_messages', () => {
  test('in order of creation, with their counts', async () => {
    await save({ trigger: { event: 'signed_up', where: [{ property: 'plan', is: 'equal', to: 'pro' }] } })
    const at = new Date(server().clock.now()).toISOString()
    const { data } = await call('list_messages')
    expect(data as unknown).toEqual({
      untrusted: expect.stringContaining('untrusted'),
      ok: true,
      data: [
        expect.objectContaining({ name: 'Results ready, they left', trigger: { event: 'results_ready' } }),
        expect.objectContaining({ name: 'Results not opened yet' }),
        {
          id: expect.stringMatching(/^msg_/),
          name: 'Hello',
          status: 'draft',
          version: 1,
          createdAt: at,
          updatedAt: at,
          trigger: { event: 'signed_up' },
          counts: {},
        },
      ],
      nextCursor: null,
    })
  })
  test('many messages stay under 25 KB, and the cursor misses none', async () => {
    await inTurns(60, (index) => save({ name: `${index} ${'"'.repeat(90)}`, trigger: { page: `/${'"'.repeat(400)}` } }))
    const seen: unknown[] = []
    let cursor: unknown
    do {
      const { answer, data } = await call('list_messages', { limit: 40, ...(cursor ? { cursor } : {}) })
      expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(RESULT_BYTES)
      seen.push(...(data.data ?? []).map(({ id }) => id))
      cursor = data.nextCursor
    } while (cursor)
    expect([seen.length, new Set(seen).size]).toEqual([62, 62])
  })
})

describe('get_message', () => {
  test('returns a message that can be saved again', async () => {
    const { data } = await call('get_message', { messageId: known().messageId })
    expect(data).toMatchObject({ id: known().messageId, status: 'draft', version: 1, counts: {} })
    expect('omitted' in data).toBe(false)
    const { id: messageId, updatedAt: basedOn, message } = data
    const { data: again } = await call('save_message_draft', { messageId, basedOn, message })
    const unchanged = { status: 'draft', version: 1, updatedAt: basedOn, change: 'unchanged', waiting: 0 }
    expect(again as unknown).toEqual({ ok: true, messageId, ...unchanged })
  })
  test('keeps lines and drops invisible characters', async () => {
    const family = '\u{1f469}\u200d\u{1f467}'
    const body = `One ${family}\n\nTwo\u202e\u200b${String.fromCodePoint(0xe0049)}`
    const { messageId } = (await save({ name: 'a\u200bb', mail: { subject: 'S', body } })).data
    const { data } = await call('get_message', { messageId })
    expect(data.message as unknown).toMatchObject({ name: 'ab', mail: { body: `One ${family}\n\nTwo` } })
  })
  test.each([
    ['a long mail', { mail: { subject: 'S', body: '"\n'.repeat(13_000) } }, ['mail.body']],
    [
      'many rules',
      {
        onlyIf: Array.from({ length: 20 }, () => ({ rule: 'field', field: 'x', is: 'equal', to: 'x'.repeat(990) })),
        mail: { subject: 'S', body: 'x'.repeat(30_000) },
      },
      ['trigger.where', 'onlyIf', 'mail.body'],
    ],
  ])('%s is truncated to 25 KB, with a note', async (_, changes, omitted) => {
    const { messageId } = (await save(changes)).data
    const { answer, data } = await call('get_message', { messageId })
    expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(RESULT_BYTES)
    expect(Buffer.byteLength(answer.text)).toBeGreaterThan(RESULT_BYTES / 2)
    expect(data.omitted as unknown).toEqual(omitted)
  })

  describe('truncated messages are available in pieces', () => {
    const rules = Array.from({ length: 20 }, () => ({ rule: 'field', field: 'x', is: 'equal', to: 'ž'.repeat(500) }))
    const mail = { subject: 'S', body: '"🦊\n\\'.repeat(3_500) }
    const read = async (messageId: unknown, cursor: unknown) => (await call('get_message', { messageId, cursor })).data

    test('that stay under 25 KB and can be saved again', async () => {
      const { messageId } = (await save({ onlyIf: rules, mail })).data
      let { nextCursor: cursor } = (await call('get_message', { messageId })).data
      const pieces: unknown[] = []
      do {
        const { answer, data } = await call('get_message', { messageId, cursor })
        expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(RESULT_BYTES)
        expect(Object.keys(data)[0]).toBe('untrusted')
        pieces.push(data.json)
        cursor = data.nextCursor
      } while (cursor)
      expect(pieces.length).toBeGreaterThan(3)
      expect(JSON.parse(pieces.join(''))).toEqual({ ...MESSAGE, onlyIf: rules, mail })
    })
    test('of the same version only', async () => {
      const { messageId } = (await save({ mail })).data
      const { nextCursor } = (await call('get_message', { messageId })).data
      const { nextCursor: second } = await read(messageId, nextCursor)
      server().clock.tick(1)
      await save({ mail: { ...mail, subject: 'Another' } }, { messageId })
      for (const cursor of [nextCursor, second, 'x', '00000000000'])
        expect(await read(messageId, cursor)).toMatchObject({ error: 'invalid_field', field: 'cursor' })
    })
    test('and a complete message has no cursor', async () => {
      expect((await call('get_message', { messageId: known().messageId })).data.nextCursor).toBeNull()
    })
  })
})
