/** What the browser script's side of the store takes and gives. Times are milliseconds UTC. */
import type { AppRow, PersonWrite, Plan, SecretRow, SnippetSettings } from './types.ts'

/** Under this name page views are stored; no customer can send it. */
export const PAGE_NAME = '$page'

/**
 * What a browser reported: a page view, an action, that the page was hidden or left (`leave`), or that it is visible again
 * (`here`). `name` is an action's.
 */
export type ReportedItem = {
  type: 'page' | 'action' | 'leave' | 'here'
  name: string | null
  path: string
  occurredAt: number
}

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
 * What a batch reported last: `isHere` for a page view or a return, false for a leave, null when it told of actions only.
 * `isReturn`: the page was open before and became visible again, which is no page view; a batch keeps each of these.
 * `pageLoad` null = it names none; `batchNumber` tells which batch of its page load it was, null = it does not say.
 * `receivedAt` is when its page was there to send it, `reportedAt` when what it reports happened.
 */
export type ReportRow = {
  pageLoad: number | null
  batchNumber: number | null
  receivedAt: number
  reportedAt: number
  path: string
  isHere: boolean | null
  isReturn: boolean
}

/** How `snippet_batches.is_here` stores a report; null = no report. */
export const REPORT_CODES = { leave: 0, page: 1, here: 2 } as const

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
