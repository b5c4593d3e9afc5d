import { Elysia } from 'elysia'
import { EventAnswer, EventPage } from '../http/answer-schemas.ts'
import { UNKNOWN_PERSON } from '../people/contacts.ts'
import { EventInput } from '../events/event-input.ts'
import { eventView, listEvents, type TextOutcome, warnOfNames } from '../events/events.ts'
import { type IdempotencyGuard, REPLAYED } from '../http/idempotency.ts'
import type { ApiDependencies } from './dependencies.ts'
import type { Access } from '../accounts/access.ts'
import { EventQuery, readEventsQuery, writeIdCursor } from '../http/queries.ts'
import { publicId } from '../core/ids.ts'
import { refuse, withWarnings } from '../core/refusals.ts'
import { peekForKey, type TakenFor } from '../accounts/write-limits.ts'
import { answer, refusalAnswer } from '../http/answers.ts'
import { type Received, receiveBody } from '../http/request-input.ts'
import { describeCall } from './describe.ts'
import { EXAMPLES } from './examples.ts'
import { limitHeaders, uncountedAnswer } from '../http/limited.ts'
import { factsOf } from '../http/request-facts.ts'
import { readPage } from './page.ts'

/** All requests together, in bytes as sent: 1,000 events of 4 KB or 64 bodies of the maximum size. */
export const MOST_UNREAD_BYTES = 4 * 1024 * 1024

/** POST and GET /events. */
export function eventRoutes(deps: ApiDependencies, idempotency: IdempotencyGuard) {
  const record = createRecorder(deps, idempotency)
  return new Elysia()
    .post(
      '/events',
      async ({ request }) => {
        const received = await receiveBody(deps, request)
        if ('refused' in received) return uncountedAnswer(deps, request, 'events', received.refused)
        const { access } = received
        const { outcome, counted } = await record(request, received)
        if ('contactId' in outcome) return recordedAnswer(request, access, outcome, limitHeaders(counted))
        const app = access.apps.find(({ id }) => id === outcome.appId)
        factsOf(request).app = app
        if ('refusal' in outcome) return refusalAnswer(request, outcome, limitHeaders(counted))
        if (app && outcome.lacksEmail) deps.notes.add(app.id, 'without_email')
        return counted.refused && outcome.refused.refusal === 'rate_limited'
          ? refusalAnswer(request, counted.refused, limitHeaders(counted))
          : uncountedAnswer(deps, request, 'events', outcome.refused)
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

type Recorded = { outcome: TextOutcome; counted: TakenFor }

/** Passes unparsed events to the writer thread, which validates them. Only valid ones count. */
function createRecorder(deps: ApiDependencies, guard: IdempotencyGuard) {
  let unreadBytes = 0

  return async (request: Request, { access, text, bytes }: Received): Promise<Recorded> => {
    if (unreadBytes + bytes > MOST_UNREAD_BYTES)
      return { outcome: { refused: refuse('unavailable') }, counted: peekForKey(deps, 'events', access) }
    unreadBytes += bytes
    const { idempotency, isInProgress, release } = guard.beginUnread(request, access)
    let counted: TakenFor | null = null
    let outcome: TextOutcome = { refusal: 'internal_error' }
    try {
      const counting = isInProgress ? null : deps.eventLimit.takeUnread(access)
      // avoids a microtask if nothing must wait
      counted = counting instanceof Promise ? await counting : counting
      const refusal = isInProgress ? 'idempotency_in_progress' : counted?.refused ? 'rate_limited' : undefined
      outcome = await deps.store.recordEventText({
        text,
        sender: access.sender,
        at: deps.clock.now(),
        idempotency,
        refusal,
      })
    } finally {
      unreadBytes -= bytes
      release()
      if (counted) counted = deps.eventLimit.settleUnread(access, counted, outcome)
    }
    return { outcome, counted: counted ?? peekForKey(deps, 'events', access) }
  }
}

function recordedAnswer(
  request: Request,
  access: Access,
  { contactId, created, replayed, warnings = [], keptNames }: Extract<TextOutcome, { contactId: number }>,
  headers: Record<string, string>,
): Response {
  if (replayed) Object.assign(headers, REPLAYED)
  const body = { ok: true, contactId: publicId('con', contactId), created }
  return answer(request, 202, withWarnings(body, [...warnings, ...warnOfNames({ keptNames }, access)]), headers)
}
