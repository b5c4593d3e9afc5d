import { describe, expect, test } from 'bun:test'
import { readMessage } from '../../../src/messages/message-input.ts'
import { FIRST_MESSAGES } from '../../../src/accounts/first-messages.ts'
import type { MessageContent } from '../../../src/messages/messages.ts'
import {
  changeRows,
  EMPTY_FIELDS,
  readFields,
  saysSame,
  writeFields,
} from '../../../src/dashboard/messages/message-form.ts'

const MAIL = { subject: 'S', body: 'Hello\n\nthere' }
const EVENT = { event: 'results_ready' }

const read = (fields: Record<string, string>) => {
  const reading = readMessage(readFields(fields))
  if ('errors' in reading) throw new Error(JSON.stringify(reading.errors))
  return reading.input
}
const errorsOf = (fields: Record<string, string>) => {
  const reading = readMessage(readFields(fields))
  return 'errors' in reading ? reading.errors.map(({ field }) => field) : []
}

describe('round-trips', () => {
  const contents: [string, Omit<MessageContent, 'mail'> & { mail?: MessageContent['mail'] }][] = [
    ['an event', { trigger: EVENT }],
    [
      'conditions',
      {
        trigger: {
          ...EVENT,
          where: [
            { property: 'plan', is: 'equal', to: 'pro' },
            { property: 'n', is: 'above', to: 3.5 },
            { property: 'isNew', is: 'notEqual', to: true },
            { property: 'gone', is: 'absent' },
            { property: 'zip', is: 'contains', to: '08' },
            { or: true, property: 'plan.name', is: 'in', to: ['pro, monthly', 'true', 3] },
            { property: 'code', is: 'startsWith', to: 'A' },
          ],
        },
      },
    ],
    ['a page', { trigger: { page: '/docs/*' } }],
    ['a new person', { trigger: { contact: 'created' } }],
    ['a tag', { trigger: { tag: 'beta' } }],
    ['no minutes', { trigger: EVENT, wait: { minutes: 0 } }],
    ['minutes', { trigger: EVENT, wait: { minutes: 61 } }],
    ['hours', { trigger: EVENT, wait: { minutes: 180 } }],
    ['days', { trigger: EVENT, wait: { minutes: 2_880 } }],
    ['a time of day', { trigger: EVENT, wait: { until: '09:00' } }],
    [
      'every rule',
      {
        trigger: EVENT,
        onlyIf: [
          { rule: 'away', minutes: 5, at: 'trigger', quietMinutes: 20, ifUnknown: 'skip' },
          { rule: 'away', at: 'sending', ifUnknown: 'send' },
          { rule: 'seen', ifUnknown: 'skip' },
          { rule: 'notSeen', ifUnknown: 'send' },
          { rule: 'done', event: 'paid', since: 'ever', same: 'invoice.id' },
          { rule: 'notDone', event: 'paid', since: { days: 3 } },
          { rule: 'notDone', event: 'paid', since: 'trigger' },
          { rule: 'tag', has: 'a' },
          { rule: 'tag', lacks: 'b' },
          { rule: 'field', field: 'plan', is: 'equal', to: 'pro' },
          { rule: 'field', field: 'plan', is: 'present' },
          { rule: 'field', or: true, field: 'role', is: 'in', to: ['admin'] },
          { rule: 'status', is: 'unsubscribed' },
        ],
      },
    ],
    ['once per value', { trigger: EVENT, again: { once: 'property', property: 'resultId' } }],
    [
      'the first of several values, with what joins',
      { trigger: EVENT, again: { once: 'property', property: ['resultId', 'url'], collect: { minutes: 30 } } },
    ],
    ['once a person, with what joins', { trigger: EVENT, again: { once: 'person', collect: { minutes: 1 } } }],
    ['names with commas', { trigger: EVENT, again: { once: 'property', property: ['a,b', 'c\\', 'd'] } }],
    ['a name with a comma', { trigger: EVENT, again: { once: 'property', property: ',' } }],
    ['every so often', { trigger: EVENT, again: { everyHours: 24 } }],
    ['unknown outcomes', { trigger: EVENT, ifUnconfirmed: 'leave' }],
    ['a goal', { trigger: EVENT, goal: { event: 'checkout.paid', days: 7 } }],
    ['a holdback', { trigger: EVENT, holdback: 10 }],
    [
      'a whole mail',
      {
        trigger: EVENT,
        mail: {
          ...MAIL,
          preheader: 'P',
          fromName: 'Ada',
          fromEmail: 'ada@example.com',
          replyTo: 'bob@example.com',
          category: 'transactional',
        },
      },
    ],
  ]
  test.each(contents)('%s', (_, content) => {
    const message = { name: 'A message', content: { again: { once: 'person' as const }, mail: MAIL, ...content } }
    expect(read(writeFields(message))).toEqual({ ...message, status: null })
  })

  test('what your server sends, which is always transactional', () => {
    const mail = { ...MAIL, category: 'transactional' as const }
    const message = { name: 'A message', content: { trigger: { api: 'send' as const }, mail } }
    const fields = writeFields(message)
    expect(read(fields)).toEqual({ ...message, status: null })
    expect(read({ ...fields, 'mail.category': 'lifecycle' }).content.mail).toEqual(mail)
    // what the trigger has no use for is refused, not dropped
    expect(errorsOf({ ...fields, wait: 'minutes', 'wait.minutes': '5' })).toEqual(['wait'])
    expect(errorsOf({ ...fields, again: 'everyHours', 'again.everyHours': '5' })).toEqual(['again'])
    expect(errorsOf({ ...fields, 'onlyIf[0].rule': 'notSeen' })).toEqual(['onlyIf'])
  })

  test('round-trips the first drafts', () => {
    for (const message of FIRST_MESSAGES) {
      expect(saysSame(writeFields(message), message)).toBe(true)
      expect(saysSame({ ...writeFields(message), 'onlyIf[0].ifUnknown': 'other' }, message)).toBe(false)
    }
  })

  test('a goal has 7 days to be reached unless the form says otherwise', () => {
    const fields = writeFields({ name: 'M', content: { trigger: EVENT, mail: MAIL } })
    expect(read({ ...fields, 'goal.event': 'paid', 'goal.days': '' }).content.goal).toEqual({ event: 'paid', days: 7 })
    expect(read({ ...fields, 'goal.event': '', 'goal.days': '' }).content.goal).toBeUndefined()
  })

  test('round-trips lines with CRLF', () => {
    const message = { name: 'M', content: { trigger: EVENT, mail: MAIL } }
    const sent = { ...writeFields(message), 'mail.body': 'Hello\r\n\r\nthere' }
    expect(read(sent).content.mail.body).toBe('Hello\n\nthere')
    expect(saysSame(sent, message)).toBe(true)
  })
})

describe('errors name their field', () => {
  const base = { ...EMPTY_FIELDS, name: 'N', 'mail.subject': 'S', 'mail.body': 'B' }
  test.each<[Record<string, string>, string[]]>([
    [{}, []],
    [{ name: '' }, ['name']],
    [{ 'trigger.event': 'no!' }, ['trigger.event']],
    [{ 'trigger.event': '' }, ['trigger.event']],
    [{ trigger: 'page', 'trigger.page': 'pricing' }, ['trigger.page']],
    [{ trigger: 'tag', 'trigger.tag': '' }, ['trigger.tag']],
    [{ 'trigger.where[0].property': '', 'trigger.where[0].is': 'equal' }, ['trigger.where[0].property']],
    [{ 'trigger.where[0].property': 'n', 'trigger.where[0].is': 'above' }, ['trigger.where[0].to']],
    [{ 'trigger.where[0].property': 'n', 'trigger.where[0].is': 'like' }, ['trigger.where[0].is']],
    [{ wait: 'minutes' }, ['wait.minutes']],
    [{ wait: 'minutes', 'wait.minutes': 'ten' }, ['wait.minutes']],
    [{ wait: 'minutes', 'wait.minutes': '1.5', 'wait.unit': 'hours' }, []],
    [{ wait: 'minutes', 'wait.minutes': '31', 'wait.unit': 'days' }, ['wait.minutes']],
    [{ wait: 'until', 'wait.until': '9' }, ['wait.until']],
    [{ again: 'property' }, ['again.property']],
    [{ again: 'property', 'again.property': ' , ,' }, ['again.property']],
    [{ again: 'property', 'again.property': 'a, a' }, ['again.property']],
    [{ again: 'property', 'again.property': 'a, b,' }, []],
    [{ again: 'everyHours', 'again.everyHours': '0' }, ['again.everyHours']],
    [{ 'again.collect.minutes': '0' }, ['again.collect.minutes']],
    [{ 'again.collect.minutes': 'ten' }, ['again.collect.minutes']],
    [{ trigger: 'contact', 'again.collect.minutes': '5' }, ['again.collect.minutes']],
    [{ again: 'everyHours', 'again.everyHours': '1', 'again.collect.minutes': 'ten' }, []],
    [{ 'onlyIf[0].rule': 'away', 'onlyIf[0].minutes': 'x' }, ['onlyIf[0].minutes']],
    [{ 'onlyIf[0].rule': 'done', 'onlyIf[0].since': 'days' }, ['onlyIf[0].event', 'onlyIf[0].since.days']],
    [{ 'onlyIf[0].rule': 'tagHas' }, ['onlyIf[0].has']],
    [{ 'onlyIf[0].rule': 'tagLacks' }, ['onlyIf[0].lacks']],
    [{ 'onlyIf[0].rule': 'field', 'onlyIf[0].field': 'plan' }, ['onlyIf[0].to']],
    [{ 'onlyIf[0].rule': 'status', 'onlyIf[0].is': 'x' }, ['onlyIf[0].is']],
    [{ trigger: 'contact', 'onlyIf[0].rule': 'seen' }, ['onlyIf[0].rule']],
    [{ 'mail.subject': '' }, ['mail.subject']],
    [{ 'mail.body': '' }, ['mail.body']],
    [{ 'mail.fromEmail': 'ada' }, ['mail.fromEmail']],
    [{ 'mail.category': 'spam' }, ['mail.category']],
  ])('%j', (changes, fields) => expect(errorsOf({ ...base, ...changes })).toEqual(fields))
})

describe('rows', () => {
  const two = { ...EMPTY_FIELDS, 'onlyIf[0].rule': 'tagHas', 'onlyIf[0].has': 'a', 'onlyIf[1].rule': 'seen' }
  test('are added at the end', () => {
    expect(changeRows(two, 'add onlyIf status')).toMatchObject({ 'onlyIf[2].rule': 'status' })
    expect(changeRows(EMPTY_FIELDS, 'add trigger.where')).toMatchObject({ 'trigger.where[0].property': '' })
  })

  test('are removed, and those after them move up', () => {
    const { 'onlyIf[0].rule': first, ...rest } = changeRows(two, 'remove onlyIf 0') ?? {}
    expect([first, rest]).toEqual(['seen', EMPTY_FIELDS])
    expect(changeRows(two, 'remove onlyIf 0 1')).toEqual(EMPTY_FIELDS)
  })

  test.each(['', 'save', 'remove', 'remove mail 0', 'add trigger'])('%p changes no row', (action) =>
    expect(changeRows(two, action)).toBeNull(),
  )
})
