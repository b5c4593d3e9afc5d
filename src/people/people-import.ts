/** Imports people from files as exports write them: CSV with a line of names, or JSON with one object per line. */
import type { AppRow } from '../accounts/access.ts'
import type { Clock } from '../core/clock.ts'
import { mapInOrder } from '../core/in-order.ts'
import { parseCsvPieces, readCsvText } from '../core/csv.ts'
import { type FieldError, REFUSALS, type RefusalCode } from '../core/refusals.ts'
import type { SuppressionReason } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import { CONTACT_STATUSES, type ContactStatus, type ContactWrite, type Refused } from '../store/types.ts'
import { type ContactFields, readContactInput } from './contact-input.ts'
import { contactWrite } from './contacts.ts'
import type { ExportFormat } from './people-lists.ts'
import { listParts } from './suppressions.ts'

/** A person with all limits used, in CSV with doubled quotes. */
const MOST_CHARACTERS = 100_000
/** Per request of the API. */
const TAGS_AT_ONCE = 50
/** People per commit: as many as take `aimMs`, so that a running server's writes don't wait long. */
const COMMITS = { first: 32, fewest: 8, most: 250, aimMs: 50 } as const
/**
 * Between commits. SQLite looks for the end of another process's transaction every 25 ms, and more rarely after a long
 * one, so that a shorter pause would not let a server write.
 */
const LEAST_PAUSE_MS = 25

/** Columns that are imported. The other columns of exports are Eventpost's own data. */
const READ = ['email', 'firstName', 'lastName', 'tags', 'fields', 'source', 'status', 'endedTopics'] as const
type Name = (typeof READ)[number]
const OWN: ReadonlySet<string> = new Set([
  'id',
  'app',
  'createdAt',
  'updatedAt',
  'firstSeenAt',
  'lastSeenAt',
  'lastEventAt',
  'message',
  'emailedAt',
  'cameBackAt',
  'openedAt',
])

type Sent = Partial<Record<Name, unknown>>

/** A person or what is wrong with the line that they begin on. `ignored`: unknown columns or keys, each once in a file. */
export type ImportedLine = { line: number; ignored?: string[] } & ({ person: ReadPerson } | { errors: FieldError[] })

/** `writes`: more than one if there are many tags. */
type ReadPerson = { writes: ContactFields[]; status: ContactStatus; endedTopics: string[] }

/** `topics`: names of the app's. */
type ReadFor = { app: Pick<AppRow, 'publicId'>; topics: readonly string[] }

const wrong = (message: string): FieldError[] => [{ field: '', code: 'invalid', message }]

/** `pieces`: of the text. @throws ImportFault if nothing can be read */
export async function* readPeople(
  pieces: AsyncIterable<string>,
  { format, ...readFor }: ReadFor & { format: ExportFormat },
): AsyncGenerator<ImportedLine> {
  const unknown = new Set<string>()
  const findUnknown = (names: string[]): string[] => {
    const found = names.filter((name) => !isRead(name) && !OWN.has(name) && !unknown.has(name))
    for (const name of found) unknown.add(name)
    return found
  }
  const lines = format === 'csv' ? readCsv(pieces) : readJsonLines(pieces)
  for await (const { line, sent } of lines) {
    if (sent === null) {
      yield { line, errors: wrong('This line is not a JSON object.') }
      continue
    }
    const ignored = findUnknown(Object.keys(sent))
    yield { line, ...(ignored.length > 0 ? { ignored } : {}), ...readPerson(sent, readFor) }
  }
}

/** The whole file is wrong. */
export class ImportFault extends Error {
  override name = 'ImportFault'
}

const isRead = (name: string): name is Name => (READ as readonly string[]).includes(name)

/** null: no object. */
type Line = { line: number; sent: Record<string, unknown> | null }

async function* readCsv(pieces: AsyncIterable<string>): AsyncGenerator<Line> {
  let names: string[] | null = null
  for await (const { line, cells, openQuote } of parseCsvPieces(pieces, MOST_CHARACTERS)) {
    // what follows can't be told from the quoted text
    if (openQuote !== null)
      throw new ImportFault(`Line ${openQuote} opens a quote that is not closed. Close it, or write it twice ("").`)
    if (cells.length === 0) continue
    if (names === null) {
      names = cells.map((cell) => nameOf(cell.trim()))
      if (!names.includes('email'))
        throw new ImportFault('The first line must name the columns, and one of them must be email.')
      continue
    }
    yield { line, sent: Object.fromEntries(names.map((name, index) => [name, readCell(name, cells[index] ?? '')])) }
  }
}

const nameOf = (text: string): string => READ.find((name) => name.toLowerCase() === text.toLowerCase()) ?? text

/** Empty cells change nothing. */
function readCell(name: string, cell: string): unknown {
  const text = readCsvText(cell)
  if (text.trim() === '') return undefined
  if (name === 'email' || name === 'status') return text.trim()
  if (name === 'tags' || name === 'endedTopics') return readListed(text.trim())
  return name === 'fields' ? parse(text) : text
}

const readListed = (text: string): unknown =>
  text.startsWith('[') ? parse(text) : text.split(/[,;]/).map((one) => one.trim())

/** Invalid JSON stays text, which the schema refuses. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function* readJsonLines(pieces: AsyncIterable<string>): AsyncGenerator<Line> {
  let [rest, line] = ['', 0]
  const read = (text: string): Line[] => {
    line += 1
    const trimmed = text.replace('\uFEFF', '').trim()
    if (trimmed === '') return []
    const sent = trimmed.length > MOST_CHARACTERS ? null : parse(trimmed)
    const isObject = typeof sent === 'object' && sent !== null && !Array.isArray(sent)
    return [{ line, sent: isObject ? (sent as Record<string, unknown>) : null }]
  }
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    // a longer line is refused, so its rest needs no memory
    if (rest.length > 2 * MOST_CHARACTERS) rest = rest.slice(0, MOST_CHARACTERS + 1)
    for (const text of lines) yield* read(text)
  }
  yield* read(rest)
}

function readPerson(
  sent: Record<string, unknown>,
  { app: { publicId }, topics }: ReadFor,
): { person: ReadPerson } | { errors: FieldError[] } {
  const known: Sent = Object.fromEntries(READ.flatMap((name) => (sent[name] == null ? [] : [[name, sent[name]]])))
  const { status: typed = 'subscribed', tags = [], endedTopics: ended = [], ...fields } = known
  const status = CONTACT_STATUSES.find((one) => one === typed)
  const all = toList(tags)
  const endedTopics = topics.filter((name) => toList(ended).includes(name))
  const parts = [all.slice(0, TAGS_AT_ONCE)]
  for (let at = TAGS_AT_ONCE; at < all.length; at += TAGS_AT_ONCE) parts.push(all.slice(at, at + TAGS_AT_ONCE))
  const readings = parts.map((some) => readContactInput({ ...fields, app: publicId, tags: some }))
  const errors = readings.flatMap((reading) => ('errors' in reading ? reading.errors : []))
  if (status === undefined) {
    errors.push({ field: 'status', code: 'invalid', message: `Use one of ${CONTACT_STATUSES.join(', ')}.` })
  }
  // whoever ended a topic that is not found would get its emails
  if (toList(ended).some((name) => !topics.some((topic) => topic === name))) errors.push(nameTopics(topics))
  if (status === undefined || errors.length > 0) return { errors }
  const writes = readings.flatMap((reading) => ('input' in reading ? reading.input : []))
  return { person: { writes, status, endedTopics } }
}

const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value])

const nameTopics = (topics: readonly string[]): FieldError => ({
  field: 'endedTopics',
  code: 'invalid',
  message:
    topics.length === 0
      ? 'This app has no topics. Add them under Sender, Topics first.'
      : `Use this app's topics: ${topics.join(', ')}.`,
})

export type ImportCounts = { added: number; updated: number; failed: number }

type Importing = {
  actor: string
  /** Up to date also if a fault ends the import. */
  counts?: ImportCounts
  /** counts and checks, and saves nothing */
  isDryRun: boolean
  /** ends it after the current commit */
  signal?: AbortSignal
  pause?: (ms: number) => Promise<void>
  onError: (line: number, error: Pick<FieldError, 'field' | 'message'>) => void
  onIgnored: (names: string[]) => void
}

type Deps = { store: Store; clock: Clock }
type Read = { line: number } & ReadPerson

/**
 * Triggers no message. Changes only what the file has about known people; suppresses them, or unsubscribes them from
 * topics, if it says so.
 */
export async function importPeople(
  deps: Deps,
  app: AppRow,
  lines: AsyncIterable<ImportedLine>,
  {
    actor,
    isDryRun,
    onError,
    onIgnored,
    counts = { added: 0, updated: 0, failed: 0 },
    signal,
    pause = Bun.sleep,
  }: Importing,
): Promise<ImportCounts> {
  const account = await deps.store.findAccount(app.accountId)
  const plan = { newPeoplePerMonth: account?.plan.newPeoplePerMonth ?? null }
  const save = isDryRun ? countPeople : savePeople
  let people: Read[] = []
  let most: number = COMMITS.first
  const saveAll = async (): Promise<void> => {
    for (const { line, result } of await save(deps, app, { people, plan, actor })) {
      if (result === 'added' || result === 'updated') counts[result] += 1
      else {
        counts.failed += 1
        if (STOPPING.has(result)) throw new ImportFault(`Line ${line}: ${REFUSALS[result].message}`)
        onError(line, { field: '', message: REFUSALS[result].message })
      }
    }
    people = []
  }
  for await (const one of lines) {
    if (signal?.aborted) break
    if (one.ignored) onIgnored(one.ignored)
    if ('errors' in one) {
      counts.failed += 1
      for (const error of one.errors) onError(one.line, error)
      continue
    }
    people.push({ line: one.line, ...one.person })
    if (people.length < most) continue
    const startedAt = deps.clock.monotonicMs()
    await saveAll()
    const ms = deps.clock.monotonicMs() - startedAt
    most = nextCommitSize(most, ms)
    if (!isDryRun) await pause(Math.max(LEAST_PAUSE_MS, ms / 2))
  }
  if (signal?.aborted) return counts
  await saveAll()
  return counts
}

function nextCommitSize(size: number, ms: number): number {
  if (ms > COMMITS.aimMs) return Math.max(COMMITS.fewest, size >> 1)
  return ms < COMMITS.aimMs / 2 ? Math.min(COMMITS.most, size * 2) : size
}

/** All further lines would fail too. */
const STOPPING: ReadonlySet<string> = new Set<RefusalCode>(['unavailable', 'commit_unconfirmed', 'plan_limit_reached'])

type Saving = { people: Read[]; plan: { newPeoplePerMonth: number | null }; actor: string }
type Saved = { line: number; result: 'added' | 'updated' | RefusalCode }

async function countPeople({ store }: Deps, { id }: AppRow, { people }: Saving): Promise<Saved[]> {
  return Promise.all(
    people.map(async ({ line, writes: [first] }): Promise<Saved> => {
      const known = first && (await store.findContact(id, first.email))
      return { line, result: known ? 'updated' : 'added' }
    }),
  )
}

const isSuppressed = (status: ContactStatus): status is SuppressionReason =>
  status !== 'subscribed' && status !== 'pending'

async function stopEmails(
  { store, clock }: Deps,
  { id: appId }: AppRow,
  { people, actor }: Pick<Saving, 'people' | 'actor'>,
): Promise<Refused | null> {
  const at = clock.now()
  const suppressed = people.flatMap(({ writes: [first], status }) =>
    first && isSuppressed(status) ? [{ email: first.email, reason: status, cause: { by: 'import' } as const }] : [],
  )
  const ended = people.flatMap(({ writes: [first], endedTopics: topics }) =>
    first && topics.length > 0 ? [{ email: first.email, topics }] : [],
  )
  const outcomes = await Promise.all([
    mapInOrder(listParts(store, suppressed), (rows) => store.suppressMany({ appId, at, noted: null, rows })),
    mapInOrder(listParts(store, ended), (rows) => store.importTopicEnds({ appId, at, actor, rows })),
  ])
  return outcomes.flat().find((outcome) => 'refusal' in outcome) ?? null
}

async function savePeople(deps: Deps, app: AppRow, { people, plan, actor }: Saving): Promise<Saved[]> {
  const { store } = deps
  // first, so that nobody is subscribed for a moment
  const refused = await stopEmails(deps, app, { people, actor })
  if (refused) return people.map(({ line }) => ({ line, result: refused.refusal }))
  const toWrite = (fields: ContactFields, isPending: boolean): ContactWrite => ({
    ...contactWrite(deps, { access: { plan }, app, via: 'dashboard', limits: [], idempotency: null }, fields),
    actor,
    imported: { isPending },
  })
  const outcomes = await Promise.all(
    people.map(({ writes, status }) =>
      Promise.all(writes.map((fields) => store.addContact(toWrite(fields, status === 'pending')))),
    ),
  )
  return people.map(({ line }, index) => {
    const [first, ...others] = outcomes[index] ?? []
    for (const outcome of [first, ...others])
      if (outcome && 'refusal' in outcome) return { line, result: outcome.refusal }
    return { line, result: first && 'created' in first && first.created ? 'added' : 'updated' }
  })
}
