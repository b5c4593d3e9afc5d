import { describe, expect, test } from 'bun:test'
import { publicId } from '../../src/core/ids.ts'
import { linkDrafts, listFollowers } from '../../src/messages/sequences.ts'
import type { MessageContent, MessageRow, Trigger } from '../../src/store/message-types.ts'

const contentOf = (trigger: Trigger, changes: Partial<MessageContent> = {}): MessageContent => ({
  trigger,
  mail: { subject: 'S', body: 'B' },
  ...changes,
})
const rowOf = (id: number, name: string, trigger: Trigger): MessageRow => ({
  id,
  accountId: 'acc_1',
  appId: 1,
  name,
  status: 'draft',
  version: 1,
  createdAt: 0,
  updatedAt: 0,
  content: contentOf(trigger),
})
const after = (message: string): Trigger => ({ message })
const STORED = [
  rowOf(1, 'Welcome', { contact: 'created' }),
  rowOf(2, 'Ready', { event: 'ready' }),
  rowOf(3, 'Day 3', after('Welcome')),
]
/** The trigger and the errors of each draft. */
const link = (drafts: { id?: number; name: string; content: MessageContent }[]) => {
  const linked = linkDrafts(
    drafts.map((draft) => ({ id: null, ...draft })),
    STORED,
  )
  return linked.drafts.map(({ content }, index) => [
    content.trigger,
    ...(linked.errors[index] ?? []).map(({ field, message }) => `${field}: ${message}`),
  ])
}
const draft = (name: string, trigger: Trigger, changes: Partial<MessageContent> = {}) => ({
  name,
  content: contentOf(trigger, changes),
})

describe('a message that another one triggers', () => {
  test('names it, by name or ID', () => {
    expect(link([draft('Day 7', after('Day 3')), draft('Day 8', after(publicId('msg', 3)))])).toEqual([
      [after('Day 3')],
      [after('Day 3')],
    ])
  })

  test('may be saved together with it', () => {
    expect(link([draft('Two', after('One')), draft('One', { event: 'e' })])).toEqual([[after('One')], [{ event: 'e' }]])
  })

  test('follows a new name', () => {
    const renamed = { ...draft('Hello', { contact: 'created' }), id: 1 }
    expect(link([renamed, draft('Day 7', after('Welcome'))])).toEqual([[{ contact: 'created' }], [after('Hello')]])
  })

  const UNKNOWN = 'trigger.message: There is no message with this name or ID. Choose another one, or create it first.'
  const circle = (path: string) =>
    `trigger.message: These messages would trigger each other: ${path}. Choose another message.`
  test.each<[string, Parameters<typeof link>[0], string]>([
    ['is unknown', [draft('A', after('None'))], UNKNOWN],
    ['has an unknown ID', [draft('A', after(publicId('msg', 9)))], UNKNOWN],
    ['is itself', [draft('A', after('A'))], circle('“A” → “A”')],
    ['is triggered by it', [{ ...draft('Welcome', after('Day 3')), id: 1 }], circle('“Welcome” → “Day 3” → “Welcome”')],
    [
      'has no event, but its page counts',
      [draft('A', after('Day 3'), { onlyIf: [{ rule: 'notSeen' }] })],
      "onlyIf[0].rule: This rule is about the page at the event's `url`. Use an event as the trigger.",
    ],
  ])('refuses a message that %s', (_, drafts, error) => expect(link(drafts)[0]?.slice(1)).toEqual([error]))

  test('has the values of the first event', () => {
    const changes: Partial<MessageContent> = {
      onlyIf: [{ rule: 'notSeen' }, { rule: 'notDone', event: 'paid', same: 'id' }],
      again: { once: 'property', property: 'id' },
    }
    expect(link([draft('A', after('Ready'), changes)])[0]?.slice(1)).toEqual([])
  })
})

test('the messages that one triggers', () => {
  expect([listFollowers(STORED, 'Welcome'), listFollowers(STORED, 'Day 3')]).toEqual([['Day 3'], []])
})
