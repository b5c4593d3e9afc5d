/** The sentence at the top of Overview. */
import { formatCount } from '../../core/count.ts'
import { RESULTS_READY } from '../../core/field-patterns.ts'
import type { Recent } from '../../deliveries/simulation/recent.ts'
import { formatMinutes } from '../../messages/describe-message.ts'
import type { MessageContent, MessageRow } from '../../messages/messages.ts'

/** A draft about people who left before their results, such as the first one of every app. */
const isAboutLeaving = ({ trigger, onlyIf = [] }: MessageContent): boolean =>
  'event' in trigger && trigger.event === RESULTS_READY && onlyIf.some(({ rule }) => rule === 'away')

type Draft = Pick<MessageRow, 'name' | 'content'>
/** `hasViews`: of anyone in the app, ever. */
export type Simulated<M extends Draft = Draft> = { message: M; found: Recent; hasViews: boolean }

/** "58 people left before their results were ready last week. Nobody emailed them." Only people whose page views arrived in time are known to have left. */
export function describeSimulated({ message: { name, content }, found, hasViews }: Simulated): string {
  const { result, state } = found
  const isLeaving = isAboutLeaving(content)
  if (result === null) {
    const who = isLeaving ? 'who left before their results were ready' : `who would have got “${name}”`
    return state === 'running' ? `Counting people ${who} last week.` : `Couldn't count people ${who} last week.`
  }
  const { triggered, emailed, unseen, waiting } = result.people
  if (triggered === 0) return `Nothing triggered “${name}” last week.`
  const verb = isLeaving && unseen === 0 ? 'left before their results were ready' : `would have got “${name}”`
  if (emailed === 0 && waiting > 0) {
    const nobody = isLeaving
      ? 'So far, nobody has left before their results were ready.'
      : `Nobody would have got “${name}” yet.`
    return `${nobody} ${describeStillWaiting({ name, content }, waiting)}`
  }
  if (emailed === 0) return `Nobody ${verb} last week.`
  const people = `${formatCount(emailed)} ${emailed === 1 ? 'person' : 'people'}`
  const sentence = `${result.hasMore ? `At least ${people}` : people} ${verb} last week`
  return `${sentence}. Nobody emailed them${unseen === 0 ? '' : `; ${describeUnseen({ unseen, emailed, hasViews })}`}.`
}

type Unseen = { unseen: number; emailed: number; hasViews: boolean }

/** Page views may arrive after the email would have been due, so a person's page may show them now. */
function describeUnseen({ unseen, emailed, hasViews }: Unseen): string {
  if (!hasViews) return `${emailed === 1 ? 'they have no' : 'none of them have'} page views`
  if (unseen === emailed) return 'no page views of theirs had arrived when the email was due'
  return `for ${formatCount(unseen)} of them, no page views had arrived when the email was due`
}

/** "It's too early to tell for 1 person: “Results ready, they left” waits 10 minutes." */
export function describeStillWaiting({ name, content: { wait } }: Draft, waiting: number): string {
  const people = waiting === 1 ? '1 person' : `${formatCount(waiting)} people`
  const early = `It's too early to tell for ${people}`
  if (wait === undefined || 'until' in wait) return `${early}, who would still be waiting for an email.`
  return `${early}: “${name}” waits ${formatMinutes(wait.minutes)}.`
}
