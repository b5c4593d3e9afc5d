import { refusalBody, type Refusal, REFUSALS } from '../core/refusals.ts'
import { factsOf } from '../core/request-facts.ts'

/** Seconds after which a caller may try again when the store could not commit. */
const RETRY_UNAVAILABLE_S = 2

/** What every answer has. A Response copies them as they are, which costs a third of naming them each time. */
const COMMON = new Headers({
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
})

/** A JSON answer. */
export function answer(request: Request, status: number, body: object, headers: Record<string, string> = {}): Response {
  // nothing may be awaited before they are copied: the next answer has another id
  COMMON.set('X-Request-Id', factsOf(request).requestId)
  const response = new Response(JSON.stringify(body), { status, headers: COMMON })
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

/** The answer to a refusal, in the one shape that every error has. */
export function refusalAnswer(request: Request, refusal: Refusal, headers: Record<string, string> = {}): Response {
  const { status } = REFUSALS[refusal.refusal]
  const facts = factsOf(request)
  facts.refusal = refusal
  const body = { ...refusalBody(refusal), requestId: facts.requestId }
  return answer(request, status, body, { ...refusalHeaders(refusal), ...headers })
}

function refusalHeaders({ refusal, limited }: Refusal): Record<string, string> {
  if (refusal === 'invalid_api_key') return { 'WWW-Authenticate': 'Bearer' }
  if (limited) return { 'Retry-After': String(limited.retryAfter) }
  if (REFUSALS[refusal].status === 503) return { 'Retry-After': String(RETRY_UNAVAILABLE_S) }
  return {}
}
