import { Elysia } from 'elysia'
import { messageOf } from '../core/error-text.ts'
import { createLazy } from '../core/lazy.ts'
import { factsOf } from '../http/request-facts.ts'
import { acceptedAnswer, messageAnswer, type MessageStream, openMessageStream, refusalError } from './answers.ts'
import type { Caller } from './caller.ts'
import { createGuard, type GuardDependencies } from './guard.ts'
import { narrowAccess, readNarrowing } from './narrowing.ts'
import type { Protocol } from './protocol.ts'
import type { ServerDependencies } from './resources.ts'
import { TOOL_NAMES } from './tools/index.ts'

export const MCP_PATH = '/mcp'

export type McpDependencies = GuardDependencies & ServerDependencies & { log: ErrorLog }

type ErrorLog = { write(level: 'error', message: string, fields: Record<string, string>): void }

/** Stateless Streamable HTTP with JSON answers; shares keys and limits with the HTTP API. */
export function mcpRoutes(deps: McpDependencies) {
  const guard = createGuard(deps)
  const protocol = loadProtocol(deps)
  return new Elysia().all(
    MCP_PATH,
    async ({ request }) => {
      const admitted = await guard(request)
      if ('answer' in admitted) return admitted.answer
      factsOf(request).keepOpen()
      const narrowing = readNarrowing(request.url, TOOL_NAMES)
      if ('refusal' in narrowing) return refusalError(request, narrowing)
      const access = await narrowAccess(deps, admitted.access, narrowing)
      if ('refusal' in access) return refusalError(request, access)
      const { readMessage, ask } = await protocol()
      const read = readMessage(request, admitted.bytes)
      if ('answer' in read) {
        factsOf(request).protocolError = 'invalid_message'
        return read.answer
      }
      const { message, meta, fault, warnings } = read
      if (message === null) return acceptedAnswer()
      const client = readClient(request.headers.get('user-agent'), meta[CLIENT_NAME])
      const caller = { access, facts: factsOf(request), narrowing, client, fault, warnings, signal: request.signal }
      const { progressToken } = meta
      const ignore = (): void => {}
      return isProgressToken(progressToken) && takesEvents(request)
        ? answerWithProgress(deps, { requestId: caller.facts.requestId, id: message.id }, progressToken, (onProgress) =>
            ask(message, { ...caller, onProgress }),
          )
        : messageAnswer(await ask(message, { ...caller, onProgress: ignore }))
    },
    { parse: 'none' },
  )
}

type ProgressToken = string | number
const isProgressToken = (token: unknown): token is ProgressToken =>
  typeof token === 'string' || typeof token === 'number'

const takesEvents = ({ headers }: Request): boolean =>
  /(?:^|[\s,])text\/event-stream(?=$|[\s,;])/i.test(headers.get('accept') ?? '')

type Ask = (onProgress: Caller['onProgress']) => Promise<object>

/** JSON, as every answer, unless the call says how far it is before it is done: then a stream of events. */
function answerWithProgress(
  { log }: Pick<McpDependencies, 'log'>,
  { requestId, id }: { requestId: string; id: string | number },
  progressToken: ProgressToken,
  ask: Ask,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    let stream: MessageStream | null = null
    const onProgress: Caller['onProgress'] = ({ done, of }) => {
      if (stream === null) {
        stream = openMessageStream()
        resolve(stream.response)
      }
      const params = { progressToken, progress: done, total: of }
      stream.send({ jsonrpc: '2.0', method: 'notifications/progress', params })
    }
    const end = (message: object): void => (stream === null ? resolve(messageAnswer(message)) : stream.end(message))
    ask(onProgress).then(end, (error: unknown) => {
      if (stream === null) return reject(error)
      log.write('error', 'a request failed', {
        requestId,
        reason: messageOf(error),
      })
      stream.end({
        jsonrpc: '2.0',
        id,
        error: { code: -32_603, message: `Internal error. See ${requestId} in the log.` },
      })
    })
  })
}

/** The SDK takes 10 MB and 50 ms to load (measured): only an installation that is called over MCP pays for it. */
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
