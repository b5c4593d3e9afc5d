import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js'
import type { Access } from '../accounts/access.ts'
import type { Refusal, Warning } from '../core/refusals.ts'
import type { RequestFacts } from '../http/request-facts.ts'
import type { Narrowing } from './narrowing.ts'

export type Caller = {
  /** narrowed by the URL */
  access: Access
  facts: RequestFacts
  narrowing: Narrowing
  /** aborted when the client disconnects */
  signal: AbortSignal
  /** its name for itself, if any */
  client: string | null
  /** why the arguments can't be read */
  fault: Refusal | null
  /** about the arguments' JSON, for writing tools */
  warnings: Warning[]
  /** our own fault: answered with 500 */
  fail(error: unknown): void
}

/** Passes the caller through the SDK. Holds no key. */
export const toAuthInfo = (caller: Caller): AuthInfo => ({
  token: '',
  clientId: caller.access.key.id,
  scopes: [],
  extra: { caller },
})

/** @throws Error when the request skipped the guard */
export function callerOf({ authInfo }: { authInfo?: AuthInfo }): Caller {
  const caller = authInfo?.extra?.caller
  if (!caller) throw new Error('a message reached the server without passing the guard')
  return caller as Caller
}
