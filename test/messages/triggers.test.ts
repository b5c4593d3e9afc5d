import { expect, test } from 'bun:test'
import { isStartedBy, nameOfStart } from '../../src/messages/triggers.ts'
import type { Trigger } from '../../src/store/message-types.ts'
import { PAGE_NAME } from '../../src/store/visit-reports.ts'

const READY: Trigger = { event: 'ready' }
const PRO: Trigger = { event: 'ready', where: [{ property: 'plan', is: 'equal', to: 'pro' }] }
const PRICING: Trigger = { page: '/pricing' }
const DOCS: Trigger = { page: '/docs/*' }
const event = (properties: string | null, name = 'ready') => ({ name, path: null, properties })
const view = (path: string | null) => ({ name: PAGE_NAME, path, properties: null })

test.each<[Trigger, Parameters<typeof isStartedBy>[1], boolean]>([
  [READY, event(null), true],
  [READY, event(null, 'other'), false],
  [READY, { ...event(null), path: '/pricing' }, true],
  [READY, view('/ready'), false],
  [PRO, event('{"plan":"pro"}'), true],
  [PRO, event('{"plan":"free"}'), false],
  [PRO, event(null), false],
  [PRO, event('{"plan":"pro"}', 'other'), false],
  [PRICING, view('/pricing'), true],
  [PRICING, view('/pricing/'), true],
  [PRICING, view('/pricing/pro'), false],
  [PRICING, view(null), false],
  [PRICING, { ...event(null), path: '/pricing' }, false],
  [DOCS, view('/docs/start'), true],
  [DOCS, view('/pricing'), false],
  [{ contact: 'created' }, event(null), false],
  [{ tag: 'ready' }, event(null), false],
])('%j by %j: %p', (trigger, happened, isStarted) => {
  expect(isStartedBy(trigger, happened)).toBe(isStarted)
})

test('properties that are parsed already are taken as they are, and only where a condition asks', () => {
  expect(isStartedBy(PRO, event(null), () => ({ plan: 'pro' }))).toBe(true)
  const fail = () => {
    throw new Error('parsed')
  }
  for (const trigger of [READY, PRICING]) expect(isStartedBy(trigger, event('{'), fail)).toBe(trigger === READY)
})

test('the name of what starts it', () => {
  const triggers: Trigger[] = [PRO, PRICING, { contact: 'created' }, { tag: 'beta' }]
  expect(triggers.map(nameOfStart)).toEqual(['ready', PAGE_NAME, null, null])
})
