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
      'When results_ready arrives',
      'Sent 10 minutes later, once',
      'Only if they left at least 5 minutes ago, away after 20 minutes of inactivity (if they have no page views: skip)',
      'Sender name: Ada',
      'Subject: Ready',
      'Preview text: Look',
      '',
      'Hello',
      'there',
    ].map((text) => ({ kind: 'same' as const, text })),
  )
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
