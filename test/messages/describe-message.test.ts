import { describe, expect, test } from 'bun:test'
import {
  describeFrom,
  describeMessage,
  describeRule,
  describeWait,
  formatMinutes,
  isSentUnknown,
} from '../../src/messages/describe-message.ts'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import type { MessageContent, Rule, Trigger, Wait } from '../../src/store/message-types.ts'
import { type ADA, deliveryOf, explain } from '../deliveries/explaining.ts'

test.each([
  [0, '0 minutes'],
  [1, '1 minute'],
  [90, '90 minutes'],
  [120, '2 hours'],
  [1_440, '1 day'],
  [1_500, '25 hours'],
])('%p minutes are %p', (minutes, words) => expect(formatMinutes(minutes)).toBe(words))

const mail = { subject: 'S', body: 'B' }
const event = { event: 'results_ready' }

test.each<[Omit<MessageContent, 'mail'>, string[]]>([
  [{ trigger: event }, ['The email is due as soon as results_ready arrives.', 'Each person gets it once.']],
  [
    {
      trigger: {
        ...event,
        where: [
          { property: 'plan', is: 'equal', to: 'pro' },
          { property: 'n', is: 'above', to: 3 },
        ],
      },
    },
    [
      'The email is due as soon as results_ready arrives and plan is “pro” and n is above 3.',
      'Each person gets it once.',
    ],
  ],
  [
    {
      trigger: {
        ...event,
        where: [
          { property: 'from', is: 'above', to: '2026-03-01' },
          { property: 'until', is: 'below', to: '2026-12-31' },
        ],
      },
    },
    [
      'The email is due as soon as results_ready arrives and from is after “2026-03-01” and until is before “2026-12-31”.',
      'Each person gets it once.',
    ],
  ],
  [{ trigger: { api: 'send' } }, ['The email is due as soon as your server requests it.']],
  [
    { trigger: { page: '/docs/*' }, wait: { until: '09:00' }, again: { everyHours: 1 } },
    [
      'The email is due at the next 09:00 after a page whose path starts with /docs/ is opened.',
      'Each person gets it at most once every hour.',
    ],
  ],
  [
    { trigger: { date: 'trialEndsAt', days: 3, when: 'before' }, again: { once: 'trigger' } },
    [
      "The email is due 3 days before a person's trialEndsAt.",
      'Each person gets it once for each date in their trialEndsAt.',
    ],
  ],
  [
    { trigger: { date: 'trialEndsAt', days: 1, when: 'after' }, wait: { until: '09:00' } },
    ["The email is due 1 day after a person's trialEndsAt, at the next 09:00.", 'Each person gets it once.'],
  ],
  [
    { trigger: { date: 'trialEndsAt', days: 1, when: 'after' }, wait: { minutes: 120 } },
    ["The email is due 1 day after a person's trialEndsAt, plus 2 hours.", 'Each person gets it once.'],
  ],
  [
    { trigger: { date: 'trialEndsAt', days: 0, when: 'after' } },
    ["The email is due as soon as a person's trialEndsAt is reached.", 'Each person gets it once.'],
  ],
  [
    { trigger: { inactiveDays: 14 }, again: { once: 'trigger' } },
    [
      'The email is due as soon as someone has been inactive for 14 days.',
      'Each person gets it whenever they become inactive.',
    ],
  ],
  [
    { trigger: { message: 'Welcome' }, wait: { minutes: 4_320 }, again: { once: 'trigger' } },
    [
      'The email is due 3 days after “Welcome” is sent.',
      'Each person gets it once for each “Welcome” that they are sent.',
    ],
  ],
  [
    { trigger: { contact: 'created' }, wait: { minutes: 1_440 }, onlyIf: [{ rule: 'tag', has: 'beta' }] },
    [
      'The email is due 1 day after a person is added.',
      'Each person gets it once.',
      'Only if they have the tag “beta”.',
    ],
  ],
  [
    {
      trigger: { tag: 'vip' },
      again: { once: 'property', property: 'resultId' },
      onlyIf: [
        { rule: 'seen' },
        { rule: 'done', event: 'paid', since: 'ever' },
        { rule: 'notDone', event: 'paid', since: { days: 3 } },
        { rule: 'tag', lacks: 'x' },
        { rule: 'field', field: 'plan', is: 'absent' },
        { rule: 'status', is: 'subscribed' },
        { rule: 'status', is: 'pending' },
        { rule: 'away' },
      ],
      holdback: 10,
      goal: { event: 'paid', days: 7 },
    },
    [
      'The email is due as soon as someone gets the tag “vip”.',
      'Each person gets it once per resultId.',
      'Only if they opened the result.',
      'Only if paid has arrived at any time.',
      "Only if paid hasn't arrived in the last 3 days.",
      "Only if they don't have the tag “x”.",
      'Only if their plan is not set.',
      'Only if they are subscribed.',
      "Only if they haven't confirmed their email address.",
      'Only if they are away.',
      "People without page views don't get it.",
      "10% of people are held back for comparison and don't get it.",
      'Its goal is paid within 7 days.',
    ],
  ],
])('%j', (content, lines) => expect(describeMessage({ ...content, mail })).toEqual(lines))

test.each<[Trigger, string]>([
  [event, 'events that arrive from now on, up to 72 hours after they happened'],
  [{ page: '/docs' }, 'new page views only'],
  [{ tag: 'vip' }, 'people who get the tag “vip” from now on'],
  [{ contact: 'created' }, 'people who are added from now on'],
  [{ message: 'Welcome' }, 'emails from “Welcome” that are sent from now on'],
  [{ date: 'trialEndsAt', days: 3, when: 'before' }, "people whose due date hasn't come yet"],
  [{ inactiveDays: 14 }, 'people who reach 14 days without activity from now on'],
])('%j: going live says what it applies to', (trigger, words) =>
  expect(describeFrom(trigger)).toBe(`It applies to ${words}.`),
)

test('the first drafts read well', () => {
  const often = [
    'Each person gets it once per resultId or url.',
    'Until it is sent, the email collects events within 30 minutes of the first.',
    "Only if they haven't opened the result.",
  ]
  expect(FIRST_MESSAGES.map(({ content }) => describeMessage(content))).toEqual([
    [
      'The email is due 10 minutes after results_ready arrives.',
      ...often,
      'Only if they left before the trigger and at least 5 minutes before sending.',
      'People without page views count as away and also get it.',
    ],
    [
      'The email is due 1 day after results_ready arrives.',
      ...often,
      'Only if they left at least 30 minutes before sending.',
      "People without page views don't get it.",
    ],
  ])
})

describe('a person is called', () => {
  const nameIn = (person: typeof ADA | { firstName: null; email: string | null }) =>
    explain(deliveryOf({ reason: 'unsubscribed' }), person).why
  test('by first name, address, or neither', () => {
    expect(nameIn({ firstName: null, email: 'ada@example.com' })).toBe('ada@example.com unsubscribed.')
    expect(nameIn({ firstName: null, email: null })).toBe('This person unsubscribed.')
    expect(nameIn({ firstName: `A\n\u202eda${'a'.repeat(99)}`, email: '' })).toBe(
      `A da${'a'.repeat(36)}… unsubscribed.`,
    )
  })
})

test.each<[wait: Wait | undefined, words: string]>([
  [undefined, 'immediately'],
  [{ minutes: 0 }, 'immediately'],
  [{ minutes: 10 }, '10 minutes later'],
  [{ until: '09:00' }, 'at the next 09:00'],
])('%j is due %p', (wait, words) => expect(describeWait(wait)).toBe(words))

test('a message without a wait starts at once', () => {
  const content: MessageContent = {
    trigger: event,
    wait: { minutes: 0 },
    onlyIf: [{ rule: 'away', at: 'trigger', minutes: 2 }],
    mail,
  }
  expect(describeMessage(content)).toEqual([
    'The email is due as soon as results_ready arrives.',
    'Each person gets it once.',
    'Only if they left at least 2 minutes before the trigger.',
    'People without page views count as away and also get it.',
  ])
})

test.each<[rule: Rule, words: string]>([
  [{ rule: 'done', event: 'paid' }, 'paid has arrived since the trigger'],
  [{ rule: 'notDone', event: 'paid', since: 'trigger' }, "paid hasn't arrived since the trigger"],
  [{ rule: 'done', event: 'paid', since: { days: 1 } }, 'paid has arrived in the last day'],
])('%j is said as %p', (rule, words) => expect(describeRule(rule)).toBe(words))

test.each<[rules: Rule[], said: boolean | null]>([
  [[{ rule: 'away' }], true],
  [[{ rule: 'notSeen' }], true],
  [[{ rule: 'seen' }], false],
  [[{ rule: 'notSeen' }, { rule: 'away', ifUnknown: 'skip' }], false],
  [[{ rule: 'tag', has: 'a' }], null],
])('%j: whether people never seen get it is %p', (onlyIf, said) => {
  const words = describeMessage({ trigger: event, onlyIf, mail })
  expect([
    words.some((line) => line.startsWith('People without page views') && line.endsWith('also get it.')),
    words.includes("People without page views don't get it."),
  ]).toEqual([said === true, said === false])
})

test('of the rules about visits, only "seen" skips unknown people by default', () => {
  expect(isSentUnknown({ rule: 'seen' })).toBe(false)
  expect(isSentUnknown({ rule: 'seen', ifUnknown: 'send' })).toBe(true)
  expect(isSentUnknown({ rule: 'away' })).toBe(true)
  expect(isSentUnknown({ rule: 'notSeen', ifUnknown: 'skip' })).toBe(false)
})
