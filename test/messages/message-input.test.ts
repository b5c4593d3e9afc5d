import { describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import { nameChoices, readMessage } from '../../src/messages/message-input.ts'

const MAIL = { subject: 'Ready', body: 'Hello' }
const BASE = { name: 'A', trigger: { event: 'results_ready' }, mail: MAIL }
const EXAMPLE = {
  name: 'Results ready, they left',
  status: 'draft',
  trigger: { event: 'results_ready', where: [{ property: 'plan', is: 'equal', to: 'pro' }] },
  wait: { minutes: 10 },
  onlyIf: [
    { rule: 'away', minutes: 5, ifUnknown: 'send' },
    { rule: 'notSeen', ifUnknown: 'send' },
    { rule: 'notDone', event: 'checkout.paid', since: 'trigger' },
    { rule: 'tag', has: 'beta' },
  ],
  again: { once: 'person' },
  mail: {
    subject: '{{ event.headline }}',
    preheader: '',
    body: 'Hello {{ contact.firstName | default: "there" }} ...\n\n[See your results]({{ event.url }})',
  },
}

const fieldsOf = (value: unknown): string[] => {
  const reading = readMessage(value)
  return 'errors' in reading ? reading.errors.map(({ field, code }) => `${field} ${code}`) : []
}

describe('is read', () => {
  test.each<[string, object]>([
    ['the example of the design', EXAMPLE],
    ['the least', BASE],
    ...FIRST_MESSAGES.map(({ name, content }): [string, object] => [name, { name, ...content }]),
    ['a page', { ...BASE, trigger: { page: '/pricing' } }],
    ['all pages below one', { ...BASE, trigger: { page: '/docs/*' } }],
    ['a contact', { ...BASE, trigger: { contact: 'created' } }],
    ['a tag', { ...BASE, trigger: { tag: 'beta' } }],
    ['what a server sends', { ...BASE, trigger: { api: 'send' }, mail: { ...MAIL, category: 'transactional' } }],
    ['until a time of day', { ...BASE, wait: { until: '09:00' } }],
    ['thirty days', { ...BASE, wait: { minutes: 43_200 } }],
    ['every 24 hours', { ...BASE, again: { everyHours: 24 } }],
    ['once per property', { ...BASE, again: { once: 'property', property: 'resultId' } }],
    ['twenty rules', { ...BASE, onlyIf: Array.from({ length: 20 }, () => ({ rule: 'notSeen' })) }],
    ['away at the trigger', { ...BASE, onlyIf: [{ rule: 'away', at: 'trigger', quietMinutes: 10 }] }],
    ['days', { ...BASE, onlyIf: [{ rule: 'done', event: 'e', since: { days: 7 } }] }],
    ['present needs nothing to compare with', { ...BASE, onlyIf: [{ rule: 'field', field: 'plan', is: 'present' }] }],
    ['HTML with a text', { ...BASE, mail: { ...MAIL, html: '<p>Hi</p>' } }],
    ['other languages', { ...BASE, mail: { ...MAIL, variants: { de: MAIL, 'pt-BR': { ...MAIL, html: '<p>' } } } }],
    ['transactional', { ...BASE, ifUnconfirmed: 'leave', mail: { ...MAIL, category: 'transactional' } }],
  ])('%s', (_, value) => {
    const { name, status = null, ...content } = value as Omit<typeof EXAMPLE, 'status'> & { status?: string }
    expect(readMessage(value)).toEqual({ input: { name, status, content } } as never)
  })

  test('HTML needs no text', () => {
    const { body: _, ...mail } = { ...MAIL, html: '<p>Hi</p>' }
    const own = { ...mail, body: '' }
    const reading = readMessage({ ...BASE, mail: { ...mail, variants: { de: mail } } })
    expect(reading).toMatchObject({ input: { content: { mail: { ...own, variants: { de: own } } } } })
    expect(readMessage({ ...BASE, mail: { ...own, variants: { de: own } } })).toEqual(reading)
  })

  test('undefined means absent', () => {
    const value = { ...BASE, status: undefined, wait: undefined, mail: { ...MAIL, preheader: undefined } }
    expect(readMessage(value)).toStrictEqual(readMessage(BASE))
  })
})

const SENT = { trigger: { api: 'send' }, mail: { ...MAIL, category: 'transactional' } }
const rules = (...onlyIf: unknown[]) => ({ ...BASE, onlyIf })
const mail = (changes: object) => ({ ...BASE, mail: { ...MAIL, ...changes } })
const trigger = (value: unknown) => ({ ...BASE, trigger: value })

describe('is refused with the path of the field', () => {
  test.each<[string, unknown, string[]]>([
    ['no object', null, [' invalid']],
    ['a list', [], [' invalid']],
    ['nothing', {}, ['name missing', 'trigger missing', 'mail missing']],
    ['a field that is not known', { ...BASE, delay: 1 }, ['delay unknown_field']],
    [
      '__proto__',
      JSON.parse(`{"name":"A","trigger":{"event":"e"},"mail":{"subject":"S","body":"B"},"__proto__":{}}`),
      ['__proto__ unknown_field'],
    ],
    ['a name of nothing', { ...BASE, name: '' }, ['name invalid']],
    ['a name with a line break', { ...BASE, name: 'a\nb' }, ['name invalid']],
    ['another status', { ...BASE, status: 'LIVE' }, ['status invalid']],
    ['a trigger that is none', trigger({ evnt: 'e' }), ['trigger invalid']],
    ['two triggers', trigger({ event: 'e', tag: 't' }), ['trigger.tag unknown_field']],
    ['a tag with conditions', trigger({ tag: 'a', where: [] }), ['trigger.where unknown_field']],
    ['collecting without a frequency', { ...BASE, again: { collect: { minutes: 5 } } }, ['again.once missing']],
    [
      'collecting at intervals',
      { ...BASE, again: { everyHours: 24, collect: { minutes: 5 } } },
      ['again.collect unknown_field'],
    ],
    ['an event name with a space', trigger({ event: 'results ready' }), ['trigger.event invalid']],
    ['a page with a query', trigger({ page: '/a?b' }), ['trigger.page invalid']],
    ['a page with a star in it', trigger({ page: '/*/a' }), ['trigger.page invalid']],
    ['a page without a slash', trigger({ page: 'a' }), ['trigger.page invalid']],
    ['a contact that was deleted', trigger({ contact: 'deleted' }), ['trigger.contact invalid']],
    [
      'a condition with nothing to compare',
      trigger({ event: 'e', where: [{ property: 'p', is: 'equal' }] }),
      ['trigger.where[0].to invalid'],
    ],
    [
      'a comparison that is none',
      trigger({ event: 'e', where: [{ property: 'p', is: 'like', to: 'x' }] }),
      ['trigger.where[0].is invalid'],
    ],
    [
      'a comparison with an object',
      trigger({ event: 'e', where: [{ property: 'p', is: 'equal', to: {} }] }),
      ['trigger.where[0].to invalid'],
    ],
    ['what a server sends with rules', { ...rules({ rule: 'notSeen' }), ...SENT }, ['onlyIf invalid']],
    ['what a server sends later', { ...BASE, ...SENT, wait: { minutes: 1 } }, ['wait invalid']],
    ['what a server sends once', { ...BASE, ...SENT, again: { once: 'person' } }, ['again invalid']],
    ['what a server sends to subscribers', { ...BASE, trigger: { api: 'send' } }, ['mail.category invalid']],
    ['another call', trigger({ api: 'other' }), ['trigger.api invalid']],
    ['a text that is not its own', { ...BASE, isOwnText: true }, ['isOwnText unknown_field']],
    ['31 days', { ...BASE, wait: { minutes: 43_201 } }, ['wait.minutes invalid']],
    ['half a minute', { ...BASE, wait: { minutes: 0.5 } }, ['wait.minutes invalid']],
    ['minutes as text', { ...BASE, wait: { minutes: '5' } }, ['wait.minutes invalid']],
    ['a time that is none', { ...BASE, wait: { until: '24:00' } }, ['wait.until invalid']],
    ['a rule that is none', rules({ rule: 'gone' }), ['onlyIf[0] invalid']],
    ['a tag without a word', rules({ rule: 'notSeen' }, { rule: 'tag' }), ['onlyIf[1].has missing']],
    ['a tag with both', rules({ rule: 'tag', has: 'a', lacks: 'b' }), ['onlyIf[0].lacks unknown_field']],
    ['since yesterday', rules({ rule: 'done', event: 'e', since: 'yesterday' }), ['onlyIf[0].since invalid']],
    ['since no days', rules({ rule: 'done', event: 'e', since: { days: 0 } }), ['onlyIf[0].since.days invalid']],
    ['a field without a value', rules({ rule: 'field', field: 'plan', is: 'above' }), ['onlyIf[0].to invalid']],
    [
      'the same property without an event',
      { ...rules({ rule: 'done', event: 'e', same: 'id' }), trigger: { tag: 'a' } },
      ['onlyIf[0].same invalid'],
    ],
    ['seen without an event', { ...rules({ rule: 'seen' }), trigger: { tag: 'a' } }, ['onlyIf[0].rule invalid']],
    ['21 rules', rules(...Array.from({ length: 21 }, () => ({ rule: 'notSeen' }))), ['onlyIf invalid']],
    ['once per week', { ...BASE, again: { once: 'week' } }, ['again.once invalid']],
    [
      'a property of what is no event',
      { ...BASE, trigger: { tag: 'a' }, again: { once: 'property', property: 'p' } },
      ['again.property invalid'],
    ],
    ['a subject of two lines', mail({ subject: 'a\r\nBcc: eve@example.com' }), ['mail.subject invalid']],
    ['a reply to two', mail({ replyTo: 'a@example.com, b@example.com' }), ['mail.replyTo invalid']],
    ['a sender with a line break', mail({ fromEmail: 'a@example.com\r\nx: y' }), ['mail.fromEmail invalid']],
    ['a body with a null', mail({ body: 'a\0b' }), ['mail.body invalid']],
    ['a body without end', mail({ body: 'a'.repeat(50_001) }), ['mail.body invalid']],
    ['no text', mail({ body: '' }), ['mail.body invalid']],
    ['HTML without end', mail({ html: 'a'.repeat(100_001) }), ['mail.html invalid']],
    ['what is no language', mail({ variants: { german: MAIL } }), ['mail.variants invalid']],
    ['a language twice, in an older form', mail({ variants: { he: MAIL, iw: MAIL } }), ['mail.variants.iw invalid']],
    ['an unknown language', mail({ variants: { qq: MAIL } }), ['mail.variants.qq invalid']],
    ['a language twice', mail({ variants: { de: MAIL, DE: MAIL } }), ['mail.variants.DE invalid']],
    ['a language without a text', mail({ variants: { de: { subject: 'S' } } }), ['mail.variants.de.body missing']],
    [
      'a language with a sender',
      mail({ variants: { de: { ...MAIL, fromName: 'A' } } }),
      ['mail.variants.de.fromName unknown_field'],
    ],
    [
      'several at once',
      { ...BASE, name: 1, wait: { minutes: -1 }, mail: {} },
      ['name invalid', 'wait.minutes invalid', 'mail.subject missing', 'mail.body missing'],
    ],
  ])('%s', (_, value, fields) => expect(fieldsOf(value)).toEqual(fields))

  test('how often, plainly in the editor, and with its values in files and calls', () => {
    const reading = readMessage({ ...BASE, again: { once: 'trigger' } })
    const [error] = 'errors' in reading ? reading.errors : []
    expect([error?.field, error?.message]).toEqual(['again.once', expect.stringMatching(/Choose another frequency\.$/)])
    expect(nameChoices(error?.message ?? '')).toMatch(/Choose another frequency: .*"person".*`everyHours`\.$/)
    expect(nameChoices('Enter one email address.')).toBe('Enter one email address.')
  })

  test('errors do not echo input and are limited', () => {
    const value = {
      ...BASE,
      ...Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`secret${index}`.padEnd(500, 'x'), 1])),
    }
    const reading = readMessage(value)
    const errors = 'errors' in reading ? reading.errors : []
    expect(errors).toHaveLength(50)
    for (const { field, message } of errors) {
      expect(field.length).toBeLessThanOrEqual(64)
      expect(message).not.toContain('secret')
    }
  })
})
