import { describe, expect, test } from 'bun:test'
import { findCancelled } from '../../src/deliveries/decide.ts'
import { explainDelivery, explainSimulation, toExplained } from '../../src/deliveries/explanations.ts'
import { countDeferrals, deliveryView, isHeld } from '../../src/deliveries/deliveries.ts'
import { DELIVERY_STATES, type DeliveryRow, type MailCategory, type Verdict } from '../../src/store/message-types.ts'
import type { ContactStatus } from '../../src/store/types.ts'
import { HOUR, NOW } from '../helper.ts'
import { MINUTE } from '../messaging.ts'
import { ADA, CONTENT, deliveryOf, explain, fail, pass, say, WHEN } from './explaining.ts'

describe('describes a state', () => {
  const LATER = '15 May 2026, 12:10 UTC'
  test.each<[Partial<DeliveryRow>, string]>([
    [{ state: 'waiting' }, `It is waiting. Its rules are checked on ${LATER}.`],
    [{ state: 'waiting', byHand: true }, 'A member or an API key chose to send it. It will be sent next.'],
    [{ state: 'claimed' }, 'It is being sent right now.'],
    [{ state: 'handed' }, "It was handed to the mail server, which hasn't replied yet."],
    [{ state: 'sent', sentAt: NOW }, `It was sent on ${WHEN}.`],
    [{ state: 'skipped', reason: 'unsubscribed' }, 'Ada unsubscribed.'],
    [
      { state: 'deferred', reason: 'smtp_421' },
      `The mail server asked Eventpost to try again later (it replied 421). It will be retried on ${LATER}.`,
    ],
    [
      { state: 'failed', reason: 'smtp_554' },
      "The mail server refused the email (it replied 554). It won't be retried.",
    ],
    [
      { state: 'failed', reason: 'smtp_451' },
      "The mail server could not accept the email at the time (it replied 451). It won't be retried.",
    ],
    [
      { state: 'unknown', reason: 'stopped' },
      "Eventpost stopped while it was sending the email. It's unknown whether Ada got it.",
    ],
    [{ state: 'bounced', reason: 'No such user' }, 'The email bounced. The report said: "No such user".'],
    [{ state: 'bounced', reason: 'bounced' }, 'The email bounced.'],
    [{ state: 'complained', reason: 'complained' }, 'Ada reported the email as spam.'],
    [{ state: 'complained', reason: null }, 'Ada reported the email as spam.'],
    [{ state: 'complained', reason: 'abuse' }, 'Ada reported the email as spam. The report said: "abuse".'],
    [
      { state: 'deferred', reason: 'enew' },
      `The mail server could not be used (enew). It will be retried on ${LATER}.`,
    ],
  ])('%j', (changes, sentence) => expect(say(changes)).toBe(sentence))

  test('of a member who sent it although rules failed', () => {
    const waiting = { state: 'waiting', byHand: true } as const
    expect(say(waiting, [pass('window', null, null), fail('tag', 'beta', false)])).toBe(
      'A member chose to send it despite the rules. It will be sent next.',
    )
    expect(say(waiting, [pass('window', null, null)])).toBe(
      'A member or an API key chose to send it. It will be sent next.',
    )
  })

  test('by the rule that stopped it, not another failed rule', () => {
    const verdicts = [fail('window', '09:00-17:00', NOW), fail('giveUp', null, NOW)]
    expect(say({ reason: 'gave_up' }, verdicts)).toBe(`It could not be sent by ${WHEN}.`)
    expect(say({ reason: 'unsubscribed' }, [fail('seen', '/r/1', null)])).toBe('Ada unsubscribed.')
    expect(say({ reason: 'seen' }, [fail('notSeen', '/r/1', NOW + MINUTE)])).toBe(
      'Ada was on /r/1 1 minute after the event, so this email was not needed.',
    )
  })

  test('by the rule that failed if a message has several of its kind', () => {
    const onlyIf = ['free', 'trial'].map((to) => ({ rule: 'field', field: 'plan', is: 'notEqual', to }) as const)
    const arrival = { addedTags: [], removedTags: [], fieldsBefore: {}, fieldsAfter: { plan: 'trial' } }
    const times = { triggeredAt: NOW, dueAt: NOW + MINUTE }
    const waiting = { ...times, resultPath: () => null, properties: () => ({}), isJoined: false }
    const cancelled = findCancelled({ ...CONTENT, onlyIf }, waiting, arrival)
    if (!cancelled) throw new Error('the change cancels')
    const content = { ...CONTENT, onlyIf }
    expect(say({ reason: cancelled.reason }, [cancelled.verdict], content)).toContain('anything but trial')
  })

  test('by the rule with unknown facts', () => {
    const stranger = { ...fail('away', 'sending', null), isUnknown: true as const }
    const unreported =
      'When the email was due, Eventpost had received no page views by Ada. This message is not sent in that case.'
    expect(say({ reason: 'never_reported' }, [fail('field', 'plan', 'pro'), stranger])).toBe(unreported)
    expect(say({ reason: 'never_reported' })).toBe(unreported)
    const nowhere = { ...fail('notSeen', null, null), isUnknown: true as const }
    expect(say({ reason: 'no_page' }, [nowhere, stranger])).toBe(
      "The event has no URL on your domains, so it's unknown whether Ada opened the page. This message is not sent in that case.",
    )
  })

  test('as not decided yet, with the page that is open', () => {
    const unsure = { state: 'deferred', reason: 'unsure' } as const
    const next = 'The next check is on 15 May 2026, 12:10 UTC.'
    const away = { ...fail('away', 'sending', NOW), until: NOW + 30 * MINUTE }
    expect(say(unsure, [{ ...away, openPath: '/new' }])).toBe(
      `At the last check, Ada may still have been on /new. ${next}`,
    )
    expect(say(unsure, [away])).toBe(`At the last check, Ada may still have been on your site. ${next}`)
    const seen = { ...fail('notSeen', '/results/1', NOW), until: NOW + 30 * MINUTE }
    expect(say(unsure, [seen])).toBe(`At the last check, Ada may still have been on /results/1. ${next}`)
  })

  test.each([
    ['perDay', fail('perDay', '1', 1), 'Ada already got 1 email in the previous 24 hours (limit: 1).'],
    ['perWeek', fail('perWeek', '3', 4), 'Ada already got 4 emails in the previous 7 days (limit: 3).'],
    ['window', fail('window', '09:00-17:00', NOW), "It's outside the app's sending hours (09:00-17:00)."],
    [
      'brake',
      fail('brake', 'bounces', '6.5%'),
      "6.5% of the app's recent emails bounced, so its lifecycle emails wait.",
    ],
  ])('as held by %s', (reason, verdict, why) => {
    const next = 'The next check is on 15 May 2026, 12:10 UTC.'
    expect(say({ state: 'deferred', reason }, [verdict])).toBe(`${why} ${next}`)
    expect(say({ state: 'deferred', reason })).toEndWith(next)
  })

  test('with a finding of each rule that is not decided yet', () => {
    const until = NOW + 30 * MINUTE
    const open = [fail('away', 'trigger', NOW), fail('away', 'sending', NOW), fail('notSeen', '/results/1', NOW)]
    const verdicts = open.map((verdict) => ({ ...verdict, until }))
    const delivery = deliveryOf({ state: 'deferred', reason: 'unsure' }, verdicts)
    const unsure = "isn't known yet whether Ada was viewing it. Without further activity, Ada counts as"
    expect(explain(delivery).rules.map(({ sentence }) => sentence)).toEqual([
      `A page was open at the time of the event, and it ${unsure} away.`,
      `A page was open when the email was due, and it ${unsure} away.`,
      `/results/1 was open at the time of the event, and it ${unsure} not having seen it.`,
    ])
  })

  test('as never known once another rule has decided', () => {
    const open = { ...fail('away', 'trigger', NOW), until: NOW + 30 * MINUTE }
    const delivery = deliveryOf({ reason: 'not_away' }, [open, fail('away', 'sending', '/editor')])
    const { why, rules } = explainDelivery({ delivery, person: ADA, content: CONTENT, zone: 'UTC' })
    expect(why).toBe('Ada was on /editor when the email was due, so this email was not needed.')
    expect(rules[0]?.sentence).toBe(
      'A page was open at the time of the event, and it was not known whether Ada was viewing it.',
    )
  })

  test('as back, or as gone too recently', () => {
    const back = { ...fail('away', 'sending', '/home'), cameBackAt: NOW + 2 * MINUTE }
    const sentence =
      'Ada left, but came back 2 minutes after the event and was on /home when the email was due, so this email was not needed.'
    expect(say({ reason: 'came_back' }, [pass('away', 'trigger', NOW - HOUR), back])).toBe(sentence)
    expect(say({ reason: 'came_back' }, [{ ...back, value: NOW + MINUTE, cameBackAt: null }])).toBe(
      'Ada left, but came back after the event, so this email was not needed.',
    )
    const left = { ...fail('away', 'sending', NOW + 7 * MINUTE), isTooSoon: true as const }
    expect(say({ reason: 'left_too_recently' }, [left])).toStartWith('Ada left 3 minutes before the email was due, and')
    expect(say({ reason: 'not_away' }, [left])).toStartWith('Ada left 3 minutes before the email was due, and')
  })

  test('as captured if it was not sent', () => {
    expect(say({ state: 'kept', handedAt: NOW })).toBe(`It was captured on ${WHEN}, because no mail server was set up.`)
  })

  test('with the reply of the mail server, unless it is being sent again or gone', () => {
    const record = JSON.stringify({ at: NOW, verdicts: [], reply: '550 5.7.1' })
    const telling = DELIVERY_STATES.filter((state) => explain(deliveryOf({ state, record })).serverReply !== undefined)
    expect(telling.sort()).toEqual(['deferred', 'failed', 'skipped'])
    expect(explain(deliveryOf({ state: 'failed', reason: 'smtp_550' })).serverReply).toBeUndefined()
  })

  test.each([
    ['no_mailbox', '550 5.1.1', "The mailbox doesn't exist (550 5.1.1)."],
    ['no_mailbox', '550 5.2.1', 'The mailbox is disabled (550 5.2.1).'],
    ['smtp_550', '550 5.1.1', "The mailbox doesn't exist (550 5.1.1)."],
    [
      'smtp_550',
      '550 5.7.26',
      'The mail server refused the email: several SPF, DKIM and DMARC checks failed (550 5.7.26).',
    ],
    ['smtp_553', '553 5.1.8', "The mail server refused the email: the sender's domain doesn't exist (553 5.1.8)."],
    ['smtp_552', '552 5.2.2', 'The mailbox is full (552 5.2.2).'],
    ['smtp_550', '550', 'The mail server refused the email or does not know the mailbox (it replied 550).'],
    ['smtp_554', '554 5.0.0', 'The mail server refused the email (it replied 554 5.0.0).'],
  ])('by %s with the reply %s', (reason, reply, why) => {
    const record = JSON.stringify({ at: NOW, verdicts: [], reply })
    expect(explain(deliveryOf({ state: 'failed', reason, record })).why).toBe(
      `${why} ${/ 5\.(1\.1|2\.1)$/.test(reply) ? 'The address was suppressed.' : "It won't be retried."}`,
    )
  })

  test.each([...DELIVERY_STATES])('also if %s is unknown', (state) => {
    expect(say({ state })).toMatch(/^[A-Z].+\.$/)
  })
})

describe('a waiting email to somebody who may not get it today', () => {
  const whyOf = (status: ContactStatus, changes: Partial<DeliveryRow> = {}, category: MailCategory = 'lifecycle') =>
    explainDelivery(
      toExplained({
        delivery: deliveryOf({ state: 'waiting', ...changes }),
        lead: null,
        message: { content: { ...CONTENT, mail: { ...CONTENT.mail, category } } },
        app: { timezone: 'UTC' },
        contact: { ...ADA, status, fields: null },
      }),
    ).why

  test.each<[ContactStatus, string]>([
    ['unsubscribed', "Ada is unsubscribed, so this email won't be sent unless that changes."],
    ['bounced', "Ada has an address that bounced, so this email won't be sent unless that changes."],
    ['complained', "Ada reported an email as spam, so this email won't be sent unless that changes."],
  ])('%s', (status, sentence) => {
    expect(whyOf(status)).toEndWith(sentence)
  })
  test('nobody else is mentioned', () => {
    expect(whyOf('subscribed')).toEndWith('are checked on 15 May 2026, 12:10 UTC.')
    expect(whyOf('unsubscribed', {}, 'transactional')).toEndWith('are checked on 15 May 2026, 12:10 UTC.')
    expect(whyOf('unsubscribed', { state: 'deferred', reason: 'window' })).not.toContain('unsubscribed')
  })
})

describe('always says that an email may have arrived twice', () => {
  const record = JSON.stringify({ at: NOW, verdicts: [], unconfirmedAt: NOW })
  const TWICE = `It may have arrived twice: the mail server didn't confirm the attempt on ${WHEN}.`
  const ALREADY = `It may already have arrived: the mail server didn't confirm the attempt on ${WHEN}.`

  test.each(DELIVERY_STATES.filter((state) => state !== 'joined'))('%s', (state) => {
    const isAgain = ['handed', 'sent', 'unknown', 'bounced', 'complained'].includes(state)
    for (const resent of [true, false]) {
      const delivery = deliveryOf({ state, resent, record })
      expect(explain(delivery).why).toContain(isAgain ? TWICE : ALREADY)
      expect(deliveryView(delivery, null).mayHaveArrivedTwice).toBe(isAgain)
    }
    expect(say({ state })).not.toContain('may have arrived twice')
    expect(say({ state })).not.toContain('may already have arrived')
    expect(deliveryView(deliveryOf({ state }), null).mayHaveArrivedTwice).toBe(false)
  })

  test('of a joined event, like its email', () => {
    const [joined, lead] = [
      deliveryOf({ state: 'joined', resent: true, record }),
      deliveryOf({ state: 'sent', record }),
    ]
    const { why } = explainDelivery({ delivery: joined, lead, person: ADA, content: CONTENT, zone: 'UTC' })
    expect(why.split(TWICE)).toHaveLength(2)
    expect(why).not.toContain(ALREADY)
  })

  test('also if the time is unknown', () => {
    expect(say({ state: 'sent', sentAt: NOW, resent: true })).toBe(
      `It was sent on ${WHEN}. It may have arrived twice: the mail server didn't confirm an earlier attempt.`,
    )
  })
})

test('counts how often an email was deferred, not how often it was claimed', () => {
  const count = (changes: Partial<DeliveryRow>) => countDeferrals(deliveryOf(changes))
  const record = JSON.stringify({ at: NOW, verdicts: [], tries: 2, reply: '451' })
  expect(count({ state: 'deferred', reason: 'window', attempt: 7 })).toBe(0)
  expect(count({ state: 'deferred', reason: 'smtp_451', record })).toBe(2)
  expect(count({ state: 'sent', handedAt: NOW, record })).toBe(2)
})

test('rules and limits hold an email, mail servers and senders do not', () => {
  const held = (reason: string) => isHeld({ state: 'deferred', reason })
  expect(['brake', 'window', 'perDay', 'perWeek', 'unsure'].map(held)).toEqual([true, true, true, true, true])
  expect(['smtp_451', 'sender_unverified', 'server_paused'].map(held)).toEqual([false, false, false])
  expect(isHeld({ state: 'skipped', reason: 'perDay' })).toBe(false)
})

test('times are in the timezone of the app', () => {
  const zone = 'America/New_York'
  const late = [fail('window', '09:00-17:00', NOW + HOUR), pass('again', '24', NOW - HOUR)]
  const delivery = deliveryOf({ state: 'deferred', reason: 'window' }, late)
  const { why, rules } = explainDelivery({ delivery, person: ADA, content: CONTENT, zone })
  expect(why).toBe(
    "It's outside the app's sending hours (09:00-17:00). The next check is on 15 May 2026, 08:10 America/New York.",
  )
  expect(rules[0]?.sentence).toEndWith('which start again on 15 May 2026, 09:00 America/New York.')
  expect(rules[1]?.sentence).toBe('Ada last received this message on 15 May 2026, 07:00 America/New York.')
})

describe('describes a line of a simulation', () => {
  const line = (outcome: string, verdicts: Verdict[] = []) =>
    explainSimulation(
      { contactId: 1, email: ADA.email, triggeredAt: NOW, dueAt: NOW, outcome, verdicts },
      { person: ADA, content: CONTENT, zone: 'UTC' },
    )
  test('like a delivery', () => {
    expect(line('send').why).toBe(`It would have been sent on ${WHEN}.`)
    expect(line('waiting')).toEqual({ why: `It would wait until ${WHEN}.`, decidedAt: null, rules: [] })
    expect(line('again').why).toBe('Ada had already received this message, or it was waiting.')
    expect(line('seen', [fail('notSeen', '/r/1', NOW)])).toEqual({
      why: 'Ada had /r/1 open at the time of the event, so this email was not needed.',
      decidedAt: NOW,
      rules: [
        {
          ...fail('notSeen', '/r/1', NOW),
          sentence: 'Ada had /r/1 open at the time of the event, so this email was not needed.',
        },
      ],
    })
  })
})

describe('an event that was added to another email', () => {
  const joined = (lead: Partial<DeliveryRow>): string =>
    explainDelivery({
      delivery: deliveryOf({ state: 'joined' }),
      lead: deliveryOf(lead),
      person: ADA,
      content: CONTENT,
      zone: 'UTC',
    }).why

  test('names the state of that email in the same sentence, if it can', () => {
    expect(joined({ state: 'sent', sentAt: NOW })).toBe(`Added to another email, sent on ${WHEN}.`)
    expect(joined({ state: 'bounced', reason: 'bounced' })).toBe('Added to another email. The email bounced.')
  })

  test('says in a sentence of its own that a member sent that email anyway', () => {
    const stopped = { at: NOW, reason: 'unsubscribed', verdicts: [] }
    const record = JSON.stringify({ at: NOW, verdicts: [], sentOn: { at: NOW, actor: 'mem_1', stopped } })
    expect(joined({ state: 'bounced', reason: 'bounced', record })).toBe(
      `Added to another email. The email bounced. It was blocked on ${WHEN}: Ada unsubscribed. A member sent it anyway on ${WHEN}.`,
    )
  })
})
