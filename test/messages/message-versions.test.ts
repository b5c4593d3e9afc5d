import { expect, test } from 'bun:test'
import { diffVersions } from '../../src/messages/message-versions.ts'
import type { MessageContent } from '../../src/store/message-types.ts'

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
      'Only if they left at least 5 minutes before sending, or were inactive for 20 minutes.',
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
    'Only if they are away, and have page views.',
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
