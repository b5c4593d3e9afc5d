import { getDomain } from 'tldts'
import { refusalBody, type Refusal, REFUSALS } from '../core/refusals.ts'
import { factsOf } from './request-facts.ts'

/** Seconds after which a caller may try again when the store could not commit. */
const RETRY_UNAVAILABLE_S = 2
/** The same while an earlier request with its Idempotency-Key is running: most take milliseconds. */
const RETRY_RUNNING_S = 1

type Answer = (request: Request, status: number, body: object, headers?: Record<string, string>) => Response

/** Of answers that are no pages: whatever a browser makes of one, it loads and runs nothing, and shows it in no frame. */
export const NOTHING_ALLOWED = "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"

/** What every answer has. */
export const COMMON: Record<string, string> = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': NOTHING_ALLOWED,
}

/** For answers that have `more` in common. A Response copies it all as it is, at half the price of naming it. */
export function createAnswer(more: Record<string, string> = {}): Answer {
  const common = new Headers({ ...COMMON, ...more })
  return (request, status, body, headers = {}) => {
    // nothing may be awaited before they are copied: the next answer has another id
    common.set('X-Request-Id', factsOf(request).requestId)
    const response = new Response(JSON.stringify(body), { status, headers: common })
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
    return response
  }
}

/** A JSON answer. */
export const answer = createAnswer()

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
  if (refusal === 'idempotency_in_progress') return { 'Retry-After': String(RETRY_RUNNING_S) }
  if (REFUSALS[refusal].status === 503) return { 'Retry-After': String(RETRY_UNAVAILABLE_S) }
  return {}
}

const YEAR_S = 31_536_000

/**
 * Adds Strict-Transport-Security where the service is reached over https. Subdomains are included unless the host is a
 * registrable domain, such as example.com: other sites below it may need plain http.
 */
export function createSecure(baseUrl: string): (response: Response) => Response {
  const { protocol, hostname } = new URL(baseUrl)
  const value = getDomain(hostname) === hostname ? `max-age=${YEAR_S}` : `max-age=${YEAR_S}; includeSubDomains`
  return (response) => {
    if (protocol === 'https:') response.headers.set('Strict-Transport-Security', value)
    return response
  }
}

export const COLLECT_PATH = '/c'

/** On every status, so that the page's console can read the reason; without credentials, so any origin may. */
export const COLLECT_CORS = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'Retry-After' }

/** None on what is for servers. */
export const corsOf = (path: string): Record<string, string> => (path === COLLECT_PATH ? COLLECT_CORS : {})
