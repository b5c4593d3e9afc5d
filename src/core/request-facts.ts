import type { Access, AppRow } from './access.ts'
import type { Refusal } from './refusals.ts'

/**
 * What is known of a request besides its content. The server notes it before the doors are asked; a door adds who
 * called; the log and the answers read it.
 */
export type RequestFacts = {
  requestId: string
  /** the client's, behind trusted proxies */
  address(): string
  access: Access | null
  /** which of the account's apps the body names, where it names one */
  app?: AppRow
  /** what the answer says no with */
  refusal: Refusal | null
}

const noted = new WeakMap<Request, RequestFacts>()

export const noteFacts = (request: Request, facts: RequestFacts): void => void noted.set(request, facts)

export function factsOf(request: Request): RequestFacts {
  const facts = noted.get(request)
  if (!facts) throw new Error('a request reached a door without passing the server')
  return facts
}
