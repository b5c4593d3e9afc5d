import type { Parts } from '../core/parts.ts'
import { connectServer } from './bridge.ts'
import { readMessage } from './messages.ts'
import { createMcpServer } from './server.ts'

export type Protocol = Awaited<ReturnType<typeof openProtocol>>

/** All that needs the SDK: reads messages, and has them answered. */
export const openProtocol = async (parts: Parts & { openApi: () => object }) => ({
  readMessage,
  ask: await connectServer(createMcpServer(parts)),
})
