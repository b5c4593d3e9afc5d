/** What a save, a change of status and a deletion may do, with plain facts. */
import { describe, expect, test } from 'bun:test'
import { MESSAGE_RULES } from '../../src/messages/message-changes.ts'
import type { MessageContent, MessageRow } from '../../src/store/message-types.ts'
import type { MessageDraft } from '../../src/store/messages.ts'

const { refuseDrafts, planSave, planStatus, refuseDeletion, mayMove } = MESSAGE_RULES
const AT = 1_000
const contentOf = (body: string): MessageContent => ({ trigger: { event: 'ready' }, mail: { subject: 'S', body } })
const [CONTENT, OTHER] = [contentOf('B'), contentOf('other')]

const noOthers = () => []

const draftOf = (changes: Partial<MessageDraft> = {}): MessageDraft => ({
  id: null,
  name: 'Results',
  content: CONTENT,
  status: null,
  ...changes,
})
const rowOf = (changes: Partial<MessageRow> = {}): MessageRow => ({
  id: 5,
  accountId: 'acc_1',
  appId: 1,
  name: 'Results',
  status: 'draft',
  version: 3,
  createdAt: AT - 10,
  updatedAt: AT - 10,
  content: CONTENT,
  ...changes,
})
const planOf = (draft: Partial<MessageDraft>, old: MessageRow | null, hasDeliveries = false) =>
  planSave(draftOf(draft), { old, at: AT, hasDeliveries: () => hasDeliveries })

describe('a save', () => {
  test('creates a draft with version 1, or a message with the given status', () => {
    const created = { change: 'created', version: 1, updatedAt: AT, storesContent: true } as const
    expect(planOf({}, null)).toEqual({ ...created, status: 'draft', actions: ['message.save'] })
    expect(planOf({ status: 'live' }, null)).toEqual({
      ...created,
      status: 'live',
      actions: ['message.save', 'message.live'],
    })
  })

  test('overwrites a draft that has no deliveries', () => {
    expect(planOf({ content: OTHER }, rowOf())).toEqual({
      change: 'changed',
      status: 'draft',
      version: 3,
      updatedAt: AT,
      storesContent: true,
      actions: ['message.save'],
    })
  })

  test.each<[string, Partial<MessageRow>, boolean]>([
    ['a draft with deliveries', {}, true],
    ['a live message', { status: 'live' }, false],
    ['a paused message', { status: 'paused' }, false],
  ])('makes a new version of %s', (_, row, hasDeliveries) =>
    expect(planOf({ content: OTHER }, rowOf(row), hasDeliveries)).toMatchObject({ version: 4, storesContent: true }),
  )

  test('keeps the version if only the name or status changes', () => {
    const live = rowOf({ status: 'live' })
    expect(planOf({ name: 'New' }, live)).toMatchObject({ change: 'changed', version: 3, storesContent: false })
    expect(planOf({ status: 'paused' }, live)).toMatchObject({
      change: 'changed',
      version: 3,
      storesContent: false,
      actions: ['message.paused'],
    })
    expect(planOf({ name: 'New', status: 'paused' }, live).actions).toEqual(['message.rename', 'message.paused'])
    expect(planOf({ name: 'New', content: OTHER }, live).actions).toEqual(['message.rename', 'message.save'])
    expect(planOf({ status: 'live' }, rowOf()).actions).toEqual(['message.live'])
  })

  test('changes nothing if all is the same, in any order of keys', () => {
    const { trigger, mail } = CONTENT
    const found = planOf({ content: { mail, trigger } }, rowOf({ status: 'live' }), true)
    expect(found).toMatchObject({ change: 'unchanged', version: 3, updatedAt: AT - 10, storesContent: false })
    expect(found.actions).toEqual([])
  })

  test('notes that waiting emails move, but not of a new message', () => {
    const moving = { content: OTHER, movesWaiting: true }
    expect(planOf(moving, rowOf({ status: 'live' })).actions).toEqual(['message.save', 'message.move_waiting'])
    expect(planOf({ movesWaiting: true }, rowOf({ status: 'live' })).actions).toEqual(['message.move_waiting'])
    expect(planOf(moving, null).actions).toEqual(['message.save'])
  })

  test('notes what it restores or copies, unless nothing changes', () => {
    const live = rowOf({ status: 'live' })
    expect(planOf({ content: OTHER, origin: { version: 1 } }, live).actions).toEqual(['message.restore'])
    expect(planOf({ origin: { version: 3 } }, live).actions).toEqual([])
    expect(planOf({ origin: 'copy' }, null).actions).toEqual(['message.copy'])
  })

  test('always gets a later time', () =>
    expect(planOf({ content: OTHER }, rowOf({ updatedAt: AT + 7 })).updatedAt).toBe(AT + 8))
})

describe('drafts are refused', () => {
  const facts = (draft: Partial<MessageDraft>, old: MessageRow | null, namesake: MessageRow | null = null) => ({
    draft: draftOf(draft),
    old,
    namesake,
  })
  const unknown = facts({ id: 5 }, null)
  const outdated = facts({ basedOn: AT }, rowOf())
  const taken = facts({ id: 5 }, rowOf(), rowOf({ id: 6 }))

  test('if a message is unknown or outdated, or its name is taken, in this order', () => {
    expect(refuseDrafts([taken], noOthers)).toEqual({ refusal: 'message_name_taken' })
    expect(refuseDrafts([taken, outdated], noOthers)).toEqual({ refusal: 'message_changed' })
    expect(refuseDrafts([taken, outdated, unknown], noOthers)).toEqual({ refusal: 'message_not_found' })
  })

  test('if a message exists that must be new', () => {
    expect(refuseDrafts([facts({ basedOn: null }, rowOf())], noOthers)).toEqual({ refusal: 'message_changed' })
    expect(refuseDrafts([facts({ basedOn: null }, null)], noOthers)).toBeNull()
  })

  test('not if the name is their own or they are current', () => {
    expect(
      refuseDrafts([facts({ id: 5, basedOn: AT - 10 }, rowOf(), rowOf()), facts({}, rowOf())], noOthers),
    ).toBeNull()
  })
})

describe('a status', () => {
  test('is set at a later time', () =>
    expect(planStatus({ status: 'live', at: AT }, rowOf())).toEqual({ status: 'live', updatedAt: AT }))
  test('is refused for unknown messages and other content', () => {
    expect(planStatus({ status: 'live', at: AT }, null)).toEqual({ refusal: 'message_not_found' })
    expect(planStatus({ status: 'live', content: OTHER, at: AT }, rowOf())).toEqual({ refusal: 'message_changed' })
    expect(planStatus({ status: 'live', content: CONTENT, at: AT }, rowOf())).toMatchObject({ status: 'live' })
  })
})

test('only a message that is not live and has no deliveries is deleted', () => {
  const refuse = (old: MessageRow | null, hasDeliveries = false) =>
    refuseDeletion({ old, hasDeliveries: () => hasDeliveries, listStored: noOthers })
  expect(refuse(null)).toEqual({ refusal: 'message_not_found' })
  expect([refuse(rowOf()), refuse(rowOf({ status: 'paused' }))]).toEqual([null, null])
  expect(refuse(rowOf({ status: 'live' }))).toEqual({ refusal: 'message_in_use' })
  expect(refuse(rowOf(), true)).toEqual({ refusal: 'message_in_use' })
})

test('an email can use a version with the same trigger, whatever its conditions', () => {
  const triggered = (trigger: MessageContent['trigger']): MessageContent => ({ ...CONTENT, trigger })
  const where = [{ property: 'plan', is: 'equal' as const, to: 'pro' }]
  expect(mayMove(CONTENT, { ...OTHER, wait: { minutes: 5 } })).toBe(true)
  expect(mayMove(CONTENT, triggered({ event: 'ready', where }))).toBe(true)
  const others = [
    { event: 'other' },
    { page: '/ready' },
    { tag: 'ready' },
    { contact: 'created' },
    { api: 'send' },
  ] as const
  for (const trigger of others) {
    expect([trigger, mayMove(CONTENT, triggered(trigger))]).toEqual([trigger, false])
    expect([trigger, mayMove(triggered(trigger), triggered(trigger))]).toEqual([trigger, true])
  }
})
