import { describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../../src/accounts/first-messages.ts'
import { EMPTY_FIELDS, writeFields } from '../../../src/dashboard/messages/message-form.ts'
import type { Fields } from '../../../src/dashboard/messages/message-field-names.ts'
import { readWords } from '../../../src/dashboard/messages/sentence-words.ts'

/** The whole sentence, with its parts in asterisks. */
function write(fields: Fields): string {
  const { trigger, wait, rules, again } = readWords(fields)
  const part = ({ before = '', bold, after = '' }: { before?: string; bold: string; after?: string }): string =>
    `${before}*${bold}*${after}`
  return `When ${part(trigger)}, ${part(wait)}${rules.map((rule) => ` if ${part(rule)}`).join('')}, ${part(again)}`
}

const COLLECTS = 'Until it is sent, the email collects events within 30 minutes of the first.'
const MAIL = { name: 'M', 'mail.subject': 'S', 'mail.body': 'B' }

test('the first draft has one sentence about leaving', () => {
  const [draft] = FIRST_MESSAGES
  if (!draft) throw new Error('no draft')
  const fields = writeFields(draft)
  expect(write(fields)).toBe(
    "When *results_ready* arrives, wait *10 minutes*, then send if *they haven't opened the result* if *they left before the trigger and at least 5 minutes before sending*, *once per resultId or url*",
  )
  expect(readWords(fields).rules.map(({ rows }) => rows)).toEqual([[0], [1, 2]])
})

test.each<[Fields, string, string]>([
  [{}, 'none', 'nobody'],
  [{ 'goal.event': 'paid', 'goal.days': '7', holdback: '10' }, 'paid within 7 days', '10% of people'],
  [{ 'goal.days': '7', holdback: 'x' }, 'an event', 'some'],
])('%j has the goal %s and holds back %s', (changes, goal, holdback) => {
  const words = readWords({ ...EMPTY_FIELDS, ...MAIL, ...changes })
  expect([words.goal.bold, words.holdback.bold]).toEqual([goal, holdback])
})

test.each<[string, Fields, string]>([
  ['no wait', {}, ''],
  ['a wait of 0 minutes', { wait: 'minutes', 'wait.minutes': '0' }, ''],
  ['a wait', { wait: 'minutes', 'wait.minutes': '5' }, COLLECTS],
  ['a time of day', { wait: 'until', 'wait.until': '09:00' }, COLLECTS],
])('with %s says whether the email collects events', (_, wait, notes) => {
  expect(readWords({ ...EMPTY_FIELDS, ...MAIL, 'again.collect.minutes': '30', ...wait }).notes).toBe(notes)
})

describe('the sentence', () => {
  test.each<[Fields, string]>([
    [{}, 'When *results_ready* arrives, send *immediately*, *once per person*'],
    [{ trigger: 'api' }, 'When *your server* requests it, send *immediately*, *each time*'],
    [
      { trigger: 'page', 'trigger.page': '/pricing', wait: 'until', 'wait.until': '09:00' },
      'When *the page /pricing is opened*, wait until *09:00*, then send, *once per person*',
    ],
    [
      { trigger: 'tag', 'trigger.tag': 'vip', again: 'everyHours', 'again.everyHours': '24' },
      'When they get the tag *“vip”*, send *immediately*, *at most once every 24 hours*',
    ],
    [
      { trigger: 'contact', wait: 'minutes', 'wait.minutes': '2', 'wait.unit': 'days' },
      'When *a person* is added, wait *2 days*, then send, *once per person*',
    ],
    [
      {
        'onlyIf[0].rule': 'field',
        'onlyIf[0].field': 'plan',
        'onlyIf[0].is': 'in',
        'onlyIf[0].to': 'pro, team',
        'onlyIf[1].rule': 'field',
        'onlyIf[1].field': 'seats',
        'onlyIf[1].is': 'above',
        'onlyIf[1].to': '10',
        'onlyIf[1].or': 'true',
      },
      'When *results_ready* arrives, send *immediately* if *either their plan is one of “pro”, “team” or their seats is above 10*, *once per person*',
    ],
    [
      { 'onlyIf[0].rule': 'away', 'onlyIf[1].rule': 'away' },
      'When *results_ready* arrives, send *immediately* if *they are away* if *they are away*, *once per person*',
    ],
  ])('of %j is %s', (changes, sentence) => {
    expect(write({ ...EMPTY_FIELDS, ...MAIL, ...changes })).toBe(sentence)
  })

  test.each<[Fields, string]>([
    [{ 'trigger.event': 'not a name' }, '*an event* arrives'],
    [{ trigger: 'tag' }, 'they get *a tag*'],
    [{ trigger: 'page', 'trigger.page': 'x' }, '*a page* is opened'],
    [{ wait: 'minutes', 'wait.minutes': 'x' }, 'wait *some time*, then send'],
    [{ again: 'property' }, '*how often?*'],
    [{ 'onlyIf[0].rule': 'tagHas' }, 'if *they have a tag*'],
    [{ 'onlyIf[0].rule': 'constructor' }, 'if *unknown rule*'],
  ])('with errors %j has %s', (changes, part) => {
    expect(write({ ...EMPTY_FIELDS, ...MAIL, ...changes })).toContain(part)
  })
})
