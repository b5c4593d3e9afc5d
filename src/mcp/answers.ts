import { type Refusal, refusalBody, REFUSALS } from '../core/refusals.ts'
import { factsOf } from '../http/request-facts.ts'

export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const UNSUPPORTED_VERSION = -32_022
const SERVER_ERROR = -32_000

const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

type Id = string | number | null

export const messageAnswer = (message: object): Response => new Response(JSON.stringify(message), { headers: HEADERS })

/** `send` writes a message of the protocol, `end` the last one. */
export type MessageStream = { response: Response; send: (message: object) => void; end: (message: object) => void }

/** The answer to a message as a stream of events, with notifications before it. Writes nothing once the client has left. */
export function openMessageStream(): MessageStream {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const encoder = new TextEncoder()
  const ignore = (): void => {}
  const send = (message: object): void =>
    void writer.write(encoder.encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`)).catch(ignore)
  return {
    response: new Response(readable, { headers: { ...HEADERS, 'Content-Type': 'text/event-stream' } }),
    send,
    end: (message) => {
      send(message)
      void writer.close().catch(ignore)
    },
  }
}

/** Notifications get no answer. */
export const acceptedAnswer = (): Response => new Response(null, { status: 202 })

export const protocolError = (error: { code: number; message: string; data?: object }, id: Id = null): Response =>
  new Response(JSON.stringify({ jsonrpc: '2.0', id, error }), { status: 400, headers: HEADERS })

/** A refusal before the protocol: the API's message, with its error body as `data`. */
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
