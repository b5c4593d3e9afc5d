import type { Access, AppRow } from '../accounts/access.ts'
import type { Refusal } from '../core/refusals.ts'

/** Set by the server and completed by the endpoint; read by the log and answers. */
export type RequestFacts = {
  requestId: string
  /** by performance.now() */
  startedAt: number
  /** the client's, behind trusted proxies */
  address(): string
  access: Access | null
  /** of a signed-in member */
  memberId?: string
  /** the request meant to change people or events */
  isWrite: boolean
  /** the app that the body names, if any */
  app?: AppRow
  refusal: Refusal | null
}

/** Stored on the request: a WeakMap takes a tenth of the main thread at 256 connections. */
const FACTS = Symbol('facts')
type Noted = Request & { [FACTS]?: RequestFacts }

type Arrival = Pick<RequestFacts, 'requestId' | 'address'>

export function noteFacts(request: Noted, { requestId, address }: Arrival): void {
  request[FACTS] = { requestId, startedAt: performance.now(), address, access: null, isWrite: false, refusal: null }
}

export function factsOf(request: Noted): RequestFacts {
  const facts = request[FACTS]
  if (!facts) throw new Error('a request reached a door without passing the server')
  return facts
}
