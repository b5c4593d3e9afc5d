/** How a report changes an email: from its provider, or from the customer's signed webhook. */
import { DAY_MS } from '../core/clock.ts'
import { parseRecord } from '../store/decision-records.ts'
import type { DeliveryReport, PlanReport, ReportedDelivery, ReportPlan } from '../store/delivery-reports.ts'
import type { DeliveryState } from '../store/message-types.ts'

/** The address is suppressed after so many soft bounces in this time. */
export const SOFT_BOUNCES = { most: 3, withinMs: 14 * DAY_MS } as const

const LEFT: readonly DeliveryState[] = ['handed', 'sent', 'unknown']
const WAITING: readonly DeliveryState[] = ['waiting', 'deferred', 'claimed']

/** It was handed over, and will be sent once more because its outcome is unknown. */
const isToBeRepeated = ({ state, record }: ReportedDelivery): boolean =>
  WAITING.includes(state) && parseRecord(record)?.unconfirmedAt !== undefined

const mayHaveLeft = (delivery: ReportedDelivery): boolean => LEFT.includes(delivery.state) || isToBeRepeated(delivery)

/** A later report may correct it. */
const hasBouncedForNow = ({ state, bounce }: ReportedDelivery): boolean =>
  state === 'bounced' && (bounce === 'soft' || bounce === 'blocked')

/**
 * Reports come late, repeated and in any order, so the order decides nothing: a complaint outweighs a final bounce, which
 * outweighs that the email was delivered, which outweighs that it bounced for now. Null: nothing changes.
 */
export const planReport: PlanReport = (delivery, report) => {
  switch (report.kind) {
    case 'complained':
      return planComplaint(delivery, report)
    case 'bounced':
      return planBounce(delivery, report)
    case 'softBounced':
    case 'blocked':
      return planPassingBounce(delivery, report)
    case 'delivered':
      return planDelivered(delivery, report)
    case 'delayed': {
      const isNews = delivery.delayedAt === null && delivery.deliveredAt === null && LEFT.includes(delivery.state)
      return isNews ? { delayedAt: report.at } : null
    }
  }
}

/** Nothing more is sent to the person, also if the email's own state stays. */
function planComplaint(delivery: ReportedDelivery, { reason, at }: DeliveryReport): ReportPlan | null {
  if (delivery.state === 'complained') return null
  const ends = canEnd(delivery) || delivery.state === 'bounced'
  const arrived = { deliveredAt: delivery.deliveredAt ?? at }
  return { ...(ends ? { state: 'complained', reason, bounce: null, ...arrived } : {}), suppresses: 'complained' }
}

function planBounce(delivery: ReportedDelivery, { reason, at }: DeliveryReport): ReportPlan | null {
  if (delivery.state === 'complained' || (delivery.state === 'bounced' && !hasBouncedForNow(delivery))) return null
  const ends = canEnd(delivery)
  return { ...(ends ? { state: 'bounced', reason, bounce: { kind: 'hard', at } } : {}), suppresses: 'bounced' }
}

const canEnd = (delivery: ReportedDelivery): boolean =>
  mayHaveLeft(delivery) || hasBouncedForNow(delivery) || delivery.state === 'failed'

function planPassingBounce(delivery: ReportedDelivery, { kind, reason, at }: DeliveryReport): ReportPlan | null {
  if (delivery.deliveredAt !== null || !mayHaveLeft(delivery)) return null
  return kind === 'blocked'
    ? { state: 'bounced', reason, bounce: { kind: 'blocked', at } }
    : { state: 'bounced', reason, bounce: { kind: 'soft', at }, suppressesIfOften: SOFT_BOUNCES }
}

const SETTLED: readonly DeliveryState[] = ['sent', 'bounced', 'complained']

function planDelivered(delivery: ReportedDelivery, { at }: DeliveryReport): ReportPlan | null {
  if (delivery.deliveredAt !== null) return null
  const isUnsure = delivery.state === 'unknown' || delivery.state === 'handed' || isToBeRepeated(delivery)
  if (isUnsure || hasBouncedForNow(delivery)) return { state: 'sent', reason: null, bounce: null, deliveredAt: at }
  return SETTLED.includes(delivery.state) ? { deliveredAt: at } : null
}
