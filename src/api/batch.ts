import { Elysia } from 'elysia'
import { noteEventWithoutEmail, noteRefusedCall } from '../events/activation.ts'
import { BatchAnswer } from '../http/answer-schemas.ts'
import { BatchInput, readEventInput } from '../events/event-input.ts'
import { recordEvent, type RecordedEvent, warnOfLink, warnOfNames } from '../events/events.ts'
import { warnOfUnknown } from '../core/inputs.ts'
import { MAX_BATCH_EVENTS } from '../core/field-limits.ts'
import { type Begun, findRequestKeyFault, type IdempotencyGuard, REPLAYED, replayOf } from '../http/idempotency.ts'
import { isJsonObject, joinWarnings, warnOfRepeated } from '../core/json.ts'
import { rateLimitHeaders } from '../accounts/limits.ts'
import type { ApiDependencies } from './dependencies.ts'
import { publicId } from '../core/ids.ts'
import {
  isRefusal,
  type Refusal,
  type RefusalCode,
  refuse,
  refuseFields,
  refusalBody,
  withWarnings,
} from '../core/refusals.ts'
import { refuseWrite, type TakenFor } from '../accounts/write-limits.ts'
import { answer, refusalAnswer } from '../http/answers.ts'
import { BATCH_BYTES, readJsonList } from '../http/request-input.ts'
import { authenticate, readItem, type Refused, type RequestInput } from '../http/request-input.ts'
import { describeCall } from './describe.ts'
import { EXAMPLES } from './examples.ts'
import { remainingHeaders, settleLimit, uncountedAnswer } from '../http/limited.ts'

type Event = RequestInput<Extract<ReturnType<typeof readEventInput>, { input: unknown }>['input']>
type Batch = Pick<Event, 'access' | 'body' | 'warnings'> & { items: Item[] }
type Item = { event: Event } | Refused
type Result = { body: object } & ({ ok: true; isReplayed: boolean } | { ok: false; refusal: Refusal })

/** POST /events/batch: each item is validated, counted and answered separately. */
export const batchRoutes = (deps: ApiDependencies, idempotency: IdempotencyGuard) =>
  new Elysia().post(
    '/events/batch',
    async ({ request }) => {
      const batch = await readBatch(deps, request)
      if ('refused' in batch) return uncountedAnswer(deps, request, 'events', batch.refused)
      const begun = await idempotency.begin(request, batch)
      if ('refused' in begun) return uncountedAnswer(deps, request, 'events', begun.refused)
      try {
        return await recordBatch(deps, request, batch, begun)
      } finally {
        begun.release()
      }
    },
    {
      parse: 'none',
      detail: describeCall({
        summary: 'Record up to 100 events, each with its own result',
        example: EXAMPLES.postBatch,
        body: BatchInput,
        answers: { 207: BatchAnswer },
        description:
          'An event that is refused has `ok: false` and its own `error` in `results`: `invalid_json`, `invalid_field`, `app_not_found`, `contact_not_found`, `plan_limit_reached` or `rate_limited`. The others are saved.',
        namesApp: false,
        isLimited: true,
      }),
    },
  )

/** 401, 415 or 413, 400. Problems of one event are in its result. */
async function readBatch(deps: ApiDependencies, request: Request): Promise<Batch | Refused> {
  const allowed = await authenticate(deps, request, 'write')
  if ('refused' in allowed) return allowed
  const body = await readJsonList(request, 'events', BATCH_BYTES)
  if ('refused' in body) return body
  const fault = findRequestKeyFault(request)
  if (fault) return { refused: fault }
  const { events } = body.object
  if (!Array.isArray(events) || events.length < 1 || events.length > MAX_BATCH_EVENTS) {
    return { refused: notABatch(events) }
  }
  const { repeated } = body
  const items = events.map((event: unknown, index) => {
    const fault = body.faults[index]
    if (fault) return { refused: fault }
    const item = readEvent(deps, allowed.access, event)
    if ('event' in item)
      item.event.warnings = joinWarnings(warnOfRepeated(repeated, ['events', index]), item.event.warnings)
    return item
  })
  // repeated keys inside an event are warnings of that event
  const ofRepeated = warnOfRepeated(repeated.filter(([field, ...below]) => field !== 'events' || below.length === 0))
  const warnings = joinWarnings(ofRepeated, warnOfUnknown(body.object, KNOWN))
  return { access: allowed.access, body: body.object, items, warnings }
}

const KNOWN = new Set(['events'])

const notABatch = (events: unknown): Refusal =>
  refuseFields([
    {
      field: 'events',
      code: events === undefined ? 'missing' : 'invalid',
      message: `Send \`events\` as an array of 1 to ${MAX_BATCH_EVENTS} events.`,
    },
  ])

function readEvent(deps: ApiDependencies, access: Event['access'], event: unknown): Item {
  if (!isJsonObject(event)) return { refused: refuse('invalid_json', { message: 'Each event must be a JSON object.' }) }
  const item = readItem(access, readEventInput(event, deps.clock.now()), event)
  if ('refused' in item) noteEventWithoutEmail(deps, item)
  return 'refused' in item ? item : { event: item }
}

async function recordBatch(deps: ApiDependencies, request: Request, batch: Batch, begun: Begun): Promise<Response> {
  const { access, items } = batch
  const wanted = items.filter((item, index) => 'event' in item && !begun.earlier.has(index)).length
  const counted = await deps.eventLimit.take(access, wanted)
  const { limit, taken } = counted
  if (begun.earlier.size === 0) {
    if (wanted > 0 && counted.refused) return refusalAnswer(request, counted.refused, rateLimitHeaders(limit, taken))
    // otherwise nothing would count it: no hourly limit, and a 207 is no refusal
    if (wanted === 0) deps.abuseLimits.countRefusal(access.key.id)
  }
  const results = await recordAll(deps, items, counted, begun)
  noteRefusedItem(deps, batch, results)
  const headers = remainingHeaders(deps, 'events', access)
  const refusedWhole = findWholeRefusal(results)
  if (refusedWhole) return refusalAnswer(request, refuse(refusedWhole), headers)
  if (taken.retryAfterSeconds > 0) headers['Retry-After'] = String(taken.retryAfterSeconds)
  return batchAnswer(request, batch, results, headers)
}

/** Records all concurrently, so that they share commits. Events over the limit are refused. */
function recordAll(deps: ApiDependencies, items: Item[], counted: TakenFor, begun: Begun): Promise<Result[]> {
  let left = counted.taken.allowed
  return Promise.all(
    items.map((item, index) => {
      if ('refused' in item) return refused(index, item.refused)
      const replay = replayOf<RecordedEvent>(begun.earlier, index)
      if (replay) return recorded(index, item.event, replay)
      if (left === 0)
        return refused(index, refuseWrite(deps, 'events', item.event.access, counted.limit, counted.taken))
      left -= 1
      return recordOne(deps, item.event, index, counted, begun)
    }),
  )
}

async function recordOne(
  deps: ApiDependencies,
  event: Event,
  index: number,
  counted: TakenFor,
  begun: Begun,
): Promise<Result> {
  const { access, app, input } = event
  const idempotency = begun.idempotency && { ...begun.idempotency, part: index }
  const context = { access, app, via: 'api', buckets: counted.buckets, idempotency } as const
  const outcome = await recordEvent(deps, context, input)
  settleLimit(deps, { ...counted, taken: { ...counted.taken, allowed: 1 } }, outcome)
  return isRefusal(outcome) ? refused(index, outcome) : recorded(index, event, outcome)
}

function recorded(index: number, { access, app, input, warnings }: Event, outcome: RecordedEvent): Result {
  const { contactId, created, replayed } = outcome
  const body = { index, ok: true, contactId: publicId('con', contactId), created }
  const all = [...warnings, ...warnOfLink(input, app), ...warnOfNames(outcome, access)]
  return { ok: true, isReplayed: replayed === true, body: withWarnings(body, all) }
}

const refused = (index: number, refusal: Refusal): Result => ({
  ok: false,
  refusal,
  body: { index, ...refusalBody(refusal) },
})

/** Activation shows the last refusal. */
function noteRefusedItem(deps: ApiDependencies, { access, items }: Batch, results: Result[]): void {
  const at = results.findLastIndex((result) => !result.ok)
  const [item, result] = [items[at], results[at]]
  if (!item || !result || result.ok) return
  const app = 'event' in item ? item.event.app : undefined
  noteRefusedCall(deps, { access, app, refusal: result.refusal })
}

/** Refusals of the whole request, the most uncertain first. */
const WHOLE = ['commit_unconfirmed', 'unavailable', 'idempotency_mismatch'] as const

/** If nothing was accepted, the refusal is the answer, as for a single event. */
const findWholeRefusal = (results: Result[]): RefusalCode | undefined =>
  results.some((result) => result.ok)
    ? undefined
    : WHOLE.find((code) => results.some((result) => !result.ok && result.refusal.refusal === code))

function batchAnswer(
  request: Request,
  { warnings }: Batch,
  results: Result[],
  headers: Record<string, string>,
): Response {
  const accepted = results.filter((result) => result.ok)
  const isReplayed = accepted.length > 0 && accepted.every((result) => result.isReplayed)
  const body = {
    ok: accepted.length === results.length,
    accepted: accepted.length,
    results: results.map((result) => result.body),
  }
  return answer(request, 207, withWarnings(body, warnings), { ...headers, ...(isReplayed ? REPLAYED : {}) })
}
