import { Elysia } from 'elysia'
import { noteEventWithoutEmail } from '../core/activation.ts'
import { EventAnswer, EventPage } from '../core/answer-schemas.ts'
import { readEventInput } from '../core/event-input.ts'
import { listEvents, recordEvent, warnOfLink } from '../core/events.ts'
import { rateLimitHeaders } from '../core/limits.ts'
import type { Parts } from '../core/parts.ts'
import { publicId } from '../core/public-ids.ts'
import { readEventsQuery, writeEventCursor } from '../core/queries.ts'
import { isRefusal } from '../core/refusals.ts'
import { EventInput, EventQuery } from '../core/schemas.ts'
import { takeForKey } from '../core/write-limits.ts'
import { answer, refusalAnswer, withWarnings } from './answers.ts'
import { readCall } from './call.ts'
import { describeCall } from './describe.ts'
import { EXAMPLES } from './examples.ts'
import { settleLimit, uncountedAnswer } from './limited.ts'
import { type Once, REPLAYED } from './once.ts'
import { readPage } from './page.ts'
import { eventView } from './views.ts'

/** POST and GET /events (spec 4.1). */
export const eventRoutes = (parts: Parts, once: Once) =>
  new Elysia()
    .post(
      '/events',
      async ({ request }) => {
        const call = await readCall(parts, request, readEventInput)
        if ('refused' in call) {
          noteEventWithoutEmail(parts, call)
          return uncountedAnswer(parts, request, 'events', call.refused)
        }
        const begun = once.begin(request, call)
        if ('refused' in begun) return uncountedAnswer(parts, request, 'events', begun.refused)
        try {
          const { access, app, input } = call
          const counted = takeForKey(parts, 'events', access)
          if (counted.refused) {
            return refusalAnswer(request, counted.refused, rateLimitHeaders(counted.limit, counted.taken))
          }
          const context = { access, app, via: 'api', buckets: counted.buckets, idempotency: begun.idempotency } as const
          const outcome = await recordEvent(parts, context, input)
          const headers = settleLimit(parts, counted, outcome)
          if (isRefusal(outcome)) return refusalAnswer(request, outcome, headers)
          const body = { ok: true, contactId: publicId('con', outcome.contactId), created: outcome.created }
          if (outcome.replayed) Object.assign(headers, REPLAYED)
          call.warnings.push(...warnOfLink(input, app))
          return answer(request, 202, withWarnings(body, call.warnings), headers)
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
        const query = { email: input.email, name: input.event, before: input.before, limit: input.limit + 1 }
        const rows = await listEvents(parts, app, query)
        if (!rows) return refusalAnswer(request, { refusal: 'contact_not_found', message: UNKNOWN_PERSON })
        const data = rows.slice(0, input.limit)
        const last = data.at(-1)
        const nextCursor = rows.length > input.limit && last ? writeEventCursor(last.id) : null
        return answer(request, 200, { ok: true, data: data.map(eventView), nextCursor })
      },
      {
        detail: describeCall({
          summary: 'List stored events, page views and actions, newest first',
          example: EXAMPLES.getEvents,
          query: EventQuery,
          answers: { 200: EventPage },
          refusals: ['contact_not_found', 'insufficient_scope'],
        }),
      },
    )

export const UNKNOWN_PERSON = 'Nobody with this email is known to the app. Check the email, or add the person first.'
