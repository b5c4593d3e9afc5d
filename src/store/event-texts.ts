import type { Refusal, Warning } from '../core/refusals.ts'
import type { AppRow, EventWrite, Idempotency, RecordedEvent, Refused } from './types.ts'

/** Whose key an event came with: what it takes to read it. Crosses threads once for as long as the object is the same. */
export type EventSender = {
  /** `hosts`: its own, as the link rule wants them */
  apps: (Pick<AppRow, 'id' | 'accountId' | 'publicId'> & { hosts: readonly string[] })[]
  newPeoplePerMonth: number | null
  buckets: string[]
}

/** The Idempotency-Key of an event that nobody has read yet. `target`: method and path of the request. */
export type TextIdempotency = Pick<Idempotency, 'keyId' | 'key' | 'at'> & { target: string }

/** What the request is refused with where its input is right; nothing is recorded then. */
export type TextRefusal = 'idempotency_in_progress' | 'rate_limited'

/** An event as it came: the text of a body, which nobody has read yet. `at` in ms UTC. */
export type EventText = {
  text: string
  sender: EventSender
  at: number
  idempotency?: TextIdempotency
  refusal?: TextRefusal
}

/** Nothing was written. `appId`: of the sender's app that the input names. `lacksEmail`: it names nobody's email. */
export type RefusedText = { refused: Refusal; appId?: number; lacksEmail?: boolean }

export type ReadText = { write: EventWrite; warnings: Warning[] }

export type ReadEvent = (event: EventText) => ReadText | RefusedText

/** `warnings`: where there are any. */
export type TextOutcome = (RecordedEvent & { warnings?: Warning[] }) | (Refused & { appId?: number }) | RefusedText

/** Where no events come as texts. */
export const NO_READER: ReadEvent = () => ({ refused: { refusal: 'internal_error' } })
