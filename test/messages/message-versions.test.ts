import { expect, test } from 'bun:test'
import { diffVersions } from '../../src/messages/message-versions.ts'
import type { MessageContent, Rule } from '../../src/store/message-types.ts'

const CONTENT: MessageContent = {
  trigger: { event: 'results_ready' },
  wait: { minutes: 10 },
  onlyIf: [{ rule: 'away', minutes: 5, quietMinutes: 20, ifUnknown: 'skip' }],
  mail: { subject: 'Ready', preheader: 'Look', body: 'Hello\nthere', fromName: 'Ada' },
}

test('the first version is shown without changes', () => {
  expect(diffVersions(null, CONTENT)).toEqual(
    [
      'The email is due 10 minutes after results_ready arrives.',
      'Each person gets it once.',
      'Only if they left at least 5 minutes before sending. They count as away after 20 minutes without activity.',
      "People without page views don't get it.",
      'Sender name: Ada',
      'Subject: Ready',
      'Preview text: Look',
      '',
      'Hello',
      'there',
    ].map((text) => ({ kind: 'same' as const, text })),
  )
})

test('rules read as in the editor, and say which one is about people without page views', () => {
  const left = { rule: 'away', at: 'trigger' } as const
  const rulesOf = (onlyIf: MessageContent['onlyIf']): string[] =>
    diffVersions(null, { ...CONTENT, onlyIf }).flatMap(({ text }) => (/^(?:Only|People)/.test(text) ? [text] : []))
  expect(rulesOf([left, { rule: 'away' }])).toEqual([
    'Only if they left before the trigger and are still away.',
    'People without page views count as away and also get it.',
  ])
  expect(rulesOf([left, { rule: 'away', ifUnknown: 'skip' }])).toEqual([
    'Only if they left before the trigger.',
    'Only if they have page views and are away.',
    "People without page views don't get it.",
  ])
  expect(rulesOf([{ rule: 'seen' }, { rule: 'away', quietMinutes: 60, ifUnknown: 'send' }])).toEqual([
    'Only if they opened the result.',
    'Only if they are away, or have no page views. They count as away after 1 hour without activity.',
    "People without page views don't get it.",
  ])
})

test.each<[string, Partial<MessageContent>]>([
  ['wait', { wait: { minutes: 11 } }],
  ['rule', { onlyIf: [{ rule: 'away', minutes: 5, quietMinutes: 20, ifUnknown: 'send' }] }],
  ['silence', { onlyIf: [{ rule: 'away', minutes: 5, quietMinutes: 21, ifUnknown: 'skip' }] }],
  ['condition', { trigger: { event: 'results_ready', where: [{ property: 'n', is: 'present' }] } }],
  ['unknown outcomes', { ifUnconfirmed: 'leave' }],
  ['goal', { goal: { event: 'paid', days: 7 } }],
  ['holdback', { holdback: 10 }],
  ['body', { mail: { ...CONTENT.mail, body: 'Hello\nyou' } }],
])('shows a change of the %s', (_, change) => {
  const changed = diffVersions(CONTENT, { ...CONTENT, ...change }).filter(({ kind }) => kind !== 'same')
  expect(changed.some(({ kind }) => kind === 'added')).toBe(true)
  expect(changed.length).toBeLessThan(3)
})

test('rules in another order are no change of the rules', () => {
  const away: Rule = { rule: 'away' }
  const opened: Rule = { rule: 'notSeen' }
  const paid: Rule = { rule: 'notDone', event: 'paid' }
  const tag: Rule = { rule: 'tag', has: 'beta' }
  const other: Rule = { rule: 'tag', has: 'vip' }
  const changesOf = (before: Rule[], after: Rule[]): string[] =>
    diffVersions({ ...CONTENT, onlyIf: before }, { ...CONTENT, onlyIf: after }).flatMap(({ kind, text }) =>
      kind === 'same' ? [] : [`${kind}: ${text}`],
    )
  const moved = 'moved: The rules are in a different order. If several fail, the first one is the reason.'
  expect(changesOf([away, opened, paid], [away, opened, paid])).toEqual([])
  expect(changesOf([away, opened, paid], [paid, away, opened])).toEqual([moved])
  expect(changesOf([away, opened, tag], [opened, other, away])).toEqual([
    moved,
    'added: Only if they have the tag “vip”.',
    'removed: Only if they have the tag “beta”.',
  ])
  expect(changesOf([tag, tag, away], [away, tag])).toEqual([moved, 'removed: Only if they have the tag “beta”.'])
  expect(changesOf([tag, away], [away])).toEqual(['removed: Only if they have the tag “beta”.'])
})
