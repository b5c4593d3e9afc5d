import type { EventSender } from '../accounts/access.ts'
import { readEventInput } from '../events/event-input.ts'
import { textOf } from '../events/event-texts.ts'
import { recordEventText, type RecordedEvent, warnOfNames } from '../events/events.ts'
import type { ApiDependencies } from './dependencies.ts'
import { publicId } from '../core/ids.ts'
import { withWarnings } from '../core/refusals.ts'
import { peekForKey, settleTaken, takeForKey } from '../accounts/write-limits.ts'
import { answer, refusalAnswer } from '../http/answers.ts'
import { type Arrived, readArrived } from '../http/call.ts'
import { settleLimit } from '../http/limited.ts'
import { hasKey } from '../http/idempotency.ts'

/** Of all keys at once: what turns out to be refused takes no more places in the queue of writes than these. */
export const MOST_TEXTS = 500
/** Left of a key's hour beside them, or events are read before they are counted: the last are for those that are right. */
export const SPARE_EVENTS = 1_000

type Answering = Promise<Response | null> | null

/**
 * The usual event: it goes to the writing thread as it came (events/event-texts.ts). null, at once or later,
 * where it must be read here: then nothing of it is counted, and nothing was saved.
 */
export function createTextWay(parts: ApiDependencies): (request: Request, arrived: Arrived) => Answering {
  let underWay = 0

  const record = async (request: Request, arrived: Arrived, sender: EventSender, text: string) => {
    const counted = takeForKey(parts, 'events', arrived.access)
    let outcome: Awaited<ReturnType<typeof recordEventText>>
    underWay += 1
    try {
      outcome = await recordEventText(parts, sender, text)
    } finally {
      underWay -= 1
    }
    if ('contactId' in outcome) {
      const warnings = [...(outcome.warnings ?? []), ...warnOfNames(outcome, arrived.access)]
      const body = withWarnings(recordedBody(outcome), warnings)
      return answer(request, 202, body, settleLimit(parts, counted, outcome))
    }
    // what is wrong with an event is said before what the store says
    if ('refusal' in outcome && !('refused' in readArrived(parts, request, readEventInput, arrived)))
      return refusalAnswer(request, outcome, settleLimit(parts, counted, outcome))
    settleTaken(parts, counted, { isUnread: true })
    return null
  }

  return (request, arrived) => {
    const { sender } = arrived.access
    if (sender === null || underWay >= MOST_TEXTS || hasKey(request)) return null
    if (peekForKey(parts, 'events', arrived.access).taken.remaining <= SPARE_EVENTS) return null
    const text = textOf(arrived.bytes)
    return text === null ? null : record(request, arrived, sender, text)
  }
}

/** What is said of an event that was recorded. */
export const recordedBody = ({ contactId, created }: RecordedEvent) => ({
  ok: true,
  contactId: publicId('con', contactId),
  created,
})
