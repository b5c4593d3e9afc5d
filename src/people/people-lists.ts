import type { AppRow } from '../accounts/access.ts'
import { writeCsvRow } from '../core/csv.ts'
import {
  type FoundPerson,
  PEOPLE_SORTS,
  type PeopleCursor,
  type PeopleFilter,
  type PeopleSort,
} from '../store/search/contact-search.ts'
import type { Store } from '../store/store.ts'
import { contactView } from './contacts.ts'

export { PEOPLE_SORTS }
export type { FoundPerson, PeopleCursor, PeopleFilter, PeopleSort }

/** Read at a time, so that other requests wait a few ms. */
const EXPORT_ROWS = 200

export const EXPORT_FORMATS = ['csv', 'ndjson'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

const COLUMNS = [
  'id',
  'email',
  'firstName',
  'lastName',
  'status',
  'tags',
  'fields',
  'source',
  'createdAt',
  'updatedAt',
  'firstSeenAt',
  'lastSeenAt',
  'lastEventAt',
  'endedTopics',
] as const

/** If the filter asks for emails. */
const EMAIL_COLUMNS = ['message', 'emailedAt', 'cameBackAt', 'openedAt'] as const

/** `endedTopics`: names of those that the person wants no emails about. */
type Exported = ReturnType<typeof contactView> & { endedTopics: string[] } & Partial<
    Record<(typeof EMAIL_COLUMNS)[number], string | null>
  >
type ColumnName = (typeof COLUMNS)[number] | (typeof EMAIL_COLUMNS)[number]

/** Tags and topics are JSON arrays, fields a JSON object. */
const toCell = (value: Exported[ColumnName]): string => {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : Object.keys(value).length === 0 ? '' : JSON.stringify(value)
}

type Writer = { head: string; write: (person: Exported) => string }

const WRITERS: Record<ExportFormat, (columns: readonly ColumnName[]) => Writer> = {
  csv: (columns) => ({
    head: writeCsvRow(columns),
    write: (person) => writeCsvRow(columns.map((column) => toCell(person[column]))),
  }),
  ndjson: () => ({ head: '', write: (person) => `${JSON.stringify(person)}\n` }),
}

const toText = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

type Facts = { app: AppRow; names: ReadonlyMap<number, string>; endedTopics: string[] }

function toExported({ foundEmail, ...person }: FoundPerson, { app, names, endedTopics }: Facts): Exported {
  const view = { ...contactView(person, app), endedTopics }
  if (foundEmail === null) return view
  const { messageId, emailedAt, cameBackAt, openedAt } = foundEmail
  return {
    ...view,
    message: names.get(messageId) ?? null,
    emailedAt: toText(emailedAt),
    cameBackAt: toText(cameBackAt),
    openedAt: toText(openedAt),
  }
}

/** In other orders, people move while they are read. */
const LASTING_SORTS: readonly PeopleSort[] = ['newest', 'email']

type PeopleExport = { filter: PeopleFilter; sort: PeopleSort; format: ExportFormat }

/** One line per person, in pages, so that memory does not grow with their number. Newest first if `sort` does not last. */
export async function* exportPeople(
  { store }: { store: Store },
  app: AppRow,
  { filter, sort: wanted, format }: PeopleExport,
): AsyncGenerator<string> {
  const sort = LASTING_SORTS.includes(wanted) ? wanted : 'newest'
  const hasEmails = filter.email !== null && filter.email.result !== 'notEmailed'
  const { head, write } = WRITERS[format](hasEmails ? [...COLUMNS, ...EMAIL_COLUMNS] : COLUMNS)
  if (head !== '') yield head
  const messages = hasEmails ? await store.listMessages(app.id) : []
  const names = new Map(messages.map(({ id, name }) => [id, name]))
  let after: PeopleCursor | null = null
  do {
    const query = { appId: app.id, filter, sort, after, limit: EXPORT_ROWS, isCounted: false }
    const { people, next }: Awaited<ReturnType<Store['findPeople']>> = await store.findPeople(query)
    const emails = people.map(({ email }) => email)
    const ended = await store.listEndedNames(app.id, emails)
    const exported = people.map((person, index) => toExported(person, { app, names, endedTopics: ended[index] ?? [] }))
    if (exported.length > 0) yield exported.map(write).join('')
    after = next
  } while (after !== null)
}
