import type { ServerDependencies } from './resources.ts'
import { createMcpServer } from './server.ts'
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  ErrorCode,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/sdk/types.js'
import { isJsonObject, parseJsonMessage, warnOfRepeated } from '../core/json.ts'
import type { Refusal, Warning } from '../core/refusals.ts'
import { INVALID_REQUEST, PARSE_ERROR, protocolError, UNSUPPORTED_VERSION } from './answers.ts'
import { type Caller, toAuthInfo } from './caller.ts'

export type Protocol = Awaited<ReturnType<typeof openProtocol>>

export const openProtocol = async (deps: ServerDependencies) => ({
  readMessage,
  ask: await connectServer(createMcpServer(deps)),
})

type Ask = (message: JSONRPCRequest, caller: Omit<Caller, 'fail'>) => Promise<JSONRPCMessage>

/**
 * One server for all requests: one each costs four times as much. Each message gets a unique number, so that clients
 * with the same ids don't mix. @returns a function that rejects with our own faults
 */
export async function connectServer(server: Server): Promise<Ask> {
  const waiting = new Map<number, (answer: JSONRPCMessage) => void>()
  let last = 0
  const transport: Transport = {
    start: async () => {},
    close: async () => {},
    send: async (message) => {
      if ('id' in message) waiting.get(Number(message.id))?.(message)
    },
  }
  await server.connect(transport)

  return (message, caller) => {
    const number = ++last
    return new Promise<JSONRPCMessage>((resolve, reject) => {
      waiting.set(number, (answer) => resolve({ ...fixInvalidParams(answer), id: message.id } as JSONRPCMessage))
      const authInfo = toAuthInfo({ ...caller, fail: reject })
      transport.onmessage?.({ ...message, id: number }, { authInfo })
    }).finally(() => waiting.delete(number))
  }
}

const WRONG_PARAMETERS = {
  code: ErrorCode.InvalidParams,
  message: "The parameters don't match this method. See the MCP specification.",
}

/** The SDK reports unreadable parameters as internal errors with details; ours reject before. */
const fixInvalidParams = (answer: JSONRPCMessage): JSONRPCMessage =>
  'error' in answer && answer.error.code === ErrorCode.InternalError ? { ...answer, error: WRONG_PARAMETERS } : answer

/** `null`: needs no answer. `fault`: why its arguments can't be stored. */
type Read =
  | { message: JSONRPCRequest | null; meta: Record<string, unknown>; fault: Refusal | null; warnings: Warning[] }
  | { answer: Response }

const VERSION_HEADER = 'mcp-protocol-version'
const VERSION_NAME = 'io.modelcontextprotocol/protocolVersion'
const VERSION = /^\d{4}-\d{2}-\d{2}$/

/** JSON, array (the SDK would run its items), envelope, revision: each 400. */
function readMessage(request: Request, bytes: Uint8Array): Read {
  const parsed = parseJsonMessage(bytes, ['params', 'arguments'])
  if ('refused' in parsed) {
    const { message = 'The body must be one JSON-RPC message, encoded as UTF-8.' } = parsed.refused
    return { answer: protocolError({ code: PARSE_ERROR, message }) }
  }
  const { body, fault, repeated } = parsed
  if (Array.isArray(body)) return { answer: protocolError({ code: INVALID_REQUEST, message: ONE }) }
  const isRequest = isJSONRPCRequest(body)
  if (!isRequest && !isSilent(body)) return { answer: protocolError({ code: INVALID_REQUEST, message: NONE }) }
  const id = isRequest ? body.id : null
  const spoken = request.headers.get(VERSION_HEADER) ?? metaOf(body)[VERSION_NAME]
  if (!isServed(spoken)) return { answer: refuseVersion(spoken, id) }
  const warnings = warnOfRepeated(repeated, ['params', 'arguments'])
  return { message: isRequest ? body : null, meta: metaOf(body), fault, warnings }
}

const ONE = 'Send one message at a time. Batches are not supported. Nothing was done.'
const NONE = 'The body is not a JSON-RPC 2.0 message with `jsonrpc`, `id`, `method` and `params`.'

/** Notifications: no request is pending here, and one could cancel another client's. */
const isSilent = (body: unknown): boolean =>
  isJSONRPCNotification(body) || isJSONRPCResultResponse(body) || isJSONRPCErrorResponse(body)

const objectIn = (body: unknown, name: string): Record<string, unknown> => {
  const inner = isJsonObject(body) ? body[name] : undefined
  return isJsonObject(inner) ? inner : {}
}

const paramsOf = (body: unknown) => objectIn(body, 'params')
const metaOf = (body: unknown) => objectIn(paramsOf(body), '_meta')

const isServed = (version: unknown): boolean =>
  version === undefined || (typeof version === 'string' && SUPPORTED_PROTOCOL_VERSIONS.includes(version))

/** As revision 2026-07-28 words it. Echoes the version only when it is a date. */
function refuseVersion(spoken: unknown, id: string | number | null): Response {
  const requested = typeof spoken === 'string' && VERSION.test(spoken) ? spoken : ''
  const supported = SUPPORTED_PROTOCOL_VERSIONS
  const message = `Unsupported protocol version (supported versions: ${supported.join(', ')})`
  return protocolError({ code: UNSUPPORTED_VERSION, message, data: { supported, requested } }, id)
}
