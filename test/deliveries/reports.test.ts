/** What a report makes of an email, with plain facts. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { planReport, SOFT_BOUNCES } from '../../src/deliveries/reports.ts'
import { REPORT_KINDS, type ReportedDelivery, type ReportKind } from '../../src/store/delivery-reports.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../src/store/message-types.ts'

const AT = 1_000
const deliveryOf = (changes: Partial<ReportedDelivery> = {}): ReportedDelivery => ({
  state: 'sent',
  deliveredAt: null,
  delayedAt: null,
  bounce: null,
  record: null,
  ...changes,
})
const plan = (kind: ReportKind, changes: Partial<ReportedDelivery> = {}, at = AT) =>
  planReport(deliveryOf(changes), { kind, reason: 'r', at })

/** Applies reports one after another, as the store does. */
function follow(kinds: readonly ReportKind[], first: Partial<ReportedDelivery> = {}) {
  let delivery = deliveryOf(first)
  const suppressed = new Set<string>()
  for (const [index, kind] of kinds.entries()) {
    const { state, deliveredAt, delayedAt, bounce, suppresses } =
      planReport(delivery, { kind, reason: 'r', at: AT + index }) ?? {}
    if (suppresses) suppressed.add(suppresses)
    delivery = {
      ...delivery,
      state: state ?? delivery.state,
      deliveredAt: deliveredAt ?? delivery.deliveredAt,
      delayedAt: delayedAt ?? delivery.delayedAt,
      bounce: bounce === undefined ? delivery.bounce : (bounce?.kind ?? null),
    }
  }
  return { delivery, suppressed }
}

describe('the order of reports', () => {
  test.each<[ReportKind[], DeliveryState]>([
    [['delivered', 'bounced'], 'bounced'],
    [['bounced', 'delivered'], 'bounced'],
    [['softBounced', 'delivered'], 'sent'],
    [['delivered', 'softBounced'], 'sent'],
    [['blocked', 'delivered'], 'sent'],
    [['softBounced', 'bounced'], 'bounced'],
    [['complained', 'delivered', 'bounced'], 'complained'],
    [['bounced', 'complained'], 'complained'],
    [['delayed', 'delivered', 'delayed'], 'sent'],
  ])('%j ends as %s', (kinds, state) => expect(follow(kinds).delivery.state).toBe(state))

  test('decides nothing, and repeated reports change nothing', () => {
    const reports = fc.array(fc.constantFrom(...REPORT_KINDS), { minLength: 1, maxLength: 8 })
    const states = fc.constantFrom<DeliveryState>('handed', 'sent', 'unknown')
    fc.assert(
      fc.property(reports, states, fc.infiniteStream(fc.nat()), (kinds, state, order) => {
        const shuffled = kinds.map((kind) => ({ kind, by: order.next().value ?? 0 })).toSorted((a, b) => a.by - b.by)
        const other = shuffled.map(({ kind }) => kind)
        const [one, again] = [follow(kinds, { state }), follow([...other, ...kinds, ...other], { state })]
        const isSure = kinds.some((kind) => kind !== 'delayed')
        if (isSure) expect(again.delivery.state).toBe(one.delivery.state)
        expect(again.suppressed.has('bounced') || again.suppressed.has('complained')).toBe(
          one.suppressed.has('bounced') || one.suppressed.has('complained'),
        )
        for (const kind of kinds) expect(planReport(again.delivery, { kind, reason: 'r', at: AT })).toBeNull()
      }),
    )
  })
})

describe('an email', () => {
  test.each(['bounced', 'complained'] as const)('that %s ends if it left or may have left', (kind) => {
    const ended = DELIVERY_STATES.filter((state) => plan(kind, { state })?.state === kind)
    expect(ended.filter((state) => state !== 'bounced')).toEqual(['handed', 'sent', 'failed', 'unknown'])
    expect(DELIVERY_STATES.filter((state) => plan(kind, { state })?.suppresses === kind)).toEqual(
      DELIVERY_STATES.filter((state) => state !== 'complained' && (state !== 'bounced' || kind === 'complained')),
    )
  })

  test('that was delivered has left', () => {
    expect(DELIVERY_STATES.filter((state) => plan('delivered', { state })?.state === 'sent')).toEqual([
      'handed',
      'unknown',
    ])
    expect(DELIVERY_STATES.filter((state) => plan('delivered', { state })?.deliveredAt === AT)).toEqual([
      'handed',
      'sent',
      'unknown',
      'bounced',
      'complained',
    ])
  })

  test('that arrived after all is not sent once more', () => {
    const record = JSON.stringify({ at: 0, verdicts: [], unconfirmedAt: 5 })
    for (const state of ['waiting', 'deferred', 'claimed'] as const) {
      expect(plan('delivered', { state, record })?.state).toBe('sent')
      expect(plan('bounced', { state, record })?.state).toBe('bounced')
      expect(plan('delivered', { state })).toBeNull()
    }
  })
})

describe('a bounce for now', () => {
  test('suppresses the address if there are many', () => {
    expect(plan('softBounced')).toEqual({
      state: 'bounced',
      reason: 'r',
      bounce: { kind: 'soft', at: AT },
      suppressesIfOften: SOFT_BOUNCES,
    })
  })

  test('for what the email is says nothing about the address', () => {
    expect(plan('blocked')).toEqual({ state: 'bounced', reason: 'r', bounce: { kind: 'blocked', at: AT } })
  })

  test('counts only for emails that left', () => {
    expect(DELIVERY_STATES.filter((state) => plan('softBounced', { state }) !== null)).toEqual([
      'handed',
      'sent',
      'unknown',
    ])
  })
})
