/** The plan of a batch with plain facts: what its writes see of each other. */
import { describe, expect, test } from 'bun:test'
import { queryFacts, planWrites } from '../../src/deliveries/plan.ts'
import type { AppRules, LiveMessage } from '../../src/store/live-messages.ts'
import { outcomeKey } from '../../src/store/idempotency.ts'
import type { MessageContent, SendWrite } from '../../src/store/message-types.ts'
import {
  type AppFacts,
  type EmailFacts,
  type Facts,
  monthKey,
  type PersonFacts,
  type Plan,
  type PlannedWrite,
} from '../../src/store/plan-types.ts'
import type { ContactWrite, EventWrite } from '../../src/store/types.ts'
import { DAY, MINUTE } from '../durations.ts'
import { AT, contactWrite, eventWrite, idempotency } from '../store/samples.ts'

const FIRST_ID = 1_600
const KNOWN = 7

const message = (changes: Partial<MessageContent> = {}, id = 1): LiveMessage => ({
  id,
  version: 1,
  content: { trigger: { event: 'ready' }, mail: { subject: 'S', body: 'B' }, wait: { minutes: 60 }, ...changes },
})

const rulesOf = (messages: LiveMessage[]): AppRules => {
  const rules: AppRules = {
    byEvent: new Map(),
    byTag: new Map(),
    byPage: [],
    onCreated: [],
    bySend: new Map(),
    byMessage: new Map(),
    timed: [],
    dates: [],
    ownText: null,
    optIn: null,
    cancelledBy: new Set(),
    cancellingEvents: new Set(),
    comparedEvents: new Set(),
    goalEvents: new Map(),
    holdsBack: false,
    timezone: 'UTC',
    hosts: [],
    hasDeliveries: false,
    mailLanguages: new Set(),
    textsLang: null,
  }
  for (const one of messages) {
    const { trigger, onlyIf = [], goal } = one.content
    if (goal) rules.goalEvents.set(goal.event, goal.days * DAY)
    if ('event' in trigger) rules.byEvent.set(trigger.event, [...(rules.byEvent.get(trigger.event) ?? []), one])
    else if ('page' in trigger) rules.byPage.push(one)
    else if ('contact' in trigger) rules.onCreated.push(one)
    else rules.bySend.set(one.id, one)
    for (const rule of onlyIf) {
      rules.cancelledBy.add(rule.rule)
      if (rule.rule === 'notDone') rules.cancellingEvents.add(rule.event)
    }
  }
  return rules
}

const NOBODY = {
  isAlone: false,
  isUnsure: false,
  id: null,
  lacksName: true,
  names: null,
  contact: null,
  suppression: null,
  asked: null,
  emails: null,
}
const ADA: Person = { ...NOBODY, id: KNOWN }

type Person = Omit<PersonFacts, 'app'>
type Given = { messages?: LiveMessage[]; person?: Person; hasDeliveries?: boolean } & Partial<
  Pick<Facts, 'newPeople' | 'outcomes'>
>

function peopleOf(
  writes: readonly Pick<EventWrite, 'email'>[],
  { messages = [], person = NOBODY, hasDeliveries = false }: Given,
) {
  const app: AppFacts = { id: 1, rules: rulesOf(messages), hasDeliveries }
  const people = new Map(writes.map(({ email }) => [email, { ...person, app }]))
  return writes.map(({ email }) => people.get(email) ?? null)
}

const toBatch = (writes: EventWrite[]): PlannedWrite[] => writes.map((input) => ({ name: 'recordEvent', input }))

function planOf(changes: Partial<EventWrite>[], given: Given = {}): Plan {
  const writes = changes.map((one) => eventWrite({ name: 'ready', ...one }))
  const batch = toBatch(writes)
  const people = peopleOf(writes, given)
  const { newPeople = new Map(), outcomes = new Map() } = given
  const { matches, reports } = queryFacts(batch, people)
  return planWrites(batch, { people, firstId: FIRST_ID, used: new Map(), newPeople, outcomes, reports, matches })
}

const askOf = (changes: Partial<EventWrite>[], given: Given) => {
  const writes = changes.map((one) => eventWrite({ name: 'ready', ...one }))
  return queryFacts(toBatch(writes), peopleOf(writes, given))
}

/** What becomes of emails, each with the place of the email that it joins or ends. */
function changesOf({ deliveries }: Plan): string[] {
  const ids: number[] = []
  return deliveries.map((one) => {
    if (one.change === 'cancel') return `cancel ${ids.indexOf(one.id)} ${one.finish.reason}`
    if (one.change === 'goal') return `goal ${one.id}`
    if (one.change === 'cameBack') return `came back ${one.id}${one.isResult ? ' to the result' : ''}`
    ids.push(one.id)
    return one.change === 'join' ? `join ${ids.indexOf(one.joinedTo ?? 0)}` : 'start'
  })
}

describe('what a call sends', () => {
  const receipt = message({ trigger: { api: 'send' }, wait: undefined }, 9)
  const write = (changes: Partial<SendWrite> = {}): SendWrite => ({
    accountId: 'acc_1',
    appId: 1,
    email: 'ada@example.com',
    shownEmail: null,
    newPeoplePerMonth: null,
    at: AT,
    limits: [],
    idempotency: null,
    keyId: 'key_1',
    createContact: true,
    firstName: null,
    lastName: null,
    messageId: 9,
    properties: '{"a":1}',
    mail: null,
    unlinked: 0,
    ...changes,
  })
  const planSends = (changes: Partial<SendWrite>[], given: Given = {}): Plan => {
    const inputs = changes.map(write)
    const batch: PlannedWrite[] = inputs.map((input) => ({ name: 'sendMail', input }))
    const people = peopleOf(inputs, { messages: [receipt], ...given })
    const { newPeople = new Map(), outcomes = new Map() } = given
    const { matches, reports } = queryFacts(batch, people)
    return planWrites(batch, { people, firstId: FIRST_ID, used: new Map(), newPeople, outcomes, reports, matches })
  }
  const text = { subject: 'S', body: 'B', category: 'transactional' as const }

  test('is due at once, each with a key of its own, and starts no other email', () => {
    const welcome = message({ trigger: { contact: 'created' } }, 2)
    const { outcomes, deliveries, sends, contacts, ownTexts } = planSends([{}, {}], { messages: [receipt, welcome] })
    expect(contacts).toHaveLength(1)
    expect(outcomes).toEqual([
      { contactId: FIRST_ID, deliveryId: FIRST_ID + 16, created: true },
      { contactId: FIRST_ID, deliveryId: FIRST_ID + 32, created: false },
    ])
    const start = { change: 'start', contactId: FIRST_ID, messageId: 9, version: 1, eventId: null, dueAt: AT }
    expect(deliveries).toMatchObject([start, start])
    expect(new Set(deliveries.map((one) => 'dedupeKey' in one && one.dedupeKey)).size).toBe(2)
    expect(sends.map(({ deliveryId, keyId, properties }) => [deliveryId, keyId, properties])).toEqual([
      [FIRST_ID + 16, 'key_1', '{"a":1}'],
      [FIRST_ID + 32, 'key_1', '{"a":1}'],
    ])
    expect(ownTexts).toEqual([])
  })

  test('is refused for a message that is no longer live, and adds nobody', () => {
    const { outcomes, deliveries, contacts } = planSends([{ messageId: 8 }])
    expect([outcomes, deliveries, contacts]).toEqual([[{ refusal: 'message_not_live' }], [], []])
  })

  test('is refused for an unknown person, and when the plan allows no more people', () => {
    const refused = planSends([{ createContact: false }])
    expect([refused.outcomes, refused.sends]).toEqual([[{ refusal: 'contact_not_found' }], []])
    const full = planSends([{ newPeoplePerMonth: 0 }])
    expect([full.outcomes, full.sends]).toEqual([[{ refusal: 'plan_limit_reached' }], []])
  })

  test('has one message for all texts of an app', () => {
    const own = { messageId: null, mail: text }
    const { ownTexts, deliveries, sends } = planSends([own, own], { person: ADA })
    expect(ownTexts).toMatchObject([{ appId: 1, content: { isOwnText: true, mail: { category: 'transactional' } } }])
    expect(deliveries).toMatchObject([{ messageId: ownTexts[0]?.id }, { messageId: ownTexts[0]?.id }])
    expect(sends.map(({ mail }) => mail)).toEqual([text, text])
  })

  test('is sent once per Idempotency-Key', () => {
    const keyed = { idempotency: idempotency() }
    const { outcomes, sends } = planSends([keyed, keyed], { person: ADA })
    expect(sends).toHaveLength(1)
    expect(outcomes).toMatchObject([{ deliveryId: FIRST_ID }, { deliveryId: FIRST_ID, replayed: true }])
  })
})

describe('consent', () => {
  const optIn = { isOn: true, days: null, storesIp: false, subject: null, body: 'Yes?', button: null }
  const welcome = message({ trigger: { contact: 'created' } }, 2)
  const add = (changes: Partial<ContactWrite> = {}): PlannedWrite => ({
    name: 'addContact',
    input: contactWrite({ asksConsent: 'api', ...changes }),
  })
  const confirm: PlannedWrite = { name: 'confirmConsent', input: { ...contactWrite(), consentId: 5, address: null } }
  const planFor = (batch: PlannedWrite[], person: Person = NOBODY, isOn = true): Plan => {
    const people = peopleOf(
      batch.map(({ input }) => input),
      { messages: [welcome], person },
    )
    for (const one of people) if (one) one.app.rules.optIn = isOn ? optIn : null
    const { matches, reports } = queryFacts(batch, people)
    return planWrites(batch, {
      people,
      firstId: FIRST_ID,
      used: new Map(),
      newPeople: new Map(),
      outcomes: new Map(),
      reports,
      matches,
    })
  }
  const messagesOf = ({ deliveries }: Plan) => deliveries.flatMap((one) => ('messageId' in one ? one.messageId : []))

  test('a new person is pending and asked once, and starts no other message', () => {
    const plan = planFor([add(), add()])
    expect(plan.contacts).toMatchObject([{ status: 'pending' }])
    expect(plan.consents).toMatchObject([{ contactId: FIRST_ID, source: 'api', askedAt: AT, text: { body: 'Yes?' } }])
    expect(messagesOf(plan)).toEqual(plan.ownTexts.map(({ id }) => id))
    expect(plan.sends).toMatchObject([{ deliveryId: plan.consents[0]?.id, keyId: null }])
  })

  test('a suppressed address is neither pending nor asked', () => {
    const plan = planFor([add()], { ...NOBODY, suppression: 'unsubscribed' })
    expect([plan.contacts, plan.consents]).toMatchObject([[{ status: 'unsubscribed' }], []])
  })

  test('without settings, a new person is pending but not asked', () => {
    const plan = planFor([add()], NOBODY, false)
    expect([plan.contacts, plan.consents]).toMatchObject([[{ status: 'pending' }], []])
  })

  test('confirming subscribes once, and triggers the messages for new people', () => {
    const plan = planFor([add(), confirm, confirm, add()])
    expect(plan.outcomes.slice(1, 3)).toEqual([
      { contactId: FIRST_ID, status: 'subscribed' },
      { contactId: FIRST_ID, status: 'subscribed' },
    ])
    expect(plan.confirmations).toEqual([{ id: 5, contactId: FIRST_ID, at: AT, address: null }])
    expect(plan.consents).toHaveLength(1)
    expect(messagesOf(plan).filter((id) => id === 2)).toHaveLength(1)
    expect(plan.outcomes.at(-1)).toMatchObject({ contact: { status: 'subscribed' } })
    expect(planFor([confirm]).outcomes).toEqual([{ refusal: 'contact_not_found' }])
  })
})

describe('people', () => {
  test('the second event of a new person finds the person added by the first', () => {
    const plan = planOf([{}, { createContact: false }])
    const [first, second] = plan.outcomes
    expect(first).toEqual({ contactId: FIRST_ID, eventId: FIRST_ID + 16, created: true })
    expect(second).toEqual({ contactId: FIRST_ID, eventId: FIRST_ID + 32, created: false })
    expect(plan.contacts).toHaveLength(1)
    expect(plan.newPeople).toEqual([{ accountId: 'acc_1', month: '2026-05', count: 1 }])
    expect(plan.events.map(({ contactId }) => contactId)).toEqual([FIRST_ID, FIRST_ID])
    expect(plan.lastId).toBe(FIRST_ID + 32)
  })

  test('no person is added before an event that may add them', () => {
    const { outcomes, events, counted } = planOf([{ createContact: false }, {}])
    expect(outcomes).toMatchObject([{ refusal: 'contact_not_found' }, { created: true }])
    expect([events.length, counted.length]).toEqual([1, 2])
  })

  test('counts the people added by the batch, by month', () => {
    const newPeople = new Map([[monthKey({ accountId: 'acc_1', month: '2026-05' }), 1]])
    const next = Date.UTC(2026, 5, 1)
    const made = ['a', 'b', 'a', 'c'].map((name, index) => ({
      email: `${name}@example.com`,
      newPeoplePerMonth: 2,
      at: index === 3 ? next : AT,
    }))
    expect(planOf(made, { newPeople }).outcomes).toMatchObject([
      { created: true },
      { refusal: 'plan_limit_reached' },
      { created: false },
      { created: true },
    ])
  })

  test('a suppressed address starts with its status', () => {
    const { contacts } = planOf([{}], { person: { ...NOBODY, suppression: 'bounced' } })
    expect(contacts).toMatchObject([{ status: 'bounced' }])
  })

  test('names fill empty fields once, and ignored ones are reported', () => {
    const person = { ...ADA, names: { firstName: null, lastName: 'King' } }
    const plan = planOf([{ firstName: 'Ada' }, { firstName: 'Eve', lastName: ' King ' }, { lastName: 'Byron' }], {
      person,
    })
    expect(plan.personChanges).toMatchObject([{ change: 'names', id: KNOWN, firstName: 'Ada', lastName: 'King' }])
    expect(plan.outcomes.map((one) => ('keptNames' in one ? one.keptNames : []))).toEqual([
      [],
      ['firstName'],
      ['lastName'],
    ])
  })
})

describe('emails', () => {
  test('once per person also applies within a batch', () => {
    expect(changesOf(planOf([{}, {}, { email: 'eve@example.com' }], { messages: [message()] }))).toEqual([
      'start',
      'start',
    ])
  })

  test('events of one batch join one email', () => {
    const again = { once: 'property', property: 'n', collect: { minutes: 30 } } as const
    const result = (n: number) => ({ properties: JSON.stringify({ n }) })
    const late = { ...result(4), occurredAt: AT - 31 * MINUTE }
    const plan = planOf([result(1), result(2), result(2), result(3), late], { messages: [message({ again })] })
    expect(changesOf(plan)).toEqual(['start', 'join 0', 'join 0', 'start'])
  })

  test('a later event of the batch cancels an email, and another triggers it again', () => {
    const messages = [message({ onlyIf: [{ rule: 'notDone', event: 'paid' }] })]
    const plan = planOf([{}, { name: 'paid', at: AT + 1 }, {}], { messages })
    expect(changesOf(plan)).toEqual(['start', 'cancel 0 done', 'start'])
  })

  test('an email whose first result was seen passes to the next, and more events join', () => {
    const again = { once: 'property', property: 'url', collect: { minutes: 30 } } as const
    const messages = [message({ again, onlyIf: [{ rule: 'notSeen' }] })]
    const result = (n: number) => ({ properties: JSON.stringify({ url: `https://a.example/${n}` }) })
    const seen = { type: 'page', name: '$page', path: '/1', at: AT + 1 } as const
    const plan = planOf([result(1), result(2), seen, result(3), result(1)], { messages })
    expect(changesOf(plan)).toEqual(['start', 'join 0', 'cancel 0 seen', 'join 1', 'join 1'])
  })

  test('a new person triggers messages for new people before the event does', () => {
    const messages = [message({ trigger: { contact: 'created' } }, 2), message()]
    expect(planOf([{}, {}], { messages }).deliveries).toMatchObject([
      { messageId: 2, eventId: null },
      { messageId: 1, eventId: FIRST_ID + 32 },
    ])
  })

  test('earlier emails of the person count', () => {
    const used = new Map([[1, { keys: new Set(['']), count: 1, lastHandedAt: null }]])
    const emails: EmailFacts = { timezone: null, waiting: [], sent: [], goals: [], used }
    expect(changesOf(planOf([{}], { messages: [message()], person: { ...ADA, emails } }))).toEqual([])
  })

  test('records a return once, and once more for the result', () => {
    const sent = { of: 'email' as const, id: 5, decidedAt: AT - MINUTE, cameBackAt: null, openedAt: null }
    const properties = ['{"url":"https://a.example/1"}']
    const emails: EmailFacts = {
      timezone: null,
      waiting: [],
      sent: [{ ...sent, properties }],
      goals: [],
      used: new Map(),
    }
    const seen = (path: string) => ({ type: 'page', name: '$page', path }) as const
    const visits = ['/', '/2', '/1', '/1'].map(seen)
    expect(changesOf(planOf(visits, { person: { ...ADA, emails }, hasDeliveries: true }))).toEqual([
      'came back 5',
      'came back 5 to the result',
    ])
  })

  test('records a goal once, within its days after the email', () => {
    const paid = (id: number, decidedAt: number) => ({
      of: 'comparison' as const,
      id,
      decidedAt,
      event: 'paid',
      days: 2,
    })
    const goals = [paid(5, AT - 2 * DAY), paid(6, AT - 2 * DAY - 1), paid(7, AT + 1), { ...paid(8, AT), event: 'left' }]
    const emails: EmailFacts = { timezone: null, waiting: [], sent: [], goals, used: new Map() }
    const messages = [message({ goal: { event: 'paid', days: 2 } })]
    const given = { messages, person: { ...ADA, emails }, hasDeliveries: true }
    const planned = planOf([{ name: 'paid' }, { name: 'paid' }, { name: 'seen' }], given)
    expect(planned.deliveries).toEqual([{ change: 'goal', of: 'comparison', id: 5, at: AT }])
  })

  test('facts about goals are loaded only for their event, as far back as they count', () => {
    const messages = [message({ trigger: { tag: 'beta' }, goal: { event: 'paid', days: 3 } })]
    const since = (name: string) => askOf([{ name }], { messages, person: ADA, hasDeliveries: true })
    expect(since('paid').emails).toMatchObject([{ goalsSince: AT - 3 * DAY, sentSince: null, waiting: 'none' }])
    expect(since('other').emails).toEqual([])
  })
})

test('an Idempotency-Key replays within a batch, and a refusal leaves it free', () => {
  const key = idempotency()
  const writes = [
    { idempotency: key, createContact: false },
    { idempotency: key },
    { idempotency: key },
    { idempotency: { ...key, bodyHash: 'other' } },
  ]
  const { outcomes, events, requests } = planOf(writes)
  const first = { contactId: FIRST_ID, eventId: FIRST_ID + 16, created: true }
  expect(outcomes).toEqual([
    { refusal: 'contact_not_found' },
    first,
    { ...first, replayed: true },
    { refusal: 'idempotency_mismatch' },
  ])
  expect([events.length, requests.length]).toEqual([1, 1])
  const stored = { part: null, bodyHash: key.bodyHash, outcome: JSON.stringify(first) }
  const outcomesOf = (one: typeof stored) => new Map([[outcomeKey(key.keyId, key.key), new Map([[null, one]])]])
  const again = planOf([{ idempotency: key }], { outcomes: outcomesOf(stored) })
  expect([again.outcomes, again.events]).toEqual([[{ ...first, replayed: true }], []])
})

test('a request is compared with its parts, and a part only with its request', () => {
  const key = idempotency()
  const outcome = JSON.stringify({ contactId: KNOWN })
  const parts = new Map([[1, { part: 1, bodyHash: 'other', outcome }]])
  const given: Given = { person: ADA, outcomes: new Map([[outcomeKey(key.keyId, key.key), parts]]) }
  expect(planOf([{ idempotency: key }], given).outcomes).toEqual([{ refusal: 'idempotency_mismatch' }])
  const part = { ...key, part: 0 }
  const { outcomes, requests } = planOf([{ idempotency: part }, { idempotency: part }], given)
  expect(outcomes).toMatchObject([{ contactId: KNOWN }, { contactId: KNOWN, replayed: true }])
  expect(requests).toMatchObject([
    { part: 0, contactId: KNOWN },
    { part: null, contactId: 0 },
  ])
})

test('a refused request records nothing, but replays the outcome of its key', () => {
  const key = idempotency()
  const stored = { part: null, bodyHash: key.bodyHash, outcome: JSON.stringify({ contactId: KNOWN }) }
  const batch: PlannedWrite[] = [eventWrite(), eventWrite({ idempotency: key })].map((input) => ({
    name: 'recordEvent',
    input,
    isRefused: true,
  }))
  const people = [null, null]
  const { matches, reports, outcomes: asked, newcomers } = queryFacts(batch, people)
  expect([asked, newcomers, matches.size]).toEqual([[key], [], 0])
  const outcomes = new Map([[outcomeKey(key.keyId, key.key), new Map([[null, stored]])]])
  const facts: Facts = { people, firstId: FIRST_ID, used: new Map(), newPeople: new Map(), outcomes, reports, matches }
  const plan = planWrites(batch, facts)
  expect(plan.outcomes).toMatchObject([{ refusal: 'rate_limited' }, { contactId: KNOWN, replayed: true }])
  expect([plan.contacts, plan.events, plan.requests, plan.counted]).toEqual([[], [], [], []])
})

test('planning does not change its facts and can be repeated', () => {
  const messages = [message({ onlyIf: [{ rule: 'notDone', event: 'paid' }] })]
  const used = new Map([[1, { keys: new Set<string>(), count: 0, lastHandedAt: null }]])
  const person = {
    ...ADA,
    names: { firstName: null, lastName: null },
    emails: { timezone: null, waiting: [], sent: [], goals: [], used },
  }
  const given: Given = { messages, person }
  const writes = [{ firstName: 'Ada' }, {}, { name: 'paid', at: AT + 1 }]
  const first = planOf(writes, given)
  expect(planOf(writes, given)).toEqual(first)
  expect(person.names).toEqual({ firstName: null, lastName: null })
})

describe('the facts asked for', () => {
  test('are none if no live message needs them', () => {
    const { matches, reports, ...asked } = askOf([{}, { name: 'other' }], { person: ADA, hasDeliveries: true })
    expect([asked, matches.size, reports.length]).toEqual([
      { names: [], contacts: [], newcomers: [], asked: [], months: [], outcomes: [], emails: [] },
      0,
      0,
    ])
  })

  test('include keys and emails of known people only', () => {
    const again = { once: 'property', property: 'n', collect: { minutes: 30 } } as const
    const messages = [message({ again, onlyIf: [{ rule: 'notDone', event: 'paid' }] })]
    expect(askOf([{}], { messages }).emails).toEqual([])
    const [ask] = askOf([{ properties: '{"n":1}' }, {}], { messages, person: ADA, hasDeliveries: true }).emails
    const [one] = ask?.messages.values() ?? []
    expect([ask?.waiting, one?.keys.size, one?.near.length, one?.room]).toEqual(['none', 2, 2, 48])
    const [cancelling] = askOf([{ name: 'paid' }], { messages, person: ADA, hasDeliveries: true }).emails
    expect(cancelling).toMatchObject({ waiting: 'bare', sentSince: null })
  })

  test('exclude events too old to trigger', () => {
    const old = { occurredAt: AT - 73 * 60 * MINUTE }
    expect(askOf([old], { messages: [message()], person: ADA }).emails[0]?.messages.size).toBe(0)
  })
})
