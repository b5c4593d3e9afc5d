import { describe, expect, test } from 'bun:test'
import { explainDelivery } from '../../src/deliveries/explanations.ts'
import { VERDICT_TEXTS } from '../../src/deliveries/describe-verdict.ts'
import { CANCELLATION_REASONS, type Verdict } from '../../src/store/message-types.ts'
import { HOUR, NOW } from '../helper.ts'
import { MINUTE } from '../messaging.ts'
import { ADA, CONTENT, deliveryOf, explain, fail, pass, sayRule, WHEN } from './explaining.ts'

describe('describes a rule', () => {
  test.each<[Verdict, string]>([
    [pass('suppression', null, null), 'Ada can be emailed.'],
    [fail('suppression', null, 'unsubscribed'), 'Ada unsubscribed.'],
    [fail('suppression', null, 'topic'), 'Ada unsubscribed from its topic.'],
    [fail('suppression', null, 'pending'), 'Ada had not confirmed their email address yet.'],
    [pass('consent', null, 'pending'), 'Ada had not confirmed their email address yet.'],
    [fail('consent', null, 'subscribed'), 'Ada no longer had to confirm their email address.'],
    [fail('message', null, 'paused'), 'The message was paused.'],
    [pass('message', null, 'live'), 'The message was live.'],
    [
      fail('away', 'sending', '/results/1'),
      'Ada was on /results/1 when the email was due, so this email was not needed.',
    ],
    [fail('away', 'trigger', '/wait'), 'Ada was on /wait at the time of the event, so this email was not needed.'],
    [pass('away', 'sending', NOW - 5 * MINUTE), 'Ada left 15 minutes before the email was due.'],
    [pass('away', 'trigger', NOW - 5 * MINUTE), 'Ada left 5 minutes before the trigger.'],
    [
      { ...pass('away', 'sending', NOW - 20 * MINUTE), isSilent: true },
      'No activity from Ada was reported for 30 minutes, so they counted as away.',
    ],
    [pass('away', 'sending', null), 'No activity from Ada was reported for two days, so they counted as away.'],
    [
      { ...pass('away', 'sending', null), isEstimated: true },
      'Ada had not opened a page for a while, so they counted as away.',
    ],
    [
      fail('away', 'sending', NOW + 7 * MINUTE),
      'Ada left 3 minutes before the email was due, and this message is skipped unless they have been away for at least 5 minutes.',
    ],
    [
      { ...pass('away', 'sending', null), isUnknown: true },
      'When the email was due, Eventpost had received no page views by Ada. This message is sent in that case.',
    ],
    [
      { ...fail('away', 'sending', null), isUnknown: true },
      'When the email was due, Eventpost had received no page views by Ada. This message is not sent in that case.',
    ],
    [
      { ...pass('away', 'trigger', null), isUnknown: true },
      'When the email was due, Eventpost had received no page views by Ada from before the event. This message is sent in that case.',
    ],
    [
      fail('notSeen', '/r/1', NOW + 2 * MINUTE),
      'Ada was on /r/1 2 minutes after the event, so this email was not needed.',
    ],
    [fail('notSeen', '/r/1', NOW), 'Ada had /r/1 open at the time of the event, so this email was not needed.'],
    [pass('notSeen', '/r/1', null), 'Ada did not open /r/1.'],
    [fail('seen', '/r/1', null), 'Ada did not open /r/1, but this message requires it.'],
    [pass('seen', '/r/1', NOW + 3 * HOUR), 'Ada was on /r/1 3 hours after the event.'],
    [
      { ...pass('notSeen', null, null), isUnknown: true },
      "The event has no URL on your domains, so it's unknown whether Ada opened the page. This message is sent in that case.",
    ],
    [fail('notDone', 'checkout.paid', NOW), `checkout.paid arrived for Ada on ${WHEN}, so this email was not needed.`],
    [pass('notDone', 'checkout.paid', null), 'checkout.paid did not arrive for Ada in the previous 7 days.'],
    [fail('done', 'opened', null), 'opened did not arrive for Ada after the event, but this message requires it.'],
    [fail('tag', 'beta', false), 'Ada did not have the tag beta, but this message goes only to people with it.'],
    [fail('tag', 'beta', true), 'Ada had the tag beta, but this message goes only to people without it.'],
    [pass('tag', 'beta', false), 'Ada did not have the tag beta.'],
    [fail('field', 'plan', 'free'), 'Ada had free in the field plan, but this message requires pro.'],
    [fail('field', 'plan', null), 'Ada had no value in the field plan, but this message requires pro.'],
    [
      fail('status', 'subscribed', 'bounced'),
      'Ada had an address that bounced, but this message goes only to people who are subscribed.',
    ],
    [
      fail('status', 'pending', 'subscribed'),
      "Ada was subscribed, but this message goes only to people who haven't confirmed their email address.",
    ],
    [pass('status', 'pending', 'pending'), "Ada hadn't confirmed their email address."],
    [pass('again', '24', null), 'Ada had not received this message before.'],
    [
      fail('again', '24', NOW),
      `Ada last received this message on ${WHEN}, but it is sent at most once every 24 hours.`,
    ],
    [pass('window', '09:00-17:00', NOW), "It was within the app's sending hours (09:00-17:00)."],
    [
      fail('window', '09:00-17:00', NOW),
      `It was outside the app's sending hours (09:00-17:00), which start again on ${WHEN}.`,
    ],
    [
      { ...fail('window', '09:00-17:00', NOW), zone: 'America/New_York' },
      "It was outside the app's sending hours (09:00-17:00 America/New York, Ada's timezone), which start again on 15 May 2026, 08:00 America/New York.",
    ],
    [
      fail('perDay', '1', 1),
      'Ada received 1 lifecycle email in the previous 24 hours, but this app sends at most 1 a day.',
    ],
    [
      pass('perDay', '1', 0),
      'Ada received no lifecycle emails in the previous 24 hours, and this app sends at most 1 a day.',
    ],
    [
      pass('perWeek', '5', 2),
      'Ada received 2 lifecycle emails in the previous 7 days, and this app sends at most 5 a week.',
    ],
    [
      fail('brake', 'complaints', '0.25%'),
      "0.25% of the app's recent emails were reported as spam, so its lifecycle emails wait.",
    ],
    [fail('giveUp', null, NOW), `It could not be sent by ${WHEN}.`],
    ...[
      ['event.headline', 'The event had no headline'],
      ['event.order.total', 'The event had no order.total'],
      ['contact.firstName', 'The person had no first name'],
      ['contact.fields.plan', 'The person had no plan'],
      ['app.homeUrl', 'app.homeUrl had no value'],
      ['event', 'event had no value'],
    ].map(([variable = '', what = '']): [Verdict, string] => [
      fail('template', variable, 'missing'),
      `${what}, and the message has no fallback for it.`,
    ]),
    [fail('template', 'subject', 'missing'), 'The subject would have been empty.'],
    [
      fail('template', 'what it makes is too long for a mail', 'broken'),
      'The email could not be rendered: what it makes is too long for a mail.',
    ],
    [
      pass('link', 'https://evil.example/', false),
      'The email does not link to https://evil.example/, which is not an https:// address on a domain of this app.',
    ],
    [pass('language', 'de', 'de-CH'), "The text in German (de) was used, because it fits Ada's locale, de-CH."],
    [pass('language', null, null), "The message's own text was used, because Ada has no locale."],
  ])('%j', (verdict, sentence) => expect(sayRule(verdict)).toBe(sentence))

  test.each<[quietMinutes: number | undefined, agoMs: number, span: string]>([
    [1, 20_000, '1 minute'],
    [1, 2 * MINUTE + 20_000, '2 minutes'],
    [undefined, 20_000, '30 minutes'],
  ])('with at least the silence that counts: %p minutes, after a report %d ms before', (quietMinutes, ago, span) => {
    const content = { ...CONTENT, onlyIf: [{ rule: 'away' as const, at: 'trigger' as const, quietMinutes }] }
    const delivery = deliveryOf({}, [{ ...pass('away', 'trigger', NOW - ago), isSilent: true }])
    expect(explainDelivery({ delivery, person: ADA, content, zone: 'UTC' }).rules[0]?.sentence).toBe(
      `No activity from Ada was reported for ${span}, so they counted as away.`,
    )
  })

  test('that compares a date', () => {
    const rule = { rule: 'field' as const, field: 'trialEndsAt', is: 'above' as const, to: '2026-12-31' }
    const found = explain(deliveryOf({}, [fail('field', 'trialEndsAt', '2026-01-01')]), ADA, {
      ...CONTENT,
      onlyIf: [rule],
    })
    expect(found.rules[0]?.sentence).toBe(
      'Ada had 2026-01-01 in the field trialEndsAt, but this message requires a date after 2026-12-31.',
    )
  })

  test('with exactly the minutes that a person must be away', () => {
    const content = { ...CONTENT, onlyIf: [{ rule: 'away' as const, at: 'trigger' as const, minutes: 150 }] }
    const delivery = deliveryOf({}, [fail('away', 'trigger', NOW - 130 * MINUTE)])
    expect(explain(delivery, ADA, content).rules[0]?.sentence).toBe(
      'Ada left 2 hours before the trigger, and this message is skipped unless they have been away for at least 150 minutes.',
    )
  })

  test.each([
    { contact: 'created' as const, when: 'when they were added' },
    { tag: 'pro', when: 'when they got the tag' },
  ])('with a trigger that is no event: $when', ({ when, ...trigger }) => {
    const content = { ...CONTENT, trigger, onlyIf: [{ rule: 'away' as const, at: 'trigger' as const }] }
    const sayOf = (verdict: Verdict) => explain(deliveryOf({}, [verdict]), ADA, content).rules[0]?.sentence
    expect(sayOf(fail('away', 'trigger', '/wait'))).toBe(`Ada was on /wait ${when}, so this email was not needed.`)
  })

  test('by its own values among several', () => {
    const both = explain(deliveryOf({}, [fail('field', 'plan', 'free'), fail('field', 'plan', 'free')]))
    expect(both.rules.map(({ sentence }) => sentence)).toEqual([
      'Ada had free in the field plan, but this message requires pro.',
      'Ada had free in the field plan, but this message requires anything but "free trial".',
    ])
  })

  test('of any kind', () => {
    const decided =
      'suppression consent message brake date inactive again window perDay perWeek giveUp holdback template link language'.split(
        ' ',
      )
    expect([...VERDICT_TEXTS.keys()].sort()).toEqual([...Object.keys(CANCELLATION_REASONS), ...decided].sort())
  })
})

describe('an event with the same value', () => {
  const onlyIf = [{ rule: 'notDone' as const, event: 'invoice.paid', same: 'invoiceId' }]
  const sayOf = (verdict: Verdict) => explain(deliveryOf({}, [verdict]), ADA, { ...CONTENT, onlyIf }).rules[0]?.sentence

  test.each<[Verdict, string]>([
    [
      { ...fail('notDone', 'invoice.paid', NOW), same: 2 },
      `invoice.paid with the invoiceId 2 arrived for Ada on ${WHEN}, so this email was not needed.`,
    ],
    [
      { ...pass('notDone', 'invoice.paid', null), same: 2 },
      'invoice.paid with the invoiceId 2 did not arrive for Ada after the event.',
    ],
    [
      { ...pass('notDone', 'invoice.paid', null), same: null },
      'The event had no invoiceId, so no invoice.paid can match it.',
    ],
  ])('%j: %s', (verdict, sentence) => expect(sayOf(verdict)).toBe(sentence))
})
