import { readMessage } from './json-rpc.ts'
import type { ServerDependencies } from './resources.ts'
import { createMcpServer } from './server.ts'
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ErrorCode, type JSONRPCMessage, type JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js'
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
  message: "The parameters don't match this method. See the protocol.",
}

/** The SDK reports unreadable parameters as internal errors with details; ours reject before. */
const fixInvalidParams = (answer: JSONRPCMessage): JSONRPCMessage =>
  'error' in answer && answer.error.code === ErrorCode.InternalError ? { ...answer, error: WRONG_PARAMETERS } : answer
