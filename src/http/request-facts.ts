import type { Access, AppRow } from '../accounts/access.ts'
import type { Refusal } from '../core/refusals.ts'

/**
 * What is known of a request besides its content. The server notes it before the doors are asked; a door adds who
 * called; the log and the answers read it.
 */
export type RequestFacts = {
  requestId: string
  /** by performance.now() */
  startedAt: number
  /** the client's, behind trusted proxies */
  address(): string
  access: Access | null
  /** of a member who is signed in */
  memberId?: string
  /** whether the caller means to change people or events: a refused write is something to fix in their code */
  isWrite: boolean
  /** which of the account's apps the body names, where it names one */
  app?: AppRow
  /** what the answer says no with */
  refusal: Refusal | null
}

/** They stand on the request itself: a WeakMap takes a tenth of the main thread over 256 connections (measured). */
const FACTS = Symbol('facts')
type Noted = Request & { [FACTS]?: RequestFacts }

type Arrival = Pick<RequestFacts, 'requestId' | 'address'>

/** Before the doors are asked; a request's time counts from here. */
export function noteFacts(request: Noted, { requestId, address }: Arrival): void {
  request[FACTS] = { requestId, startedAt: performance.now(), address, access: null, isWrite: false, refusal: null }
}

export function factsOf(request: Noted): RequestFacts {
  const facts = request[FACTS]
  if (!facts) throw new Error('a request reached a door without passing the server')
  return facts
}
