import type { Database, SQLQueryBindings } from 'bun:sqlite'
import { appToken, createIndexReads } from './contact-index.ts'
import { createContactReads } from './contacts.ts'
import type { ContactRow, ContactStatus } from './types.ts'

/** Matches are counted up to here. */
const COUNTED_PEOPLE = 10_000
/** Rows that a query looks at where many match one condition and few match all (measured: 25 ms). */
const SCANNED_ROWS = 20_000
const CHUNK_ROWS = 500
/** From here on, looking up each listed row takes longer than walking the index to the next few. */
const MANY_IDS = 1_000
const UNCOUNTED: PeopleCount = { people: 0, isExact: false }
const BOUNDS = { counted: COUNTED_PEOPLE, scanned: SCANNED_ROWS }
const MAX_ID = Number.MAX_SAFE_INTEGER
/** Tags, fields and events that a filter suggests. */
const SUGGESTED = 100
/** Shorter parts of names are not indexed. */
const NAME_PART_CHARACTERS = 3

/** Times in ms UTC. `before` excludes people who were never seen. */
export type SeenFilter = { since: number } | { before: number } | 'never'

/**
 * Null matches anyone. `search`: the start of an email, or a part of a name. `field`: its whole value as text; null for
 * any value.
 */
export type PeopleFilter = {
  search: string | null
  tag: string | null
  status: ContactStatus | null
  field: { name: string; value: string | null } | null
  event: { name: string; isDone: boolean } | null
  seen: SeenFilter | null
}

export const PEOPLE_SORTS = ['newest', 'name', 'email', 'seen'] as const
export type PeopleSort = (typeof PEOPLE_SORTS)[number]

/** The last person of a page, with the value that the people are sorted by; null: without a name, or by id. */
export type PeopleCursor = { key: string | number | null; id: number }

type PeopleQuery = { appId: number; filter: PeopleFilter; sort: PeopleSort; after: PeopleCursor | null; limit: number }

/** `next` continues even if the page is not full. */
export type PeoplePage = { people: ContactRow[]; next: PeopleCursor | null }
/** If not exact, there are at least that many. */
export type PeopleCount = { people: number; isExact: boolean }

type Sql = { text: string; values: SQLQueryBindings[] }
/**
 * `ids` selects the ids of all who match, in order of ids if `isById`; null if few don't match. `test` is a condition on
 * the row `c`.
 */
type Condition = { ids: Sql | null; isById: boolean; test: Sql }
type Candidate = { id: number; key: string | number | null; isMatch: number; searched?: string }
/** `searched`: the email and the name on a line each. */
type IsFound = (searched: string) => boolean
/** `isFound`: a search with too many matches to list. */
type Conditions = { conditions: Condition[]; isFound: IsFound | null }
/** The ids of all who match, or the conditions to walk with. */
type Plan = { ids: number[] } | (Conditions & { driver: Sql })
type Driver = { ids: Sql; size: number; rest: Condition[] }

const sql = (text: string, ...values: SQLQueryBindings[]): Sql => ({ text, values })

/** `bounds` is for tests. */
export function createContactSearch(db: Database, bounds = BOUNDS) {
  const { counted, scanned: mostScanned } = bounds
  const { listSeenContacts } = createContactReads(db)
  const all = <Row>({ text, values }: Sql): Row[] => db.prepare<Row, SQLQueryBindings[]>(text).all(...values)
  const idsOf = (query: Sql): number[] => all<{ id: number }>(query).map(({ id }) => id)
  const nameId = db.prepare<{ id: number }, [number, string]>(
    'SELECT id FROM event_names WHERE app_id = ? AND name = ?',
  )
  const emails = db.prepare<{ id: number }, [number, string, string, number]>(
    'SELECT id FROM contacts WHERE app_id = ? AND email >= ? AND email < ? LIMIT ?',
  )
  const names = db.prepare<{ id: number }, [string, number]>(
    'SELECT rowid AS id FROM contact_names WHERE contact_names MATCH ? ORDER BY rowid DESC LIMIT ?',
  )

  /** The newest of those whose name has this part. */
  const findByName = (appId: number, part: string, limit: number): number[] =>
    Array.from(part).length < NAME_PART_CHARACTERS
      ? []
      : names.all(`app : "${appToken(appId)}" AND name : "${part.replaceAll('"', '""')}"`, limit).map(({ id }) => id)

  const findByEmail = (appId: number, start: string, limit: number): number[] =>
    emails.all(appId, start, `${start}\u{10FFFF}`, limit).map(({ id }) => id)

  const search = (appId: number, text: string): Condition | IsFound => {
    const part = text.trim()
    const most = counted + 1
    const [byEmail, byName] = [findByEmail(appId, part.toLowerCase(), most), findByName(appId, part, most)]
    if (byEmail.length === most || byName.length === most) return createIsFound(part)
    const ids = JSON.stringify([...new Set([...byEmail, ...byName])])
    const list = 'SELECT value AS id FROM json_each(?)'
    return { ids: sql(list, ids), isById: false, test: sql(`c.id IN (${list})`, ids) }
  }

  const readConditions = (appId: number, filter: PeopleFilter): Conditions => {
    const { tag, status, field, event, seen } = filter
    const conditions: Condition[] = []
    if (tag !== null) conditions.push(hasTag(appId, tag))
    if (status !== null) conditions.push(hasStatus(appId, status))
    if (field !== null) conditions.push(hasField(appId, field))
    if (event !== null) conditions.push(didEvent(nameId.get(appId, event.name)?.id ?? 0, event.isDone))
    if (seen !== null) conditions.push(wasSeen(appId, seen))
    const found = filter.search === null || filter.search.trim() === '' ? null : search(appId, filter.search)
    if (typeof found === 'function') return { conditions, isFound: found }
    return { conditions: found ? [found, ...conditions] : conditions, isFound: null }
  }

  const countUpTo = ({ text, values }: Sql): number =>
    all<{ n: number }>(sql(`SELECT count(*) AS n FROM (SELECT 1 FROM (${text}) LIMIT ${counted + 1})`, ...values))[0]
      ?.n ?? 0

  /** The condition that the fewest match, or everyone. */
  const findDriver = (appId: number, conditions: Condition[]): Driver => {
    const sizes = conditions.flatMap(({ ids, ...one }) =>
      ids === null
        ? []
        : [{ ids, ...one, size: countUpTo(ids), rest: conditions.filter(({ test }) => test !== one.test) }],
    )
    const best = sizes.toSorted((a, b) => a.size - b.size)[0]
    if (best && best.size <= counted) return best
    const ids = everyoneOf(appId)
    const everyone = { ids, size: countUpTo(ids), rest: conditions }
    return everyone.size <= counted ? everyone : (sizes.find(({ isById }) => isById) ?? everyone)
  }

  const plan = (appId: number, filter: PeopleFilter): Plan => {
    const { conditions, isFound } = readConditions(appId, filter)
    const { ids: driver, size, rest } = findDriver(appId, conditions)
    if (size > counted) return { conditions, isFound, driver }
    if (rest.length === 0 && isFound === null) return { ids: idsOf(driver) }
    const [test, columns] = [allOf(rest), `c.id AS id${isFound ? SEARCHED_COLUMNS : ''}`]
    const text = `SELECT ${columns} FROM (${driver.text}) AS c WHERE ${test.text}`
    const found = all<Candidate>(sql(text, ...driver.values, ...test.values))
    return { ids: found.filter((one) => isFound?.(one.searched ?? '') ?? true).map(({ id }) => id) }
  }

  /** Of listed ids. Where they are many, the next ones are near in the index. */
  const pageOfIds = (ids: number[], { sort, after, limit, appId }: PeopleQuery): PeopleCursor[] => {
    if (sort === 'newest') {
      const until = after?.id ?? MAX_ID
      const sorted = ids.filter((id) => id < until).toSorted((a, b) => b - a)
      return sorted.slice(0, limit).map((id) => ({ key: null, id }))
    }
    const list = JSON.stringify(ids)
    const sections = sectionsOf(sort, after)
    const near =
      ids.length < MANY_IDS
        ? []
        : sections.slice(0, 1).flatMap((section) => {
            const { text, values } = rowsOf(appId, section, mostScanned)
            return all<PeopleCursor>(
              sql(`SELECT id, key FROM (${text}) WHERE ${IS_LISTED} LIMIT ?`, ...values, list, limit),
            )
          })
    if (near.length === limit) return near
    const found: PeopleCursor[] = []
    for (const { table, id, key, is, values, order } of sections) {
      const query = `SELECT ${id} AS id, ${key} AS key FROM (SELECT value AS listed FROM json_each(?))
        CROSS JOIN ${table} ON ${table}.${id} = listed WHERE ${is} ORDER BY ${order} LIMIT ?`
      if (found.length < limit) found.push(...all<PeopleCursor>(sql(query, list, ...values, limit - found.length)))
    }
    return found
  }

  /** In the order of an index, up to a number of rows. */
  const walk = (
    { conditions, isFound, driver }: Conditions & { driver: Sql },
    query: PeopleQuery,
    // comparing names takes longer than conditions, which an index answers
    most = isFound ? mostScanned / 2 : mostScanned,
  ) => {
    const { appId, sort, limit } = query
    const found: PeopleCursor[] = []
    const test = allOf(conditions)
    const columns = `c.id AS id, c.key AS key, (${test.text}) AS isMatch${isFound ? SEARCHED_COLUMNS : ''}`
    const isEveryone = conditions.length === 0 && isFound === null
    let after = query.after ?? startOf(query)
    for (let scanned = 0, rows = isEveryone ? limit : CHUNK_ROWS; scanned < most; scanned += rows) {
      const chunk: Candidate[] = []
      const sources =
        sort === 'newest' ? [newestOf(driver, after)] : sectionsOf(sort, after).map((one) => rowsOf(appId, one))
      for (const { text, values } of sources) {
        const left = rows - chunk.length
        const some = `SELECT ${columns} FROM (${text} LIMIT ?) AS c`
        if (left > 0) chunk.push(...all<Candidate>(sql(some, ...test.values, ...values, left)))
      }
      for (const { id, key, isMatch, searched = '' } of chunk) {
        after = { key, id }
        if (isMatch === 1 && (isFound?.(searched) ?? true)) found.push(after)
        if (found.length === limit) return { found, next: after }
      }
      if (chunk.length < rows) return { found, next: null }
    }
    return { found, next: after }
  }

  const countOf = (appId: number, filter: PeopleFilter, planned: Plan): PeopleCount => {
    if ('ids' in planned) {
      const isExact = planned.ids.length <= counted
      return { people: Math.min(planned.ids.length, counted), isExact }
    }
    const { conditions, isFound, driver } = planned
    const isOne =
      conditions.length + (isFound ? 1 : 0) <= 1 && filter.event?.isDone !== false && filter.status !== 'subscribed'
    if (isOne) return { people: counted, isExact: false }
    if (isFound === null) {
      const test = allOf(conditions)
      const { text, values } = driver
      const query = `SELECT count(*) AS scanned, count(*) FILTER (WHERE ${test.text}) AS people
        FROM (SELECT id FROM (${text}) LIMIT ${mostScanned}) AS c`
      const [row] = all<{ scanned: number; people: number }>(sql(query, ...test.values, ...values))
      const { scanned, people } = row ?? { scanned: 0, people: 0 }
      return { people: Math.min(people, counted), isExact: scanned < mostScanned && people <= counted }
    }
    const query = { appId, filter, sort: 'newest', after: null, limit: counted + 1 } as const
    const { found, next } = walk(planned, query, mostScanned / 4)
    return { people: Math.min(found.length, counted), isExact: next === null && found.length <= counted }
  }

  // one snapshot for a page with its count
  const findPeople = db.transaction(
    (query: PeopleQuery & { isCounted: boolean }): PeoplePage & { count: PeopleCount } => {
      const { appId, filter, limit, isCounted } = query
      const planned = plan(appId, filter)
      const count = isCounted ? countOf(appId, filter, planned) : UNCOUNTED
      const wanted = { ...query, limit: limit + 1 }
      const { found, next } =
        'ids' in planned ? { found: pageOfIds(planned.ids, wanted), next: null } : walk(planned, wanted)
      const page = found.slice(0, limit)
      const people = listSeenContacts(page.map(({ id }) => id))
      return { people, next: found.length > limit ? (page.at(-1) ?? null) : next, count }
    },
  )

  const distinct = (column: string, table: string) =>
    db.prepare<{ text: string }, [number]>(
      `WITH RECURSIVE found(text) AS (
         SELECT min(${column}) FROM ${table} WHERE app_id = ?1
         UNION ALL SELECT (SELECT min(${column}) FROM ${table} WHERE app_id = ?1 AND ${column} > text)
         FROM found WHERE text IS NOT NULL LIMIT ${SUGGESTED})
       SELECT text FROM found WHERE text IS NOT NULL`,
    )
  const [tags, fields, events] = [
    distinct('tag', 'contact_tags'),
    distinct('name', 'contact_fields'),
    distinct('name', 'event_names'),
  ]
  const textsOf = (query: typeof tags, appId: number): string[] => query.all(appId).map(({ text }) => text)

  return {
    ...createIndexReads(db),
    /** The first of each, alphabetically. */
    suggestFilters: (appId: number) => ({
      tags: textsOf(tags, appId),
      fields: textsOf(fields, appId),
      events: textsOf(events, appId),
    }),
    findPeople: (query: PeopleQuery & { isCounted: boolean }) => findPeople(query),
    findByName,
  }
}

const everyoneOf = (appId: number): Sql => sql('SELECT id FROM contacts WHERE app_id = ?', appId)

const hasTag = (appId: number, tag: string): Condition => ({
  isById: true,
  ids: sql('SELECT contact_id AS id FROM contact_tags WHERE app_id = ? AND tag = ?', appId, tag),
  test: sql('EXISTS (SELECT 1 FROM contact_tags WHERE app_id = ? AND tag = ? AND contact_id = c.id)', appId, tag),
})

/** Found in the index, which has no others. */
const IS_REFUSING = `status IN ('unsubscribed', 'bounced', 'complained') AND status <> 'subscribed'`

const hasStatus = (appId: number, status: ContactStatus): Condition => ({
  isById: true,
  ids:
    status === 'subscribed'
      ? null
      : sql(`SELECT id FROM contacts WHERE app_id = ? AND status = ? AND status <> 'subscribed'`, appId, status),
  test:
    status === 'subscribed'
      ? sql(
          `NOT EXISTS (SELECT 1 FROM contacts INDEXED BY contacts_by_status WHERE app_id = ? AND ${IS_REFUSING} AND id = c.id)`,
          appId,
        )
      : sql(
          `EXISTS (SELECT 1 FROM contacts WHERE app_id = ? AND status = ? AND status <> 'subscribed' AND id = c.id)`,
          appId,
          status,
        ),
})

const hasField = (appId: number, { name, value }: { name: string; value: string | null }): Condition => {
  const isField = `contact_fields WHERE app_id = ? AND name = ?${value === null ? '' : ' AND value = ?'}`
  const values = value === null ? [appId, name] : [appId, name, value]
  // of one value, in order of ids
  return {
    isById: value !== null,
    ids: sql(`SELECT contact_id AS id FROM ${isField}`, ...values),
    test:
      value === null
        ? sql(`EXISTS (SELECT 1 FROM contacts, json_each(fields) WHERE contacts.id = c.id AND json_each.key = ?)`, name)
        : sql(`EXISTS (SELECT 1 FROM ${isField} AND contact_id = c.id)`, ...values),
  }
}

const didEvent = (nameId: number, isDone: boolean): Condition => ({
  isById: true,
  ids: isDone ? sql('SELECT contact_id AS id FROM contact_events WHERE name_id = ?', nameId) : null,
  test: sql(
    `${isDone ? '' : 'NOT '}EXISTS (SELECT 1 FROM contact_events WHERE name_id = ? AND contact_id = c.id)`,
    nameId,
  ),
})

function wasSeen(appId: number, seen: SeenFilter): Condition {
  const [is, ...values] =
    seen === 'never' ? ['= 0'] : 'since' in seen ? ['>= ?', seen.since] : ['BETWEEN 1 AND ?', seen.before - 1]
  return {
    isById: false,
    ids: sql(`SELECT contact_id AS id FROM contact_activity WHERE app_id = ? AND seen_at ${is}`, appId, ...values),
    test: sql(`EXISTS (SELECT 1 FROM contact_activity WHERE contact_id = c.id AND seen_at ${is})`, ...values),
  }
}

const allOf = (conditions: Condition[]): Sql => ({
  text: ['true', ...conditions.map(({ test }) => test.text)].join(' AND '),
  values: conditions.flatMap(({ test }) => test.values),
})

/** The columns of a row of `c` that a search reads. */
const SEARCHED_COLUMNS = `, (SELECT email || char(10) || ifnull(full_name, '') FROM contacts WHERE id = c.id) AS searched`
const IS_LISTED = 'id IN (SELECT value FROM json_each(?))'

/** A part of an index in the wanted order. */
type Section = { table: string; id: string; key: string; is: string; values: SQLQueryBindings[]; order: string }

const rowsOf = (appId: number, { table, id, key, is, values, order }: Section, most?: number): Sql => {
  const text = `SELECT ${id} AS id, ${key} AS key FROM ${table} WHERE app_id = ? AND ${is} ORDER BY ${order}`
  return sql(most === undefined ? text : `${text} LIMIT ${most}`, appId, ...values)
}

const newestOf = ({ text, values }: Sql, after: PeopleCursor | null): Sql =>
  sql(`SELECT id, NULL AS key FROM (${text}) WHERE id < ? ORDER BY id DESC`, ...values, after?.id ?? MAX_ID)

/** People whom a filter excludes are skipped. */
const startOf = ({ sort, filter: { seen } }: PeopleQuery): PeopleCursor | null => {
  if (sort !== 'seen' || seen === null || (seen !== 'never' && 'since' in seen)) return null
  return { key: seen === 'never' ? 1 : seen.before, id: 0 }
}

/** The people after one. */
function sectionsOf(sort: Exclude<PeopleSort, 'newest'>, after: PeopleCursor | null): Section[] {
  const contacts = { table: 'contacts', id: 'id' }
  if (sort === 'email') {
    return [{ ...contacts, key: 'email', is: 'email > ?', values: [after?.key ?? ''], order: 'email' }]
  }
  if (sort === 'seen') {
    const values = [after?.key ?? MAX_ID, after?.id ?? MAX_ID]
    const is = '(seen_at, contact_id) < (?, ?)'
    const activity = { table: 'contact_activity', id: 'contact_id', key: 'seen_at' }
    return [{ ...activity, is, values, order: 'seen_at DESC, contact_id DESC' }]
  }
  const isUnnamed = after !== null && after.key === null
  const unnamed = { ...contacts, key: 'sort_name', is: 'sort_name IS NULL AND id < ?', order: 'id DESC' }
  const last = { ...unnamed, values: [isUnnamed ? after.id : MAX_ID] }
  if (isUnnamed) return [last]
  const values = [after?.key ?? '', after?.id ?? 0]
  const named = { ...contacts, key: 'sort_name', is: '(sort_name, id) > (?, ?)', order: 'sort_name, id' }
  return [{ ...named, values }, last]
}

const foldName = (name: string): string => name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()

/** Folds names like the index. */
function createIsFound(part: string): IsFound {
  const [start, folded] = [part.toLowerCase(), foldName(part)]
  const hasNames = Array.from(part).length >= NAME_PART_CHARACTERS
  return (searched) =>
    searched.startsWith(start) || (hasNames && foldName(searched.slice(searched.indexOf('\n') + 1)).includes(folded))
}
