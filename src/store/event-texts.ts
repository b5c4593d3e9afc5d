import type { Refusal, Warning } from '../core/refusals.ts'
import type { AppRow, CountedLimit, EventWrite, Idempotency, RecordedEvent, Refused, Via } from './types.ts'

/** Sent to the writer thread once per object. */
export type EventSender = {
  apps: (Pick<AppRow, 'id' | 'accountId' | 'publicId'> & { hosts: readonly string[] })[]
  newPeoplePerMonth: number | null
  limits: CountedLimit[]
}

/** `target`: method and path of the request. */
export type TextIdempotency = Pick<Idempotency, 'keyId' | 'key' | 'at'> & { target: string }

export type TextRefusal = 'idempotency_in_progress' | 'rate_limited'

/** The writer thread parses `text`. `at`: ms UTC. An event of a batch has the hash of its whole request. */
export type EventText = {
  text: string
  sender: EventSender
  via: Extract<Via, 'api' | 'mcp'>
  at: number
  idempotency?: TextIdempotency | Idempotency
  refusal?: TextRefusal
}

/** `appId`: the app that the input names. `lacksEmail`: the input has no email. `bucket`: of the limit that is used up. */
export type RefusedText = { refused: Refusal; appId?: number; lacksEmail?: boolean; bucket?: string }

export type ReadText = { write: EventWrite; warnings: Warning[] }

export type ReadEvent = (event: EventText) => ReadText | RefusedText

export type TextOutcome =
  (RecordedEvent & { appId?: number; warnings?: Warning[] }) | (Refused & { appId?: number }) | RefusedText

export const NO_READER: ReadEvent = () => ({ refused: { refusal: 'internal_error' } })
