import type { TObject, TSchema } from '@sinclair/typebox'
import { ErrorAnswer } from '../http/answer-schemas.ts'
import { errorCode, type Refusal, type RefusalCode, REFUSALS, refuse } from '../core/refusals.ts'
import type { Example } from './examples.ts'
import { MAX_IDEMPOTENCY_KEY_CHARACTERS } from '../accounts/idempotency.ts'

type Refusals = (RefusalCode | Refusal)[]

type Described = {
  summary: string
  description?: string
  example: Example
  body?: TSchema
  query?: TObject
  /** instead of one made from the path */
  operationId?: string
  parameters?: PathParameter[]
  answers: Record<number, TSchema>
  /** In addition to those that every call has. A refusal with a message of its own replaces the general one. */
  refusals?: Refusals
  /** the body or query names one app; events of a batch name their own */
  namesApp?: boolean
  /** has an hourly limit */
  isLimited?: boolean
  /** supports Idempotency-Key, as all calls with a body do */
  takesKey?: boolean
}

type PathParameter = {
  name: string
  in: 'path'
  required: true
  description: string
  schema: { type: 'string' }
  example?: string
}

/** A call without an API key. */
type Unkeyed = Omit<Described, 'namesApp' | 'isLimited' | 'takesKey' | 'query'> & {
  operationId: string
  body: TSchema
  /** its security scheme; null: none */
  scheme: string | null
}

const EVERY_CALL: RefusalCode[] = ['invalid_field', 'invalid_api_key', 'rate_limited', 'internal_error', 'unavailable']
const WITH_BODY: RefusalCode[] = ['invalid_json', 'unsupported_media_type', 'too_large']
const WITH_KEY: RefusalCode[] = ['idempotency_in_progress', 'idempotency_mismatch']

const TITLES: Record<number, string> = { 200: 'Done.', 201: 'Added.', 202: 'Saved.', 207: 'One result for each item.' }

/** An OpenAPI 3.1 operation, for the `detail` of a route. */
export function describeCall(call: Described) {
  const { operationId, summary, description, example, body, query, refusals = [], namesApp = true } = call
  const { takesKey = body !== undefined } = call
  const all: Refusals = [
    ...EVERY_CALL,
    ...(body ? WITH_BODY : []),
    ...(takesKey ? WITH_KEY : []),
    ...(namesApp ? (['app_not_found'] as const) : []),
    ...refusals,
  ]
  return {
    ...(operationId ? { operationId } : {}),
    summary,
    ...(description ? { description } : {}),
    parameters: [
      ...(call.parameters ?? []),
      ...(query ? queryParameters(query, example) : []),
      ...(takesKey ? [IDEMPOTENCY_KEY] : []),
    ],
    ...(body ? { requestBody: { required: true, content: json(body, example.send) } } : {}),
    responses: { ...successes(call), ...failures(all, call) },
  }
}

const EVERY_UNKEYED: RefusalCode[] = ['invalid_json', 'invalid_field', 'too_large', 'internal_error', 'unavailable']

export function describeUnkeyed(call: Unkeyed) {
  const { operationId, summary, description, example, body, parameters = [], scheme, refusals = [] } = call
  return {
    operationId,
    summary,
    ...(description ? { description } : {}),
    security: scheme === null ? [] : [{ [scheme]: [] }],
    parameters,
    requestBody: { required: true, content: json(body, example.send) },
    responses: {
      ...successes({ ...call, takesKey: false }),
      ...failures([...EVERY_UNKEYED, ...refusals], { ...call, isBearer: false }),
    },
  }
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header' as const,
  required: false,
  description:
    'For 24 hours, or longer if set for the app, the same value with the same body and API key returns the first response and writes nothing.',
  schema: { type: 'string' as const, minLength: 1, maxLength: MAX_IDEMPOTENCY_KEY_CHARACTERS },
}

const headers = (meanings: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(meanings).map(([name, description]) => [name, { description, schema: { type: 'string' as const } }]),
  )

const REQUEST_ID = headers({ 'X-Request-Id': 'The ID of this request in the log.' })
const RATE_LIMIT = headers({
  'RateLimit-Limit':
    'The limit. If neither an hourly limit nor `contact_adds_per_ip` applies, all four headers are absent.',
  'RateLimit-Remaining': 'The number of calls left. Each event in a batch counts as a call.',
  'RateLimit-Reset': 'Seconds until the oldest call no longer counts.',
  'RateLimit-Policy': 'The limit and its window in seconds, such as 6000;w=3600.',
})
const REPLAYED = headers({ 'Idempotency-Replayed': '`true` if this is the response to an earlier request.' })
const RETRY_AFTER = headers({ 'Retry-After': 'Seconds to wait before sending this again.' })
const BEARER = headers({ 'WWW-Authenticate': '`Bearer`.' })

/** Read by MCP and core/inputs.ts; unknown to OpenAPI. */
const OWN_KEYWORDS = new Set(['brief', 'say', 'isKind', 'isByName', 'isPlain'])

type PlainSchema = Record<string, unknown>

const plainSchemas = new WeakMap<TSchema, PlainSchema>()

/** Without TypeBox's symbols and our own keywords. */
function plainSchema(schema: TSchema): PlainSchema {
  const known = plainSchemas.get(schema)
  if (known) return known
  const plain = JSON.parse(JSON.stringify(schema), (name, value: unknown) =>
    OWN_KEYWORDS.has(name) ? undefined : value,
  ) as PlainSchema
  plainSchemas.set(schema, plain)
  return plain
}

const json = (schema: TSchema, example: object) => ({ 'application/json': { schema: plainSchema(schema), example } })
const errorContent = { 'application/json': { schema: plainSchema(ErrorAnswer) } }

const queryParameters = (query: TObject, { send }: Example) =>
  Object.entries(query.properties).map(([name, schema]) => ({
    name,
    in: 'query' as const,
    required: query.required?.includes(name) ?? false,
    description: schema.description ?? '',
    schema: plainSchema(schema),
    ...(name in send ? { example: schema.type === 'integer' ? Number(send[name]) : send[name] } : {}),
  }))

const successes = ({ answers, example, isLimited = false, takesKey, body }: Described) =>
  Object.fromEntries(
    Object.entries(answers).map(([status, schema]) => [
      status,
      {
        description: TITLES[Number(status)] ?? 'Done.',
        headers: { ...REQUEST_ID, ...(isLimited ? RATE_LIMIT : {}), ...((takesKey ?? body) ? REPLAYED : {}) },
        content: json(schema, Number(status) === 200 && example.again ? example.again : example.answer),
      },
    ]),
  )

/** Statuses that send Retry-After. */
const RETRIED = new Set([409, 429, 503])

/** By status; each code with its sentence. */
function failures(
  refusals: Refusals,
  { isLimited = false, isBearer = true }: Pick<Described, 'isLimited'> & { isBearer?: boolean },
) {
  const all = refusals.map((one) => (typeof one === 'string' ? refuse(one) : one))
  const byCode = new Map(all.map((one) => [one.refusal, one.message ?? REFUSALS[one.refusal].message]))
  const byStatus = Map.groupBy(byCode, ([code]) => REFUSALS[code].status)
  return Object.fromEntries(
    Array.from(byStatus, ([status, found]) => [
      status,
      {
        description: found.map(([code, message]) => `\`${errorCode(code)}\`: ${message}`).join('\n\n'),
        headers: {
          ...REQUEST_ID,
          ...(status === 401 && isBearer ? BEARER : {}),
          ...(RETRIED.has(status) ? RETRY_AFTER : {}),
          // 401 and 500 have no limit headers
          ...(isLimited && status !== 401 && status !== 500 ? RATE_LIMIT : {}),
        },
        content: errorContent,
      },
    ]),
  )
}
