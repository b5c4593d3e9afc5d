import { beforeEach, describe, expect, test } from 'bun:test'
import type { Mail } from '../../../src/store/message-types.ts'
import { useClosing } from '../../closing.ts'
import { startSending } from '../../mail/sending.ts'
import { MINUTE } from '../../messaging.ts'
import { outcomesOf, type Simulating, useSimulating } from './simulating.ts'

const openSimulating = useSimulating()

const URL = 'https://first.example/results/1'

describe('an email', () => {
  let at: Simulating
  beforeEach(async () => {
    at = await openSimulating()
    await at.event('all@example.com', { properties: { url: URL, headline: 'Ready', list: ['a'], no: false, n: 0 } })
    await at.event('few@example.com', { properties: { url: URL }, firstName: 'Ada' })
    await at.event('blank@example.com', { properties: { url: ' ', headline: '\u202e' } })
    await at.event('none@example.com', { properties: undefined })
    at.clock.tick(MINUTE)
  })

  const ALL = ['all', 'few', 'blank', 'none']
  const cases: [body: string, written: string[]][] = [
    ['Hello', ALL],
    ['{{ event.url }}', ['all', 'few']],
    ['{{ event.headline | default: "Ready" }} {{ unsubscribeUrl }} {{ app.name }}', ALL],
    ['{{ event.headline }} {{ event.url }}', ['all']],
    ['{{ contact.firstName }}', ['few']],
    ["{{ contact.firstName | default: 'there' }}, {{ contact.email }}", ALL],
    ['{{ contact.fields.plan }}', []],
    ['{{ event.n }}', ['all']],
    ['{{ event.no }}', ['all']],
    ['{{ event.list }}', []],
    ['{{ event.list | default: "none" }}', ['few', 'blank', 'none']],
    ['{{ event.list | join: ", " }}', ['all']],
    ['{% if event.headline %}{{ event.url }}{% else %}nothing{% endif %}', ALL],
    ['{% if event.url %}{{ event.headline }}{% else %}nothing{% endif %}', ['all', 'blank', 'none']],
    ['{{ event.constructor }}', []],
    ['{{ event.headline.size }}', ['all']],
    ['{{- event.url -}}', ['all', 'few']],
  ]
  test.each(cases)('of %p', async (body, written) => {
    const outcomes = outcomesOf(await at.simulate({ mail: { subject: 'S', body } }))
    const expected = ALL.map((name) => [`${name}@example.com`, written.includes(name) ? 'send' : 'missing_value'])
    expect(outcomes).toEqual(Object.fromEntries(expected))
  })

  test('without a subject is not sent, and an invalid template is reported', async () => {
    const outcomes = async (mail: Mail) => (await at.simulate({ mail })).counts
    expect(await outcomes({ subject: '{% if false %}x{% endif %}', body: 'B' })).toEqual({ missing_value: 4 })
    expect(await outcomes({ subject: 'S', body: '{{ event.url' })).toEqual({ broken_template: 4 })
  })

  test('with a missing value names it and does not use up "once"', async () => {
    await at.event('few@example.com', { properties: { url: URL, headline: 'Later' } })
    at.clock.tick(MINUTE)
    const mail = { subject: '{{ event.headline }}', body: '{{ contact.firstName }}' }
    const { lines } = await at.simulate({ mail })
    const described = lines
      .filter(({ email }) => email === 'few@example.com' || email === 'all@example.com')
      .map(({ email, outcome, verdicts }) => [email, outcome, verdicts])
    const lacks = (about: string) => ({ rule: 'template', about, value: 'missing', verdict: 'fail' as const })
    expect(described).toEqual([
      ['few@example.com', 'send', []],
      ['all@example.com', 'missing_value', [{ ...lacks('contact.firstName'), isToday: true }]],
      ['few@example.com', 'missing_value', [lacks('event.headline')]],
    ])
  })
})

const keep = useClosing()

test('matches live sending', async () => {
  const mail = { subject: '{{ event.headline }}', body: 'B' }
  const sending = keep(await startSending({ mail }))
  await sending.sendEvent('ada@example.com', { url: URL })
  await sending.sendEvent('bob@example.com', { url: URL, headline: 'Ready' })
  sending.clock.tick(MINUTE)
  const simulation = await sending.parts().simulations.simulate({
    appId: sending.app.id,
    messageId: null,
    hosts: sending.app.hosts,
    content: { trigger: { event: 'results_ready' }, mail },
    settings: { sendWindow: null, timezone: null, giveUpHours: null },
    days: 7,
    now: sending.clock.now(),
  })
  await sending.sendDue()
  const live = (await sending.deliveries()).map(({ reason }) => reason ?? 'send')
  expect(live.toSorted()).toEqual(['missing_value', 'send'])
  expect(simulation).toMatchObject({ counts: { missing_value: 1, send: 1 } })
})
