import { Elysia } from 'elysia'
import { noteEventWithoutEmail } from '../events/activation.ts'
import { EventAnswer, EventPage } from '../http/answer-schemas.ts'
import { UNKNOWN_PERSON } from '../people/contacts.ts'
import { EventInput, type EventFields, readEventInput } from '../events/event-input.ts'
import { eventView, listEvents, recordEvent, type RecordedEvent, warnOfLink, warnOfNames } from '../events/events.ts'
import { replayOf } from '../http/idempotency.ts'
import { rateLimitHeaders } from '../accounts/limits.ts'
import type { ApiDependencies } from './dependencies.ts'
import { EventQuery, readEventsQuery, writeIdCursor } from '../http/queries.ts'
import { isRefusal, withWarnings } from '../core/refusals.ts'
import { takeForKey } from '../accounts/write-limits.ts'
import { answer, refusalAnswer } from '../http/answers.ts'
import { type Call, readArrived, receiveCall } from '../http/call.ts'
import { describeCall } from './describe.ts'
import { createTextWay, recordedBody } from './event-texts.ts'
import { EXAMPLES } from './examples.ts'
import { remainingHeaders, settleLimit, uncountedAnswer } from '../http/limited.ts'
import { type Once, REPLAYED } from '../http/once.ts'
import { readPage } from './page.ts'

/** POST and GET /events. */
export function eventRoutes(parts: ApiDependencies, once: Once) {
  const answerText = createTextWay(parts)
  return new Elysia()
    .post(
      '/events',
      async ({ request }) => {
        const arrived = await receiveCall(parts, request)
        if ('refused' in arrived) return uncountedAnswer(parts, request, 'events', arrived.refused)
        const answering = answerText(request, arrived)
        // no turn of the queue for those that are read here: what comes after them would overtake them
        const answered = answering && (await answering)
        if (answered) return answered
        const call = readArrived(parts, request, readEventInput, arrived)
        if ('refused' in call) {
          noteEventWithoutEmail(parts, call)
          return uncountedAnswer(parts, request, 'events', call.refused)
        }
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
}

function recordedAnswer(
  request: Request,
  { access, app, input, warnings }: Call<EventFields>,
  recorded: RecordedEvent,
  headers: Record<string, string>,
): Response {
  if (recorded.replayed) Object.assign(headers, REPLAYED)
  const all = [...warnings, ...warnOfLink(input, app), ...warnOfNames(recorded, access)]
  return answer(request, 202, withWarnings(recordedBody(recorded), all), headers)
}
