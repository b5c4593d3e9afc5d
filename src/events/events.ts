import { writeCsvRow } from '../core/csv.ts'
import { publicId } from '../core/ids.ts'
import { createEventLimit, type LimitDependencies, peekForKey, type TakenFor } from '../accounts/write-limits.ts'
import type { Store } from '../store/store.ts'
import type { EventPage, EventQuery } from '../store/events.ts'
import type { EventText, TextOutcome } from '../store/event-texts.ts'
import type { EventRow, NameField, RecordedEvent } from '../store/types.ts'
import type { Access, AppRow, KeyAccess } from '../accounts/access.ts'
import { type Refusal, refuse, type Warning } from '../core/refusals.ts'
import type { Notes } from './activation.ts'

export type { EventRow, NameField, RecordedEvent }

/** Of all unparsed events together, in characters: 1,000 events of 4 KB or 64 bodies of the maximum size. */
export const MOST_UNREAD = 4 * 1024 * 1024

/** `isInProgress`: an earlier request with this Idempotency-Key is still running. */
export type UnreadEvent = Pick<EventText, 'text' | 'via' | 'idempotency'> & { access: Access; isInProgress?: boolean }

/** `isInvalid`: nothing was tried, and the limit is as before. `app`: the one that the input names. */
export type EventResult = { counted: TakenFor; app: AppRow | undefined } & (
  { recorded: RecordedEvent; warnings: Warning[] } | { refused: Refusal; isInvalid: boolean }
)

/** Resolves after the commit. */
export type EventRecorder = (event: UnreadEvent) => Promise<EventResult>

type RecorderDependencies = Pick<LimitDependencies, 'limits' | 'clock'> & {
  store: Store
  notes: Notes
  access: Pick<KeyAccess, 'findWithNewApps'>
}

/** Counts events and passes them unparsed to the writer thread, which validates them. Only valid ones count. */
export function createEventRecorder(deps: RecorderDependencies): EventRecorder {
  const { store, clock } = deps
  const limit = createEventLimit(deps)
  let unread = 0

  return async function record(event): Promise<EventResult> {
    const { access, text, via, idempotency, isInProgress = false } = event
    if (unread + text.length > MOST_UNREAD)
      return {
        refused: refuse('unavailable'),
        isInvalid: false,
        app: undefined,
        counted: peekForKey(deps, 'events', access),
      }
    unread += text.length
    let counted: TakenFor | null = null
    let outcome: TextOutcome = { refusal: 'internal_error' }
    try {
      const counting = isInProgress ? null : limit.take(access)
      // avoids a microtask if nothing must wait
      counted = counting instanceof Promise ? await counting : counting
      const refusal = isInProgress ? 'idempotency_in_progress' : counted?.refused ? 'rate_limited' : undefined
      outcome = await store.recordEventText({ text, sender: access.sender, via, at: clock.now(), idempotency, refusal })
    } finally {
      unread -= text.length
      if (counted) counted = limit.settle(access, counted, outcome)
    }
    const result = resultOf(deps, access, outcome, counted ?? peekForKey(deps, 'events', access))
    if (!('refused' in result) || result.refused.refusal !== 'app_not_found') return result
    const current = await deps.access.findWithNewApps(access)
    return current ? record({ ...event, access: current }) : result
  }
}

function resultOf({ notes }: { notes: Notes }, access: Access, outcome: TextOutcome, counted: TakenFor): EventResult {
  const app = access.apps.find(({ id }) => id === outcome.appId)
  if ('contactId' in outcome) return { recorded: outcome, warnings: outcome.warnings ?? [], app, counted }
  if ('refusal' in outcome) return { refused: outcome, isInvalid: false, app, counted }
  const { refused, lacksEmail } = outcome
  if (app && lacksEmail) notes.add(app.id, 'without_email')
  return counted.refused && refused.refusal === 'rate_limited'
    ? { refused: counted.refused, isInvalid: false, app, counted }
    : { refused, isInvalid: true, app, counted }
}

const NAME_TEXT: Record<NameField, string> = { firstName: 'first name', lastName: 'last name' }

/** Names that differ from stored ones. Keys that can't read get no warning, which would reveal something. */
export const warnOfNames = (
  { keptNames }: Pick<RecordedEvent, 'keptNames'>,
  { key }: Pick<Access, 'key'>,
): Warning[] => (keptNames === undefined || key.scope === 'ingest' ? [] : keptNames.map(warnOfName))

const warnOfName = (field: NameField): Warning => ({
  field,
  code: 'name_not_taken',
  message: `This person already has a different ${NAME_TEXT[field]}. Only empty names are filled in. To change it, update the person.`,
})

/** Newest first. A page may be short and still have a next one. null: unknown person. */
export async function listEvents(
  { store }: { store: Store },
  app: AppRow,
  query: { email: string | null } & Pick<EventQuery, 'name' | 'before' | 'limit'>,
): Promise<EventPage | null> {
  const { email, ...rest } = query
  if (email === null) return store.listEvents({ ...rest, appId: app.id, contactId: null })
  const contact = await store.findContact(app.id, email)
  return contact && store.listEvents({ ...rest, appId: app.id, contactId: contact.id })
}

/** Times are ISO 8601 UTC; absent values are null. */
export const eventView = (row: EventRow) => ({
  id: publicId('evt', row.id),
  type: row.type,
  event: row.type === 'page' ? null : row.name,
  path: row.path,
  email: row.email,
  contactId: publicId('con', row.contactId),
  properties: row.properties === null ? null : (JSON.parse(row.properties) as Record<string, unknown>),
  occurredAt: new Date(row.occurredAt).toISOString(),
  receivedAt: new Date(row.receivedAt).toISOString(),
  via: row.via,
})

/** The rows that are read at once for an export. */
const EXPORT_ROWS = 500

const EXPORT_COLUMNS = [
  'id',
  'type',
  'event',
  'path',
  'email',
  'contactId',
  'properties',
  'occurredAt',
  'receivedAt',
  'via',
]

/** Of all names, or of one: newest first, as CSV, in pieces, so that any number fits into memory. */
export async function* exportEvents(
  { store }: { store: Pick<Store, 'listEvents'> },
  app: AppRow,
  { name }: Pick<EventQuery, 'name'>,
): AsyncGenerator<string> {
  yield writeCsvRow(EXPORT_COLUMNS)
  for (let before: number | null = null; ;) {
    const page: EventPage = await store.listEvents({
      appId: app.id,
      contactId: null,
      name,
      before,
      limit: EXPORT_ROWS,
    })
    yield page.rows.map((row) => writeCsvRow(toCells(row))).join('')
    if (page.next === null) return
    before = page.next
  }
}

function toCells(row: EventRow): string[] {
  const { id, type, event, path, email, contactId, occurredAt, receivedAt, via } = eventView(row)
  return [id, type, event ?? '', path ?? '', email, contactId, row.properties ?? '', occurredAt, receivedAt, via]
}
