import { type Refusal, refusalBody, REFUSALS } from '../core/refusals.ts'
import { factsOf } from '../http/request-facts.ts'

/** JSON-RPC's codes, and the one of MCP for a revision that is not served. */
export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const UNSUPPORTED_VERSION = -32_022
const SERVER_ERROR = -32_000

const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

type Id = string | number | null

/** The answer to a message. */
export const messageAnswer = (message: object): Response => new Response(JSON.stringify(message), { headers: HEADERS })

/** To a notification there is nothing to say. */
export const acceptedAnswer = (): Response => new Response(null, { status: 202 })

/** A message that the protocol has no use for. */
export const protocolError = (error: { code: number; message: string; data?: object }, id: Id = null): Response =>
  new Response(JSON.stringify({ jsonrpc: '2.0', id, error }), { status: 400, headers: HEADERS })

/** A no before any message is served: the API's sentence and, as `data`, its error body. */
export function refusalError(request: Request, refusal: Refusal, headers: Record<string, string> = {}): Response {
  const facts = factsOf(request)
  facts.refusal = refusal
  const data = { ...refusalBody(refusal), requestId: facts.requestId }
  const error = { code: codeOf(refusal), message: data.message, data }
  return new Response(JSON.stringify({ jsonrpc: '2.0', id: null, error }), {
    status: REFUSALS[refusal.refusal].status,
    headers: { ...HEADERS, ...refusalHeaders(refusal), ...headers },
  })
}

const codeOf = ({ refusal }: Refusal): number =>
  refusal === 'invalid_json' ? PARSE_ERROR : refusal === 'invalid_field' ? INVALID_REQUEST : SERVER_ERROR

function refusalHeaders({ refusal, limited }: Refusal): Record<string, string> {
  if (refusal === 'invalid_api_key') return { 'WWW-Authenticate': 'Bearer' }
  return limited ? { 'Retry-After': String(limited.retryAfter) } : {}
}
