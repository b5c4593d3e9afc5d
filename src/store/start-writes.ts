import type { LiveMessage } from './live-messages.ts'
import type { PersonWrite } from './types.ts'

/**
 * Starts messages for a known person when no event does: `trigger` tells this time from others. `eventId`: the event that
 * started the sequence, with its `properties` (JSON).
 */
export type StartWrite = Pick<PersonWrite, 'appId' | 'email' | 'at'> & {
  idempotency: null
  messages: readonly LiveMessage[]
  trigger: string
  eventId: number | null
  properties: string | null
  occurredAt: number
}

export type StartMessages = (starts: readonly StartWrite[]) => Promise<void>
