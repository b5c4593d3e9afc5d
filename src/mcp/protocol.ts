import { connectServer } from './bridge.ts'
import { readMessage } from './messages.ts'
import { createMcpServer, type ServedParts } from './server.ts'

export type Protocol = Awaited<ReturnType<typeof openProtocol>>

/** All that needs the SDK: reads messages, and has them answered. */
export const openProtocol = async (parts: ServedParts) => ({
  readMessage,
  ask: await connectServer(createMcpServer(parts)),
})
