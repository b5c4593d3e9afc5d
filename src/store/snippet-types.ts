/** What the browser script's side of the store takes and gives. Times are milliseconds UTC. */
import type { AppRow, PersonWrite, Plan, SecretRow } from './types.ts'

/** Under this name page views are stored; no customer can send it. */
export const PAGE_NAME = '$page'

/** A page view, an action or a leave that a browser reported; `name` is an action's. */
export type ReportedItem = { type: 'page' | 'action' | 'leave'; name: string | null; path: string; occurredAt: number }

/** All that one request of the browser script brings: stored together, or not at all. */
export type BatchWrite = Omit<PersonWrite, 'buckets' | 'idempotency'> & {
  batchId: string
  createContact: boolean
  items: ReportedItem[]
}

/** `repeated`: the batch was stored before, within 48 hours. */
export type StoredBatch = { contactId: number; created: boolean; repeated: boolean }

/** How long a batch's id is remembered, and with it what it said of presence: longer while a mail to the person waits. */
export const BATCH_MS = 48 * 3_600_000

/**
 * What a batch reported last: `isHere` for a page view, false for a leave, null when it told of actions only. `pageLoad`
 * null = it names none; `batchNumber` tells which batch of its page load it was, null = it does not say. `receivedAt` is
 * when its page was there to send it, `reportedAt` when what it reports happened.
 */
export type ReportRow = {
  pageLoad: number | null
  batchNumber: number | null
  receivedAt: number
  reportedAt: number
  path: string
  isHere: boolean | null
}

/** `hosts` empty = pages of any host may report. */
export type SnippetSettings = { hosts: string[]; addsPeople: boolean }

/** What a site ID stands for: all that a request of the browser script needs to be let in. */
export type Site = { app: AppRow; plan: Plan; secrets: SecretRow[]; settings: SnippetSettings }

/** `identified`: a signature that proved somebody, whatever came of it. */
export const NOTE_KINDS = [
  'identified',
  'without_email',
  'failed_signature',
  'old_secret',
  'unknown_person',
  'script_loaded',
  'refused',
  'foreign_host',
  'limited',
  'refused_call',
] as const
export type NoteKind = (typeof NOTE_KINDS)[number]

/** Things of a kind that happened to an app: how many, and of the last one when, why and on which site's pages. */
export type NoteRow = {
  appId: number
  kind: NoteKind
  count: number
  lastAt: number
  reason: string | null
  origin: string | null
}

/** One batch, as the limits count it. */
export type BatchSize = { appId: number; email: string; receivedAt: number; items: number }
