import { beforeEach, expect, test } from 'bun:test'
import type { Rule } from '../../../src/store/message-types.ts'
import { HOUR } from '../../helper.ts'
import { messageOf, MINUTE, page } from '../../messaging.ts'
import { outcomesOf, type Simulating, useSimulating } from './simulating.ts'

const openSimulating = useSimulating()

let at: Simulating
beforeEach(async () => {
  at = await openSimulating()
})

const suppress = (email: string, reason: 'unsubscribed' | 'bounced') =>
  at.messaging.store().suppress({ appId: at.messaging.app.id, email, reason, at: at.clock.now() })

/** The suppression of the address stays. */
const erase = (email: string) => at.messaging.store().eraseContact({ ...at.messaging.by, email, at: at.clock.now() })

test('someone who unsubscribed, was erased and returned still gets no email', async () => {
  await at.putLive()
  const people = { 'gone@example.com': 'unsubscribed', 'lost@example.com': 'bounced' } as const
  for (const [email, reason] of Object.entries(people)) {
    await at.event(email, { event: 'signed_up' })
    await suppress(email, reason)
    await erase(email)
  }
  at.clock.tick(HOUR)
  for (const email of [...Object.keys(people), 'new@example.com']) await at.event(email)
  const contact = await at.messaging.store().findContact(at.messaging.app.id, 'gone@example.com')
  expect(contact?.status).toBe('unsubscribed')
  at.clock.tick(MINUTE)
  const expected = { ...people, 'new@example.com': 'send' }
  expect(await at.decideLive()).toEqual(expected)
  expect(outcomesOf(await at.simulate())).toEqual(expected)
  const mail = { subject: 'S', body: 'B', category: 'transactional' as const }
  expect(outcomesOf(await at.simulate({ mail }))).toEqual({ ...expected, 'gone@example.com': 'send' })
})

test('people never reported and events without a page are no estimate', async () => {
  const rules: Record<string, Rule> = {
    seen: { rule: 'seen' },
    unseen: { rule: 'notSeen', ifUnknown: 'skip' },
    away: { rule: 'away', ifUnknown: 'skip' },
    // oxlint-disable-next-line no-thenable -- the name of an event
    then: { rule: 'away', at: 'trigger', ifUnknown: 'skip' },
  }
  for (const [event, rule] of Object.entries(rules)) {
    await at.messaging.put(messageOf({ name: event, trigger: { event }, onlyIf: [rule] }))
  }
  await at.messaging.put(messageOf({ name: 'pageless', trigger: { event: 'pageless' }, onlyIf: [{ rule: 'seen' }] }))
  const expected: Record<string, string> = { 'pageless@example.com': 'no_page' }
  for (const event of Object.keys(rules)) {
    expected[`${event}@example.com`] = 'never_reported'
    await at.event(`${event}@example.com`, { event })
  }
  await at.event('pageless@example.com', { event: 'known' })
  await at.browse('pageless@example.com', page('/home'))
  await at.event('pageless@example.com', { event: 'pageless', properties: {} })
  at.clock.tick(MINUTE)
  expect(await at.decideLive()).toEqual(expected)
  for (const [event, rule] of Object.entries(rules)) {
    const { counts } = await at.simulate({ trigger: { event }, onlyIf: [rule] })
    expect([event, counts]).toEqual([event, { never_reported: 1 }])
  }
  const { counts } = await at.simulate({ trigger: { event: 'pageless' }, onlyIf: [{ rule: 'seen' }] })
  expect(counts).toEqual({ no_page: 1 })
})
