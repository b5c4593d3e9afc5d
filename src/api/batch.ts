import { Elysia } from 'elysia'
import type { Access } from '../accounts/access.ts'
import { noteRefusedCall } from '../events/activation.ts'
import { BatchAnswer } from '../http/answer-schemas.ts'
import { BatchInput } from '../events/event-input.ts'
import { type EventResult, warnOfNames } from '../events/events.ts'
import { warnOfUnknown } from '../core/inputs.ts'
import { MAX_BATCH_EVENTS } from '../core/field-limits.ts'
import { findRequestKeyFault, type IdempotencyGuard, REPLAYED } from '../http/idempotency.ts'
import { joinWarnings, warnOfRepeated } from '../core/json.ts'
import type { ApiDependencies } from './dependencies.ts'
import { publicId } from '../core/ids.ts'
import {
  type Refusal,
  type RefusalCode,
  refuse,
  refuseFields,
  refusalBody,
  type Warning,
  withWarnings,
} from '../core/refusals.ts'
import { answer, refusalAnswer } from '../http/answers.ts'
import { factsOf } from '../http/request-facts.ts'
import { authenticate, BATCH_BYTES, readJsonList } from '../http/request-input.ts'
import type { Idempotency } from '../store/types.ts'
import { describeCall } from './describe.ts'
import { EXAMPLES } from './examples.ts'
import { limitHeaders, remainingHeaders, uncountedAnswer } from '../http/limited.ts'

type Batch = { access: Access; body: Record<string, unknown>; items: string[]; warnings: Warning[] }
type Recorded = Extract<EventResult, { recorded: object }>
type Refused = Exclude<EventResult, Recorded>

/** POST /events/batch: each event is read, counted and answered separately. */
export const batchRoutes = (deps: ApiDependencies, idempotency: IdempotencyGuard) =>
  new Elysia().post(
    '/events/batch',
    async ({ request }) => {
      const batch = await readBatch(deps, request)
      if ('refused' in batch) return uncountedAnswer(deps, request, 'events', batch.refused)
      const begun = await idempotency.begin(request, batch)
      if ('refused' in begun) return uncountedAnswer(deps, request, 'events', begun.refused)
      try {
        return await recordAll(deps, request, batch, begun.idempotency)
      } finally {
        begun.release()
      }
    },
    {
      parse: 'none',
      detail: describeCall({
        summary: 'Record a batch of events',
        example: EXAMPLES.postBatch,
        body: BatchInput,
        answers: { 207: BatchAnswer },
        description:
          'Records up to 100 events, each with its own result. A refused event has `ok: false` and an `error` in `results`: `invalid_json`, `invalid_field`, `app_not_found`, `contact_not_found`, `plan_limit_reached`, `rate_limited` or `unavailable`. All other events are saved.',
        namesApp: false,
        isLimited: true,
      }),
    },
  )

/** 401, 415 or 413, 400. Events are not read yet. */
async function readBatch(deps: ApiDependencies, request: Request): Promise<Batch | { refused: Refusal }> {
  const allowed = await authenticate(deps, request, 'write')
  if ('refused' in allowed) return allowed
  const body = await readJsonList(request, 'events', BATCH_BYTES)
  if ('refused' in body) return body
  const fault = findRequestKeyFault(request)
  if (fault) return { refused: fault }
  const { object, items, repeated } = body
  if (!items || items.length < 1 || items.length > MAX_BATCH_EVENTS) return { refused: notABatch(object.events) }
  const ofRepeated = warnOfRepeated(repeated.filter(([field, ...below]) => field !== 'events' || below.length === 0))
  const warnings = joinWarnings(ofRepeated, warnOfUnknown(object, KNOWN))
  return { access: allowed.access, body: object, items, warnings }
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

/** Records all concurrently, so that they share commits. Each takes from the limit by itself. */
async function recordAll(
  deps: ApiDependencies,
  request: Request,
  batch: Batch,
  idempotency: Idempotency | null,
): Promise<Response> {
  const { access, items } = batch
  const results = await Promise.all(
    items.map((text, part) =>
      deps.recordEvent({ access, text, via: 'api', idempotency: idempotency ? { ...idempotency, part } : undefined }),
    ),
  )
  const limited = results.find(isLimited)
  if (results.every((result) => isLimited(result) || isInvalid(result))) {
    if (limited) return refusalAnswer(request, limited.refused, limitHeaders(limited.counted))
    // otherwise nothing would count it: no hourly limit, and a 207 is no refusal
    deps.abuseLimits.countRefusal(access.key.id)
  }
  noteRefusedItems(deps, request, access, results)
  const headers = remainingHeaders(deps, 'events', access)
  const refusedWhole = findWholeRefusal(results)
  if (refusedWhole) return refusalAnswer(request, refuse(refusedWhole), headers)
  if (limited) headers['Retry-After'] = String(limited.counted.taken.retryAfterSeconds)
  return batchAnswer(request, batch, results, headers)
}

const isRecorded = (result: EventResult): result is Recorded => 'recorded' in result
const isInvalid = (result: EventResult): boolean => !isRecorded(result) && result.isInvalid
const isLimited = (result: EventResult): result is Refused =>
  !isRecorded(result) && result.refused.refusal === 'rate_limited'

/** The setup status shows the last refusal, the request log each kind. */
function noteRefusedItems(deps: ApiDependencies, request: Request, access: Access, results: EventResult[]): void {
  const refused = results.flatMap((one) => (isRecorded(one) ? [] : [{ app: one.app, refusal: refusalOf(one) }]))
  const last = refused.at(-1)
  if (!last) return
  noteRefusedCall(deps, { access, ...last })
  const kindOf = ({ app, refusal }: typeof last): string => `${app?.id} ${refusal.refusal} ${refusal.field}`
  factsOf(request).refusedItems = [...new Map(refused.map((one) => [kindOf(one), one])).values()]
}

/** The item is JSON, because the batch is. */
const refusalOf = ({ refused }: Refused): Refusal => (refused.refusal === 'invalid_json' ? NO_OBJECT : refused)

const NO_OBJECT = refuse('invalid_json', { message: 'Each event must be a JSON object.' })

/** Refusals that apply to the whole request; the first one found in this order is the answer. */
const WHOLE = ['commit_unconfirmed', 'unavailable', 'idempotency_mismatch'] as const

/** If nothing was accepted, the refusal is the answer, as for a single event. */
const findWholeRefusal = (results: EventResult[]): RefusalCode | undefined =>
  results.some(isRecorded)
    ? undefined
    : WHOLE.find((code) => results.some((result) => !isRecorded(result) && result.refused.refusal === code))

function batchAnswer(
  request: Request,
  { access, warnings }: Batch,
  results: EventResult[],
  headers: Record<string, string>,
): Response {
  const accepted = results.filter(isRecorded)
  const isReplayed = accepted.length > 0 && accepted.every(({ recorded }) => recorded.replayed)
  const body = {
    ok: accepted.length === results.length,
    accepted: accepted.length,
    results: results.map((result, index) => ({ index, ...itemBody(result, access) })),
  }
  return answer(request, 207, withWarnings(body, warnings), { ...headers, ...(isReplayed ? REPLAYED : {}) })
}

function itemBody(result: EventResult, access: Access): object {
  if (!isRecorded(result)) return refusalBody(refusalOf(result))
  const { recorded, warnings } = result
  const body = { ok: true, contactId: publicId('con', recorded.contactId), created: recorded.created }
  return withWarnings(body, [...warnings, ...warnOfNames(recorded, access)])
}
