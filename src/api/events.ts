import { Elysia } from 'elysia'
import { noteEventWithoutEmail } from '../core/activation.ts'
import { EventAnswer, EventPage } from '../core/answer-schemas.ts'
import { UNKNOWN_PERSON } from '../core/contacts.ts'
import { type EventFields, readEventInput } from '../core/event-input.ts'
import { textOf } from '../core/event-texts.ts'
import {
  listEvents,
  recordEvent,
  type RecordedEvent,
  type RecordedText,
  recordEventText,
  warnOfLink,
} from '../core/events.ts'
import { replayOf } from '../core/idempotency.ts'
import { rateLimitHeaders } from '../core/limits.ts'
import type { Parts } from '../core/parts.ts'
import { publicId } from '../core/public-ids.ts'
import { readEventsQuery, writeIdCursor } from '../core/queries.ts'
import { isRefusal, withWarnings } from '../core/refusals.ts'
import { EventInput, EventQuery } from '../core/schemas.ts'
import { peekForKey, takeForKey } from '../core/write-limits.ts'
import { answer, refusalAnswer } from './answers.ts'
import { type Arrived, type Call, readArrived, receiveCall } from './call.ts'
import { describeCall } from './describe.ts'
import { EXAMPLES } from './examples.ts'
import { remainingHeaders, settleLimit, uncountedAnswer } from './limited.ts'
import { hasKey, type Once, REPLAYED } from './once.ts'
import { readPage } from './page.ts'
import { eventView } from '../core/views.ts'

/** POST and GET /events (spec 4.1). */
export const eventRoutes = (parts: Parts, once: Once) =>
  new Elysia()
    .post(
      '/events',
      async ({ request }) => {
        const arrived = await receiveCall(parts, request)
        if ('refused' in arrived) return uncountedAnswer(parts, request, 'events', arrived.refused)
        const tried = await recordUnread(parts, request, arrived)
        if (tried?.recorded) return textAnswer(request, tried.recorded, tried.headers)
        const call = readArrived(parts, request, readEventInput, arrived)
        if ('refused' in call) {
          noteEventWithoutEmail(parts, call)
          return uncountedAnswer(parts, request, 'events', call.refused)
        }
        if (tried) return refusalAnswer(request, tried.refused, tried.headers)
        const beginning = once.begin(request, call)
        const begun = beginning instanceof Promise ? await beginning : beginning
        if ('refused' in begun) return uncountedAnswer(parts, request, 'events', begun.refused)
        try {
          const { access, app, input } = call
          const replay = replayOf<RecordedEvent>(begun.earlier, null)
          if (replay) return recordedAnswer(request, call, replay, remainingHeaders(parts, 'events', access))
          const counted = takeForKey(parts, 'events', access)
          if (counted.refused) {
            return refusalAnswer(request, counted.refused, rateLimitHeaders(counted.limit, counted.taken))
          }
          const context = { access, app, via: 'api', buckets: counted.buckets, idempotency: begun.idempotency } as const
          const outcome = await recordEvent(parts, context, input)
          const headers = settleLimit(parts, counted, outcome)
          return isRefusal(outcome)
            ? refusalAnswer(request, outcome, headers)
            : recordedAnswer(request, call, outcome, headers)
        } finally {
          begun.release()
        }
      },
      {
        parse: 'none',
        detail: describeCall({
          summary: 'Record an event of a person',
          example: EXAMPLES.postEvent,
          body: EventInput,
          answers: { 202: EventAnswer },
          refusals: ['contact_not_found', 'plan_limit_reached'],
          isLimited: true,
        }),
      },
    )
    .get(
      '/events',
      async ({ request }) => {
        const call = await readPage(parts, request, readEventsQuery)
        if ('refused' in call) return refusalAnswer(request, call.refused)
        const { app, input } = call
        const { email, event: name, before, limit } = input
        const page = await listEvents(parts, app, { email, name, before, limit })
        if (!page) return refusalAnswer(request, UNKNOWN_PERSON)
        const nextCursor = page.next === null ? null : writeIdCursor(page.next)
        return answer(request, 200, { ok: true, data: page.rows.map(eventView), nextCursor })
      },
      {
        detail: describeCall({
          summary: 'List stored events, page views and actions, newest first',
          description:
            'The `type` is `event` for what your server sent, `page` for a page view, and `action` for what `track` of the browser script sent.',
          example: EXAMPLES.getEvents,
          query: EventQuery,
          answers: { 200: EventPage },
          refusals: ['contact_not_found', 'insufficient_scope'],
        }),
      },
    )

/** Texts go ahead only while so many more are left of the hour: what is refused must not take the last ones from others. */
export const SPARE_EVENTS = 1_000

/**
 * The usual event: it goes to the writing thread as it came (core/event-texts.ts). null where it does not, or where it is
 * refused, and nothing was saved or counted: then it is read here. Also what the store refuses is, because what is wrong
 * with an event is said first.
 */
async function recordUnread(parts: Parts, request: Request, { access, bytes }: Arrived) {
  const { sender } = access
  const text = sender === null || hasKey(request) ? null : textOf(bytes)
  if (sender === null || text === null) return null
  if (peekForKey(parts, 'events', access).taken.remaining <= SPARE_EVENTS) return null
  const counted = takeForKey(parts, 'events', access)
  const outcome = await recordEventText(parts, sender, text)
  const headers = settleLimit(parts, counted, outcome)
  if ('isUnread' in outcome) return null
  return isRefusal(outcome) ? { refused: outcome, headers } : { recorded: outcome, headers }
}

const textAnswer = (request: Request, recorded: RecordedText, headers: Record<string, string>): Response =>
  answer(request, 202, withWarnings(recordedBody(recorded), recorded.warnings ?? []), headers)

const recordedBody = ({ contactId, created }: RecordedEvent) => ({
  ok: true,
  contactId: publicId('con', contactId),
  created,
})

function recordedAnswer(
  request: Request,
  { app, input, warnings }: Call<EventFields>,
  recorded: RecordedEvent,
  headers: Record<string, string>,
): Response {
  if (recorded.replayed) Object.assign(headers, REPLAYED)
  return answer(request, 202, withWarnings(recordedBody(recorded), warnings.concat(warnOfLink(input, app))), headers)
}
