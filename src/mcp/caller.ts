import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js'
import type { Access } from '../accounts/access.ts'
import type { Refusal, Warning } from '../core/refusals.ts'
import type { RequestFacts } from '../http/request-facts.ts'
import type { Narrowing } from './narrowing.ts'

/** Who calls, and all that a call may know of its request: the server is shared, and nothing else is the request's own. */
export type Caller = {
  /** its apps are those that the URL leaves */
  access: Access
  facts: RequestFacts
  narrowing: Narrowing
  /** aborted when the client has left */
  signal: AbortSignal
  /** as the client calls itself; null where it does not */
  client: string | null
  /** why the arguments cannot be read */
  fault: Refusal | null
  /** about the JSON of the arguments, for tools that write */
  warnings: Warning[]
  /** what broke on our side: the door answers 500 with it */
  fail(error: unknown): void
}

/** As the SDK hands it from a request to what serves it. It holds no key: nothing there needs one. */
export const toAuthInfo = (caller: Caller): AuthInfo => ({
  token: '',
  clientId: caller.access.key.id,
  scopes: [],
  extra: { caller },
})

/** @throws Error when a message came past the door */
export function callerOf({ authInfo }: { authInfo?: AuthInfo }): Caller {
  const caller = authInfo?.extra?.caller
  if (!caller) throw new Error('a message reached the server without passing the door')
  return caller as Caller
}
