import { getDomain } from 'tldts'
import { refusalBody, type Refusal, REFUSALS } from '../core/refusals.ts'
import { factsOf } from './request-facts.ts'

/** Seconds to wait when the store could not commit. */
const RETRY_UNAVAILABLE_S = 2
/** While an earlier request with the same Idempotency-Key runs; most take milliseconds. */
const RETRY_RUNNING_S = 1

type Answer = (request: Request, status: number, body: object, headers?: Record<string, string>) => Response

/** For answers that aren't pages: browsers may load, run or frame nothing. */
export const NOTHING_ALLOWED = "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"

export const COMMON: Record<string, string> = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': NOTHING_ALLOWED,
}

/** Copying one Headers object costs half of naming each header. */
export function createAnswer(more: Record<string, string> = {}): Answer {
  const common = new Headers({ ...COMMON, ...more })
  return (request, status, body, headers = {}) => {
    // no await before the copy: the next answer sets another id
    common.set('X-Request-Id', factsOf(request).requestId)
    const response = new Response(JSON.stringify(body), { status, headers: common })
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
    return response
  }
}

export const answer = createAnswer()

/** Of a JSON object in pieces, the first of which begins it. Ends with its reader. */
export function streamedAnswer(request: Request, pieces: AsyncGenerator<string>): Response {
  let isBegun = false
  const body = new ReadableStream<string>({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done) return controller.close()
      controller.enqueue(isBegun ? value : value.replace('{', '{"ok":true,'))
      isBegun = true
    },
    async cancel() {
      await pieces.return(undefined)
    },
  }).pipeThrough(new TextEncoderStream())
  return new Response(body, { headers: { ...COMMON, 'X-Request-Id': factsOf(request).requestId } })
}

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

/** Includes subdomains unless the host is a registrable domain, whose other sites may need plain http. */
export function createSecure(baseUrl: string): (response: Response) => Response {
  const { protocol, hostname } = new URL(baseUrl)
  const value = getDomain(hostname) === hostname ? `max-age=${YEAR_S}` : `max-age=${YEAR_S}; includeSubDomains`
  return (response) => {
    if (protocol === 'https:') response.headers.set('Strict-Transport-Security', value)
    return response
  }
}

export const COLLECT_PATH = '/c'

/** On every status, so that the console can read the reason. No credentials, so any origin may. */
export const COLLECT_CORS = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'Retry-After' }

/** No CORS on server endpoints. */
export const corsOf = (path: string): Record<string, string> => (path === COLLECT_PATH ? COLLECT_CORS : {})
