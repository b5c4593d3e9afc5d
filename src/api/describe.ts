import type { TObject, TSchema } from '@sinclair/typebox'
import { ErrorAnswer } from '../core/answer-schemas.ts'
import { errorCode, type RefusalCode, REFUSALS } from '../core/refusals.ts'

type Described = {
  summary: string
  body?: TSchema
  query?: TObject
  answers: Record<number, TSchema>
  /** beyond those that every call can meet */
  refusals?: RefusalCode[]
  /** counted by an hourly limit */
  isLimited?: boolean
}

const EVERY_CALL: RefusalCode[] = ['invalid_field', 'invalid_api_key', 'app_not_found', 'rate_limited']
const WITH_BODY: RefusalCode[] = [
  'invalid_json',
  'unsupported_media_type',
  'too_large',
  'idempotency_in_progress',
  'idempotency_mismatch',
  'unavailable',
]

const TITLES: Record<number, string> = { 200: 'Done.', 201: 'Added.', 202: 'Saved.', 207: 'One result for each item.' }

/** One call as an OpenAPI 3.1 operation, for the `detail` of its route (api.md, Answers). */
export function describeCall({ summary, body, query, answers, refusals = [], isLimited = false }: Described) {
  const codes = [...EVERY_CALL, ...(body ? WITH_BODY : []), ...refusals]
  return {
    summary,
    security: [{ apiKey: [] }],
    parameters: [...(query ? queryParameters(query) : []), ...(body ? [IDEMPOTENCY_KEY] : [])],
    ...(body ? { requestBody: { required: true, content: json(body) } } : {}),
    responses: { ...successes(answers, isLimited), ...failures(codes) },
  }
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header' as const,
  required: false,
  description: 'The same key and body within 24 hours answer as the first time and write nothing.',
  schema: { type: 'string' as const, minLength: 1, maxLength: 255 },
}

const RATE_LIMIT_HEADERS = Object.fromEntries(
  [
    ['RateLimit-Limit', 'How many the window lets through.'],
    ['RateLimit-Remaining', 'How many are left.'],
    ['RateLimit-Reset', 'Seconds until the oldest token returns.'],
    ['RateLimit-Policy', 'Limit and window in seconds, such as 6000;w=3600.'],
  ].map(([name, description]) => [name, { description, schema: { type: 'string' as const } }]),
)

/** TypeBox's symbols mean nothing in JSON. */
const plain = (schema: TSchema) => JSON.parse(JSON.stringify(schema)) as Record<string, unknown>
const json = (schema: TSchema) => ({ 'application/json': { schema: plain(schema) } })

const queryParameters = (query: TObject) =>
  Object.entries(query.properties).map(([name, schema]) => ({
    name,
    in: 'query' as const,
    required: query.required?.includes(name) ?? false,
    description: schema.description ?? '',
    schema: plain(schema),
  }))

const successes = (answers: Record<number, TSchema>, isLimited: boolean) =>
  Object.fromEntries(
    Object.entries(answers).map(([status, schema]) => [
      status,
      {
        description: TITLES[Number(status)] ?? 'Done.',
        content: json(schema),
        ...(isLimited ? { headers: RATE_LIMIT_HEADERS } : {}),
      },
    ]),
  )

function failures(codes: RefusalCode[]) {
  const byStatus = Map.groupBy(codes, (code) => REFUSALS[code].status)
  return Object.fromEntries(
    Array.from(byStatus, ([status, all]) => [
      status,
      { description: all.map((code) => `\`${errorCode(code)}\`: ${REFUSALS[code].message}`).join('\n\n'), content: json(ErrorAnswer) },
    ]),
  )
}
