import { refusalBody, type Refusal, REFUSALS } from '../core/refusals.ts'
import { factsOf } from '../core/request-facts.ts'

/** Seconds after which a caller may try again when the store could not commit. */
const RETRY_UNAVAILABLE_S = 2

/** A JSON answer, with the headers that every answer has: made at once, because changing them later costs twice. */
export const answer = (
  request: Request,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': factsOf(request).requestId,
      ...headers,
    },
  })

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
