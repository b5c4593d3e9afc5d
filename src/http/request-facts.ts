import type { Access, AppRow } from '../accounts/access.ts'
import type { Refusal } from '../core/refusals.ts'

/** Set by the server and completed by the endpoint; read by the log and answers. */
export type RequestFacts = {
  requestId: string
  startedAt: number
  address(): string
  /**
   * Keeps the connection open for up to four minutes while the response is made, not 10 seconds. Only once the whole request
   * has been read: a client that sends slowly must not get more time.
   */
  keepOpen(): void
  access: Access | null
  memberId?: string
  /** the request meant to change people or events */
  isWrite: boolean
  app?: AppRow
  refusal: Refusal | null
  /** the refused events of a batch, whose response itself is no refusal */
  refusedItems?: { refusal: Refusal; app?: AppRow }[]
  /** what MCP refuses in its own terms */
  protocolError?: 'invalid_message' | 'tool_not_open'
  /** MCP tool */
  tool?: string
}

/** Stored on the request: a WeakMap takes a tenth of the main thread at 256 connections. */
const FACTS = Symbol('facts')
type RequestWithFacts = Request & { [FACTS]?: RequestFacts }

type RequestStart = Pick<RequestFacts, 'requestId' | 'address'> & Partial<Pick<RequestFacts, 'keepOpen'>>

const leaveOpen = (): void => {}

export function setFacts(request: RequestWithFacts, { requestId, address, keepOpen = leaveOpen }: RequestStart): void {
  const startedAt = performance.now()
  request[FACTS] = { requestId, startedAt, address, keepOpen, access: null, isWrite: false, refusal: null }
}

export function factsOf(request: RequestWithFacts): RequestFacts {
  const facts = request[FACTS]
  if (!facts) throw new Error('a request reached an endpoint without passing the server')
  return facts
}

const PAIRS = Array.from({ length: 36 ** 2 }, (_, low) => low.toString(36).padStart(2, '0'))

/** A random prefix per process and a counter, which is cheap. */
export function createRequestIds(): () => string {
  const start = crypto.randomUUID().slice(0, 13).replace('-', '')
  let [count, head] = [0, '']
  return () => {
    const low = count % PAIRS.length
    // joined, so that it is one flat string
    if (low === 0) head = ['req_', start, (count / PAIRS.length).toString(36).padStart(4, '0')].join('')
    count += 1
    return `${head}${PAIRS[low]}`
  }
}
