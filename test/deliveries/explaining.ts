import { explainDelivery } from '../../src/deliveries/explanations.ts'
import type { DescribedSubject } from '../../src/messages/describe-message.ts'
import type { DeliveryRow, MessageContent, Verdict } from '../../src/store/message-types.ts'
import { MINUTE, NOW } from '../durations.ts'

export const WHEN = '15 May 2026, 12:00 UTC'

export const CONTENT: MessageContent = {
  trigger: { event: 'results_ready' },
  onlyIf: [
    { rule: 'notSeen' },
    { rule: 'away', at: 'trigger', minutes: 1 },
    { rule: 'away', minutes: 5 },
    { rule: 'field', field: 'plan', is: 'equal', to: 'pro' },
    { rule: 'field', field: 'plan', is: 'notEqual', to: 'free trial' },
    { rule: 'notDone', event: 'checkout.paid', since: { days: 7 } },
    { rule: 'done', event: 'opened' },
  ],
  mail: { subject: 'Ready', body: 'Hello' },
}
export const ADA = { firstName: 'Ada', email: 'ada@example.com' }

export const deliveryOf = (changes: Partial<DeliveryRow>, verdicts?: Verdict[]): DeliveryRow => ({
  id: 1,
  appId: 1,
  contactId: 1,
  messageId: 1,
  version: 1,
  eventId: 1,
  dedupeKey: '',
  state: 'skipped',
  triggeredAt: NOW,
  plannedAt: NOW,
  dueAt: NOW + 10 * MINUTE,
  attempt: 1,
  claimedBy: null,
  claimedUntil: null,
  handedAt: null,
  heldBackAt: null,
  sentAt: null,
  resent: false,
  byHand: false,
  reason: null,
  record: verdicts ? JSON.stringify({ at: NOW + 10 * MINUTE, verdicts }) : null,
  cameBackAt: null,
  openedAt: null,
  goalAt: null,
  deliveredAt: null,
  delayedAt: null,
  bounce: null,
  bouncedAt: null,
  updatedAt: NOW,
  joinedTo: null,
  ...changes,
})
export const explain = (delivery: DeliveryRow, person: DescribedSubject['person'] = ADA, content = CONTENT) =>
  explainDelivery({ delivery, person, content, zone: 'UTC' })
export const say = (changes: Partial<DeliveryRow>, verdicts?: Verdict[], content = CONTENT) =>
  explain(deliveryOf(changes, verdicts), ADA, content).why
export const sayRule = (verdict: Verdict) => explain(deliveryOf({}, [verdict])).rules[0]?.sentence

export const fail = (rule: string, about: string | null, value: Verdict['value']): Verdict => ({
  rule,
  about,
  value,
  verdict: 'fail',
})
export const pass = (rule: string, about: string | null, value: Verdict['value']): Verdict => ({
  rule,
  about,
  value,
  verdict: 'pass',
})
