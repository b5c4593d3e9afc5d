/** The sentence at the top of Overview. */
import { formatCount } from '../../core/count.ts'
import { RESULTS_READY } from '../../core/field-patterns.ts'
import type { AppResults, Difference } from '../../deliveries/results.ts'
import type { Recent } from '../../deliveries/simulation/recent.ts'
import { formatMinutes } from '../../messages/describe-message.ts'
import type { MessageContent, MessageRow } from '../../messages/messages.ts'

/** A draft about people who left before their results, such as the first one of every app. */
const isAboutLeaving = ({ trigger, onlyIf = [] }: MessageContent): boolean =>
  'event' in trigger && trigger.event === RESULTS_READY && onlyIf.some(({ rule }) => rule === 'away')

type Draft = Pick<MessageRow, 'name' | 'content'>

/** "58 people left before their results last week. Nobody emailed them." Only people with page views are known to have left. */
export function describeSimulated({ name, content }: Draft, { result, state }: Recent): string {
  const isLeaving = isAboutLeaving(content)
  if (result === null) {
    const who = isLeaving ? 'who left before their results' : `who would have got “${name}”`
    return state === 'running' ? `Counting people ${who} last week.` : `Couldn't count people ${who} last week.`
  }
  const { triggered, emailed, unseen, waiting } = result.people
  if (triggered === 0) return `Nothing triggered “${name}” last week.`
  const verb = isLeaving && unseen === 0 ? 'left before their results' : `would have got “${name}”`
  if (emailed === 0 && waiting > 0) {
    const nobody = isLeaving ? 'Nobody has left before their results yet.' : `Nobody would have got “${name}” yet.`
    return `${nobody} ${describeStillWaiting({ name, content }, waiting)}`
  }
  if (emailed === 0) return `Nobody ${verb} last week.`
  const people = `${formatCount(emailed)} ${emailed === 1 ? 'person' : 'people'}`
  const sentence = `${result.hasMore ? `At least ${people}` : people} ${verb} last week`
  return `${sentence}${unseen === 0 ? '' : `; ${describeUnseen(unseen, emailed)}`}. Nobody emailed them.`
}

function describeUnseen(unseen: number, emailed: number): string {
  if (unseen === emailed) return emailed === 1 ? 'they have no page views' : 'none of them have page views'
  return `${formatCount(unseen)} of them ${unseen === 1 ? 'has' : 'have'} no page views`
}

/** "It's too early to tell for 1 person: “Results ready, they left” waits 10 minutes." */
export function describeStillWaiting({ name, content: { wait } }: Draft, waiting: number): string {
  const people = waiting === 1 ? '1 person' : `${formatCount(waiting)} people`
  const early = `It's too early to tell for ${people}`
  if (wait === undefined || 'until' in wait) return `${early}, who would still be waiting for an email.`
  return `${early}: “${name}” waits ${formatMinutes(wait.minutes)}.`
}

type Measured = Pick<AppResults, 'emailed' | 'cameBack' | 'ofEarlier' | 'compared' | 'alreadySeen' | 'waitingOf'>

export const sumWaiting = ({ waitingOf }: Pick<AppResults, 'waitingOf'>): number =>
  [...waitingOf.values()].reduce((sum, count) => sum + count, 0)

/** "55 emails are waiting" */
export const describeWaiting = (count: number): string =>
  count === 1 ? '1 email is waiting' : `${formatCount(count)} emails are waiting`

/**
 * One sentence: how many people were emailed, how many of them came back, how many more that is than without emails, and
 * how many had opened the result before. The comparison names its number of people where that differs.
 */
export function describeResults(measured: Measured, hasHoldback: boolean): string {
  const { emailed, ofEarlier, alreadySeen } = measured
  const parts = [
    emailed === 0 ? describeNobody(measured) : describeEmailed(measured, hasHoldback),
    emailed > 0 && ofEarlier > 0 && `${formatCount(ofEarlier)} came back after earlier emails`,
    alreadySeen > 0 && describeSeen(alreadySeen),
  ]
  return `${parts.filter((part) => part !== false).join('; ')}.`
}

function describeNobody(measured: Measured): string {
  const { cameBack, alreadySeen } = measured
  const waiting = sumWaiting(measured)
  if (cameBack > 0) return `Nobody was emailed, but ${formatCount(cameBack)} came back after earlier emails`
  if (waiting > 0) return `Nobody has been emailed yet: ${describeWaiting(waiting)}`
  return alreadySeen > 0 ? 'Nobody was emailed' : 'Nobody has been emailed yet'
}

function describeEmailed({ emailed, cameBack, ofEarlier, compared }: Measured, hasHoldback: boolean): string {
  const returned = cameBack - ofEarlier
  const came = `${countPeople(emailed)} emailed, ${returned === 0 ? 'nobody' : formatCount(returned)} came back`
  if (compared !== null) return `${came}, ${describeCompared(compared, emailed)}`
  return hasHoldback ? `${came}, too few people to tell the difference` : came
}

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
