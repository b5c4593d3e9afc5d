import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js'
import type { Access } from '../accounts/access.ts'
import type { Refusal, Warning } from '../core/refusals.ts'
import type { RequestFacts } from '../http/request-facts.ts'
import type { Narrowing } from './narrowing.ts'

export type Caller = {
  access: Access
  facts: RequestFacts
  narrowing: Narrowing
  signal: AbortSignal
  /** reports the progress of a long call, if the client asked for it */
  onProgress(progress: { done: number; of: number }): void
  /** as the client calls itself; null where it does not */
  client: string | null
  fault: Refusal | null
  /** about the arguments' JSON, for writing tools */
  warnings: Warning[]
  fail(error: unknown): void
}

/** Passes the caller through the SDK. Holds no key. */
export const toAuthInfo = (caller: Caller): AuthInfo => ({
  token: '',
  clientId: caller.access.key.id,
  scopes: [],
  extra: { caller },
})

export function callerOf({ authInfo }: { authInfo?: AuthInfo }): Caller {
  const caller = authInfo?.extra?.caller
  if (!caller) throw new Error('a message reached the server without passing the guard')
  return caller as Caller
}
