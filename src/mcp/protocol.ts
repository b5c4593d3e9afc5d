import { readMessage } from './messages.ts'
import type { ServedParts } from './resources.ts'
import { createMcpServer } from './server.ts'
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ErrorCode, type JSONRPCMessage, type JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js'
import { type Caller, toAuthInfo } from './caller.ts'

export type Protocol = Awaited<ReturnType<typeof openProtocol>>

/** All that needs the SDK: reads messages, and has them answered. */
export const openProtocol = async (parts: ServedParts) => ({
  readMessage,
  ask: await connectServer(createMcpServer(parts)),
})

type Ask = (message: JSONRPCRequest, caller: Omit<Caller, 'fail'>) => Promise<JSONRPCMessage>

/**
 * Connects one server with all requests: a server of its own would cost each of them four times as much (measured). A
 * message goes in under a number that is used once, so that two clients with the same ids never meet, and its answer
 * comes out under its own.
 * @returns asks the server; rejects with what broke on our side
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
      waiting.set(number, (answer) => resolve({ ...toldRight(answer), id: message.id } as JSONRPCMessage))
      const authInfo = toAuthInfo({ ...caller, fail: reject })
      transport.onmessage?.({ ...message, id: number }, { authInfo })
    }).finally(() => waiting.delete(number))
  }
}

const WRONG_PARAMETERS = {
  code: ErrorCode.InvalidParams,
  message: 'The parameters are not what this method takes. See the protocol.',
}

/**
 * The SDK calls parameters that it cannot read an internal error, with all it thought about them. What broke on our
 * side never comes here: it has rejected the call before.
 */
const toldRight = (answer: JSONRPCMessage): JSONRPCMessage =>
  'error' in answer && answer.error.code === ErrorCode.InternalError ? { ...answer, error: WRONG_PARAMETERS } : answer
