import { Elysia } from 'elysia'
import { BatchAnswer } from '../core/answer-schemas.ts'
import { readEventInput } from '../core/event-input.ts'
import { recordEvent, warnOfLink } from '../core/events.ts'
import { MAX_BATCH_EVENTS, MAX_BATCH_FIELD_DEPTH } from '../core/field-limits.ts'
import { isJsonObject } from '../core/json.ts'
import { rateLimitHeaders } from '../core/limits.ts'
import type { Parts } from '../core/parts.ts'
import { publicId } from '../core/public-ids.ts'
import { isRefusal, type Refusal, refuse, refuseFields } from '../core/refusals.ts'
import { BatchInput } from '../core/schemas.ts'
import { takeForKey, type TakenFor } from '../core/write-limits.ts'
import { answer, refusalAnswer, refusalBody, withWarnings } from './answers.ts'
import { BATCH_BYTES, readJson } from './body.ts'
import { authenticate, type Call, readItem } from './call.ts'
import { describeCall } from './describe.ts'
import { type Begun, type Once, REPLAYED, settleLimit } from './once.ts'

type Event = Call<Extract<ReturnType<typeof readEventInput>, { input: unknown }>['input']>
type Item = { call: Event } | { refused: Refusal }
type Result = { ok: boolean; isReplayed: boolean; body: object }

/** POST /events/batch: each item is judged, counted and answered by itself (api.md, Answers). */
export const batchRoutes = (parts: Parts, once: Once) =>
  new Elysia().post(
    '/events/batch',
    async ({ request }) => {
      const allowed = await authenticate(parts, request, 'write')
      if ('refused' in allowed) return refusalAnswer(request, allowed.refused)
      const body = await readJson(request, { maxBytes: BATCH_BYTES, maxDepth: MAX_BATCH_FIELD_DEPTH })
      if ('refused' in body) return refusalAnswer(request, body.refused)
      const { events } = body.object
      if (!Array.isArray(events) || events.length < 1 || events.length > MAX_BATCH_EVENTS) {
        return refusalAnswer(request, notABatch(events))
      }
      const begun = once.begin(request, { access: allowed.access, body: body.object })
      if ('refused' in begun) return refusalAnswer(request, begun.refused)
      try {
        const items = events.map((event: unknown) => readEvent(parts, allowed.access, event))
        const wanted = items.filter((item) => 'call' in item).length
        const counted = takeForKey(parts, 'events', allowed.access, wanted)
        const headers = rateLimitHeaders(counted.limit, counted.taken)
        if (wanted > 0 && counted.refused) return refusalAnswer(request, counted.refused, headers)
        return batchAnswer(await recordAll(parts, items, counted, begun), headers, counted)
      } finally {
        begun.release()
      }
    },
    {
      parse: 'none',
      detail: describeCall({
        summary: 'Record up to 100 events, each answered by itself',
        body: BatchInput,
        answers: { 207: BatchAnswer },
        refusals: ['contact_not_found', 'plan_limit_reached'],
        isLimited: true,
      }),
    },
  )

const notABatch = (events: unknown): Refusal =>
  refuseFields([
    {
      field: 'events',
      code: events === undefined ? 'missing' : 'invalid',
      message: `Send \`events\` as an array of 1 to ${MAX_BATCH_EVENTS} events.`,
    },
  ])

function readEvent(parts: Parts, access: Event['access'], event: unknown): Item {
  if (!isJsonObject(event)) return { refused: refuse('invalid_json', { message: 'Each event must be a JSON object.' }) }
  const item = readItem(access, readEventInput(event, parts.clock.now()), event)
  return 'refused' in item ? item : { call: item }
}

/** Records all at once, so that they share commits; what the limit does not let through is refused where it stands. */
function recordAll(parts: Parts, items: Item[], counted: TakenFor, begun: Begun): Promise<Result[]> {
  let left = counted.taken.allowed
  return Promise.all(
    items.map((item, index) => {
      if ('refused' in item) return refused(index, item.refused)
      if (left === 0) return refused(index, tooMany(counted))
      left -= 1
      return recordOne(parts, item.call, index, counted, begun)
    }),
  )
}

async function recordOne(parts: Parts, call: Event, index: number, counted: TakenFor, begun: Begun): Promise<Result> {
  const { access, app, input } = call
  // a tab stands in no key that a caller can send
  const idempotency = begun.idempotency && { ...begun.idempotency, key: `${begun.idempotency.key}\t${index}` }
  const context = { access, app, via: 'api', buckets: counted.buckets, idempotency } as const
  const outcome = await recordEvent(parts, context, input)
  settleLimit(parts, { ...counted, taken: { ...counted.taken, allowed: 1 } }, outcome)
  if (isRefusal(outcome)) return refused(index, outcome)
  const body = { index, ok: true, contactId: publicId('con', outcome.contactId), created: outcome.created }
  const warnings = [...call.warnings, ...warnOfLink(input, app)]
  return { ok: true, isReplayed: outcome.replayed === true, body: withWarnings(body, warnings) }
}

const refused = (index: number, refusal: Refusal): Result => ({
  ok: false,
  isReplayed: false,
  body: { index, ...refusalBody(refusal) },
})

const tooMany = ({ limit, taken }: TakenFor): Refusal =>
  refuse('rate_limited', { limited: { scope: 'key', limit: limit.max, retryAfter: taken.retryAfterSeconds } })

function batchAnswer(results: Result[], headers: Record<string, string>, { taken }: TakenFor): Response {
  const accepted = results.filter((result) => result.ok).length
  const isReplayed = accepted > 0 && results.every((result) => result.isReplayed || !result.ok)
  const body = { ok: accepted === results.length, accepted, results: results.map((result) => result.body) }
  return answer(207, body, {
    ...headers,
    ...(taken.retryAfterSeconds > 0 ? { 'Retry-After': String(taken.retryAfterSeconds) } : {}),
    ...(isReplayed ? REPLAYED : {}),
  })
}
