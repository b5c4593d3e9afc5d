import { Elysia } from 'elysia'
import { EventAnswer, EventPage } from '../http/answer-schemas.ts'
import { UNKNOWN_PERSON } from '../people/contacts.ts'
import { EventInput } from '../events/event-input.ts'
import { type EventResult, eventView, listEvents, warnOfNames } from '../events/events.ts'
import { type IdempotencyGuard, REPLAYED } from '../http/idempotency.ts'
import type { ApiDependencies } from './dependencies.ts'
import type { Access } from '../accounts/access.ts'
import { EventQuery, readEventsQuery, writeIdCursor } from '../http/queries.ts'
import { publicId } from '../core/ids.ts'
import { withWarnings } from '../core/refusals.ts'
import { answer, refusalAnswer } from '../http/answers.ts'
import { receiveBody } from '../http/request-input.ts'
import { describeCall } from './describe.ts'
import { EXAMPLES } from './examples.ts'
import { limitHeaders, uncountedAnswer } from '../http/limited.ts'
import { factsOf } from '../http/request-facts.ts'
import { readPage } from './page.ts'

/** POST and GET /events. */
export function eventRoutes(deps: ApiDependencies, idempotency: IdempotencyGuard) {
  return new Elysia()
    .post(
      '/events',
      async ({ request }) => {
        const received = await receiveBody(deps, request)
        if ('refused' in received) return uncountedAnswer(deps, request, 'events', received.refused)
        const { access, text } = received
        const { release, ...begun } = idempotency.beginUnread(request, access)
        try {
          const result = await deps.recordEvent({ access, text, via: 'api', ...begun })
          factsOf(request).app = result.app
          if ('recorded' in result) return recordedAnswer(request, access, result)
          return refusalAnswer(request, result.refused, limitHeaders(result.counted))
        } finally {
          release()
        }
      },
      {
        parse: 'none',
        detail: describeCall({
          summary: 'Record an event',
          description: 'Returns 202 once the event is on disk.',
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
        const query = await readPage(deps, request, readEventsQuery)
        if ('refused' in query) return refusalAnswer(request, query.refused)
        const { app, input } = query
        const { email, event: name, before, limit } = input
        const page = await listEvents(deps, app, { email, name, before, limit })
        if (!page) return refusalAnswer(request, UNKNOWN_PERSON)
        const nextCursor = page.next === null ? null : writeIdCursor(page.next)
        return answer(request, 200, { ok: true, data: page.rows.map(eventView), nextCursor })
      },
      {
        detail: describeCall({
          summary: 'List events',
          description:
            'Lists stored events, page views and actions, newest first. `type` is `event` for events from your server, `page` for page views, and `action` for `track` calls in the browser script.',
          example: EXAMPLES.getEvents,
          query: EventQuery,
          answers: { 200: EventPage },
          refusals: [UNKNOWN_PERSON, 'insufficient_scope'],
        }),
      },
    )
}

function recordedAnswer(
  request: Request,
  access: Access,
  { recorded, warnings, counted }: Extract<EventResult, { recorded: object }>,
): Response {
  const { contactId, created, replayed } = recorded
  const headers = { ...limitHeaders(counted), ...(replayed ? REPLAYED : {}) }
  const body = { ok: true, contactId: publicId('con', contactId), created }
  return answer(request, 202, withWarnings(body, [...warnings, ...warnOfNames(recorded, access)]), headers)
}
