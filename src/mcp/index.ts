import { Elysia } from 'elysia'
import { createLazy } from '../core/lazy.ts'
import { factsOf } from '../http/request-facts.ts'
import { acceptedAnswer, messageAnswer, refusalError } from './answers.ts'
import { createGuard, type GuardDependencies } from './guard.ts'
import { narrowAccess, readNarrowing } from './narrowing.ts'
import type { Protocol } from './protocol.ts'
import type { ServerDependencies } from './resources.ts'
import { TOOL_NAMES } from './tools/index.ts'

export const MCP_PATH = '/mcp'

export type McpDependencies = GuardDependencies & ServerDependencies

/** Stateless Streamable HTTP with JSON answers; shares keys and limits with the HTTP API. */
export function mcpRoutes(deps: McpDependencies) {
  const guard = createGuard(deps)
  const protocol = loadProtocol(deps)
  return new Elysia().all(
    MCP_PATH,
    async ({ request }) => {
      const admitted = await guard(request)
      if ('answer' in admitted) return admitted.answer
      const narrowing = readNarrowing(request.url, TOOL_NAMES)
      if ('refusal' in narrowing) return refusalError(request, narrowing)
      const { readMessage, ask } = await protocol()
      const read = readMessage(request, admitted.bytes)
      if ('answer' in read) return read.answer
      const { message, meta, fault, warnings } = read
      if (message === null) return acceptedAnswer()
      const access = narrowAccess(admitted.access, narrowing)
      const client = readClient(request.headers.get('user-agent'), meta[CLIENT_NAME])
      return messageAnswer(
        await ask(message, {
          access,
          facts: factsOf(request),
          narrowing,
          client,
          fault,
          warnings,
          signal: request.signal,
        }),
      )
    },
    { parse: 'none' },
  )
}

/** Loaded on the first MCP request: the SDK takes 10 MB and 50 ms. */
function loadProtocol(deps: McpDependencies): () => Promise<Protocol> {
  return createLazy(() => import('./protocol.ts').then(({ openProtocol }) => openProtocol(deps))).get
}

const CLIENT_NAME = 'io.modelcontextprotocol/clientInfo'

/** A program's name and version; other text isn't logged. */
const CLIENT = /^[A-Za-z][\w.-]{0,39}(?:\/[\w.-]{1,20})?/

/** From the message, else the User-Agent; null when neither is a program's name. */
function readClient(userAgent: string | null, info: unknown): string | null {
  const name = typeof info === 'object' && info !== null && 'name' in info ? info.name : undefined
  const named = typeof name === 'string' ? CLIENT.exec(name)?.[0] : undefined
  return named ?? CLIENT.exec(userAgent ?? '')?.[0] ?? null
}
