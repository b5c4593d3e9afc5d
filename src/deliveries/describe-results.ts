import { formatCount } from '../core/count.ts'
import type { AppResults, Difference } from './results.ts'

export type Measured = Pick<
  AppResults,
  'emailed' | 'cameBack' | 'ofEarlier' | 'compared' | 'alreadySeen' | 'captured' | 'waitingOf'
>

export const sumWaiting = ({ waitingOf }: Pick<AppResults, 'waitingOf'>): number =>
  [...waitingOf.values()].reduce((sum, count) => sum + count, 0)

/** "55 emails are waiting" */
export const describeWaiting = (count: number): string =>
  count === 1 ? '1 email is waiting' : `${formatCount(count)} emails are waiting`

/** While no mail server is set up: "22 emails were captured, none sent; 5 emails are waiting" */
export function describeCaptured(captured: number, waiting: number): string {
  const emails = captured === 1 ? '1 email was captured' : `${formatCount(captured)} emails were captured`
  return `${emails}, none sent${waiting === 0 ? '' : `; ${describeWaiting(waiting)}`}`
}

/**
 * One sentence: how many people were emailed, how many of them came back, how many more that is than without emails, and
 * how many had opened the result before. The comparison names its number of people where that differs.
 */
export function describeResults(measured: Measured, hasHoldback: boolean): string {
  const { emailed, ofEarlier, alreadySeen } = measured
  const parts = [
    emailed === 0 ? describeNobody(measured) : describeEmailed(measured, hasHoldback),
    emailed > 0 && ofEarlier > 0 && describeEarlier(ofEarlier),
    alreadySeen > 0 && describeSeen(alreadySeen),
  ]
  return `${parts.filter((part) => part !== false).join('; ')}.`
}

function describeNobody(measured: Measured): string {
  const { cameBack, alreadySeen, captured } = measured
  const waiting = sumWaiting(measured)
  if (captured > 0) {
    const returned = cameBack > 0 ? `; ${describeEarlier(cameBack)}` : ''
    return describeCaptured(captured, waiting) + returned
  }
  if (cameBack > 0) return `Nobody was emailed, but ${describeEarlier(cameBack)}`
  if (waiting > 0) return `Nobody has been emailed yet: ${describeWaiting(waiting)}`
  return alreadySeen > 0 ? 'Nobody was emailed' : 'Nobody has been emailed yet'
}

function describeEmailed({ emailed, cameBack, ofEarlier, compared }: Measured, hasHoldback: boolean): string {
  const returned = cameBack - ofEarlier
  const came = `${countPeople(emailed)} emailed, ${returned === 0 ? 'nobody' : formatCount(returned)} came back`
  if (compared !== null) return `${came}, ${describeCompared(compared, emailed)}`
  return hasHoldback ? `${came}, too few people to tell whether the emails made a difference` : came
}

const describeEarlier = (count: number): string => `${formatCount(count)} came back after earlier emails`

const countPeople = (count: number): string => `${formatCount(count)} ${count === 1 ? 'person' : 'people'}`

const describeSeen = (count: number): string =>
  count === 1
    ? '1 not emailed because they had already opened the result'
    : `${formatCount(count)} not emailed because they had already opened the result`

/** "24 ± 9 more than without", of all who were emailed or of those who are compared. */
function describeCompared({ people, extra }: NonNullable<AppResults['compared']>, emailed: number): string {
  const more = `${formatExtra(extra)} than without`
  return people === emailed ? more : `${more}, among the ${formatCount(people)} compared`
}

/** "24 ± 9 more" */
export function formatExtra({ estimate, margin }: Difference): string {
  const [people, most] = [Math.round(estimate), formatCount(Math.round(margin))]
  return `${formatCount(Math.abs(people))} ± ${most} ${people < 0 ? 'fewer' : 'more'}`
}
