import { beforeEach, describe, expect, test } from 'bun:test'
import type { Mail, MessageContent, Rule } from '../../../src/store/message-types.ts'
import { CONTACTS, DAY, HOUR } from '../../helper.ts'
import { MINUTE } from '../../messaging.ts'
import { type Simulating, useSimulating } from './simulating.ts'

const openSimulating = useSimulating()

const ADA = 'ada@example.com'

let at: Simulating
beforeEach(async () => {
  at = await openSimulating()
  await at.event(ADA)
  at.clock.tick(HOUR)
})

const change = (values: object) =>
  at.server.call('PATCH', CONTACTS, { body: { app: at.server.first.appId, email: ADA, ...values } })

describe('current data is used and named:', () => {
  const mail = (body: string): { mail: Mail } => ({ mail: { subject: 'S', body } })
  const rule = (one: Rule): Partial<MessageContent> => ({ onlyIf: [one] })
  type Case = [name: string, content: Partial<MessageContent>, change: object | null, outcome: string, isToday: boolean]
  test.each<Case>([
    ['a tag', rule({ rule: 'tag', has: 'beta' }), { tags: ['beta'] }, 'send', true],
    ['a tag too many', rule({ rule: 'tag', lacks: 'beta' }), { tags: ['beta'] }, 'tag', true],
    [
      'a field',
      rule({ rule: 'field', field: 'plan', is: 'equal', to: 'pro' }),
      { fields: { plan: 'pro' } },
      'send',
      true,
    ],
    ['a status', rule({ rule: 'status', is: 'unsubscribed' }), null, 'status', true],
    ['an event, as it was then', rule({ rule: 'done', event: 'paid' }), null, 'not_done', false],
    ['a value of theirs', mail('{{ contact.fields.plan }}'), null, 'missing_value', true],
    ['a value of the event, as it was then', mail('{{ event.headline }}'), null, 'missing_value', false],
  ])('%s', async (_, content, values, outcome, isToday) => {
    if (values) expect((await change(values)).status).toBe(200)
    const { lines } = await at.simulate(content)
    const [line] = lines
    const said = line?.verdicts.map((verdict) => verdict.isToday ?? false)
    expect([lines.length, line?.outcome, said]).toEqual([1, outcome, [isToday]])
  })

  test('their subscription', async () => {
    const { app, store } = at.messaging
    await store().suppress({ appId: app.id, email: ADA, reason: 'complained', at: at.clock.now() })
    const { lines } = await at.simulate()
    const suppressed = {
      rule: 'suppression',
      about: null,
      value: 'complained',
      verdict: 'fail' as const,
      isToday: true as const,
    }
    expect(lines).toMatchObject([{ email: ADA, outcome: 'complained', verdicts: [suppressed] }])
  })
})

test('a repeated event has no verdicts, but a due time', async () => {
  await at.event(ADA)
  const cameAt = at.clock.now()
  at.clock.tick(MINUTE)
  const content: Partial<MessageContent> = { wait: { minutes: 10 }, onlyIf: [{ rule: 'tag', lacks: 'beta' }] }
  const { from, until, triggered, lines } = await at.simulate(content, { days: 3 })
  expect([from, until, triggered]).toEqual([at.clock.now() - 3 * DAY, at.clock.now(), 2])
  expect(lines[0]).toMatchObject({ triggeredAt: cameAt, dueAt: cameAt + 10 * MINUTE, outcome: 'again', verdicts: [] })
})
