import type { TemplateFault } from '../messages/template-faults.ts'

/** An email of these events, to be rendered. */
type Listed<First, Other> = { first: First; others: readonly Other[] }

/**
 * `fault`: of the email without the `unfilled` events; null: it can be sent. `isOfEvent`: the first event is at fault,
 * and another one can begin the email.
 */
export type Unfilled<Other> = {
  fault: TemplateFault | null
  isOfEvent: boolean
  unfilled: { event: Other; fault: TemplateFault }[]
}

/**
 * Finds the events that an email cannot list because they lack values: renders the first alone, then with each other.
 * Yields what to render and receives its fault, so that the caller may render asynchronously. `fault`: with all events.
 */
export function* findUnfilled<First, Other extends First>(
  { first, others, fault }: Listed<First, Other> & { fault: TemplateFault | null },
  { isByHand }: { isByHand: boolean },
): Generator<Listed<First, Other>, Unfilled<Other>, TemplateFault | null> {
  if (!isOfValues(fault) || others.length === 0) return { fault, isOfEvent: false, unfilled: [] }
  const alone = yield { first, others: [] }
  if (isOfValues(alone)) {
    // a delivery sent by hand is never split
    return { fault: alone, isOfEvent: !isByHand && (yield* canAnyBegin(others)), unfilled: [] }
  }
  const unfilled: Unfilled<Other>['unfilled'] = []
  for (const event of others) {
    const both = yield { first, others: [event] }
    if (both && 'slow' in both) return { fault: both, isOfEvent: false, unfilled: [] }
    if (isOfValues(both)) unfilled.push({ event, fault: both })
  }
  if (unfilled.length === 0) return { fault, isOfEvent: false, unfilled }
  const rest = others.filter((event) => !unfilled.some((one) => one.event === event))
  return { fault: yield { first, others: rest }, isOfEvent: false, unfilled }
}

/** Whether one of the events renders on its own; if not, the person is at fault. */
function* canAnyBegin<First, Other extends First>(
  events: readonly Other[],
): Generator<Listed<First, Other>, boolean, TemplateFault | null> {
  for (const first of events) if (!isOfValues(yield { first, others: [] })) return true
  return false
}

/** Whether a value is missing or of a type the template can't print. */
const isOfValues = (fault: TemplateFault | null): fault is TemplateFault =>
  fault !== null && ('missing' in fault || 'broken' in fault)
