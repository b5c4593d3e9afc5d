/** People by filters: each is a condition on a row of contacts, and the planner chooses the indexes. */
import type { Dialect, Sql, SqlValue } from '../engine/sql.ts'
import { MOST_COUNTED } from '../../core/count.ts'
import { createContactReads } from '../contacts.ts'
import { USES_DEDUPE_KEY, WAS_SENT } from '../delivery-states.ts'
import {
  ANY_MESSAGE,
  type EmailFilter,
  type EmailFound,
  foldName,
  type FoundPerson,
  NAME_PART_CHARACTERS,
  type PeopleCount,
  type PeopleCursor,
  type PeopleFilter,
  type PeoplePage,
  type PeopleQuery,
  type SeenFilter,
  SUGGESTED,
  tidy,
  UNCOUNTED,
} from '../search/contact-search.ts'
import type { ContactRow } from '../types.ts'

const MAX_ID = Number.MAX_SAFE_INTEGER

type Counted = PeopleQuery & { isCounted: boolean }
type Query = { text: string; values: SqlValue[] }

/** Rows in the wanted order: of everyone, or of a part of them. */
type Section = { from: string; key: string; is: Query; order: string }

const sql = (text: string, ...values: SqlValue[]): Query => ({ text, values })

export function createPostgresContactSearch(db: Sql) {
  const { listSeenContacts } = createContactReads(db)
  const nameId = db.prepare<{ id: number }, [number, string]>(
    'SELECT id FROM event_names WHERE app_id = ? AND name = ?',
  )
  const all = async <Row>({ text, values }: Query): Promise<Row[]> =>
    await db.prepare<Row, SqlValue[]>(text).all(...values)

  const readConditions = async (appId: number, filter: PeopleFilter): Promise<Query> => {
    const { search, tag, status, field, event, seen, email } = filter
    const conditions = [sql('c.app_id = ?', appId)]
    if (search !== null && tidy(search) !== '') conditions.push(isFound(tidy(search)))
    if (tag !== null) conditions.push(hasRow('contact_tags', sql('app_id = ? AND tag = ?', appId, tag)))
    if (status !== null) conditions.push(sql('c.status = ?', status))
    if (field !== null) conditions.push(hasField(appId, field))
    if (event !== null) {
      const id = (await nameId.get(appId, event.name))?.id ?? 0
      conditions.push(hasRow('contact_events', sql('name_id = ?', id), event.isDone))
    }
    if (seen !== null) conditions.push(wasSeen(seen))
    if (email !== null) conditions.push(hadEmail(appId, email))
    return joinAll(conditions)
  }

  const countMatches = async ({ text, values }: Query): Promise<PeopleCount> => {
    const some = `SELECT count(*) AS n FROM (SELECT 1 FROM contacts AS c WHERE ${text} LIMIT ?) AS found`
    const people = (await all<{ n: number }>(sql(some, ...values, MOST_COUNTED + 1)))[0]?.n ?? 0
    return { people: Math.min(people, MOST_COUNTED), isExact: people <= MOST_COUNTED }
  }

  const listPage = async (query: PeopleQuery, conditions: Query): Promise<PeopleCursor[]> => {
    const found: PeopleCursor[] = []
    for (const { from, key, is, order } of sectionsOf(query)) {
      const left = query.limit - found.length
      if (left === 0) break
      const { text, values } = joinAll([conditions, is])
      const page = `SELECT c.id, ${key} AS key FROM ${from} WHERE ${text} ORDER BY ${order} LIMIT ?`
      found.push(...(await all<PeopleCursor>(sql(page, ...values, left))))
    }
    return found
  }

  const lastEmails = {
    emailed: db.prepare<EmailFound & { id: number }, [number, string, number | null]>(
      selectEmails(db.dialect, 'handed_at'),
    ),
    cameBack: db.prepare<EmailFound & { id: number }, [number, string, number | null]>(
      selectEmails(db.dialect, 'came_back_at'),
    ),
  }
  const addEmails = async (appId: number, { email }: PeopleFilter, people: ContactRow[]): Promise<FoundPerson[]> => {
    if (email === null || email.result === 'notEmailed') return people.map((one) => ({ ...one, foundEmail: null }))
    const ids = JSON.stringify(people.map(({ id }) => id))
    const rows = await lastEmails[email.result].all(appId, ids, email.messageId)
    const found = new Map(rows.map(({ id, ...one }) => [id, one]))
    return people.map((person) => ({ ...person, foundEmail: found.get(person.id) ?? null }))
  }

  const findCounted = async (query: Counted): Promise<PeoplePage & { count: PeopleCount }> => {
    const { appId, filter, limit, isCounted } = query
    const conditions = await readConditions(appId, filter)
    const count = isCounted ? await countMatches(conditions) : UNCOUNTED
    const found = await listPage({ ...query, limit: limit + 1 }, conditions)
    const page = found.slice(0, limit)
    const people = await addEmails(appId, filter, await listSeenContacts(page.map(({ id }) => id)))
    return { people, next: found.length > limit ? (page.at(-1) ?? null) : null, count }
  }

  // one look into the index per text, however many rows have it
  const distinct = (column: string, table: string) =>
    db.prepare<{ text: string }, [number]>(
      `WITH RECURSIVE found (text) AS (
         SELECT min(${column}) FROM ${table} WHERE app_id = ?1
         UNION ALL SELECT (SELECT min(${column}) FROM ${table} WHERE app_id = ?1 AND ${column} > text)
         FROM found WHERE text IS NOT NULL)
       SELECT text FROM found WHERE text IS NOT NULL LIMIT ${SUGGESTED}`,
    )
  const [tags, fields, events] = [
    distinct('tag', 'contact_tags'),
    distinct('name', 'contact_fields'),
    distinct('name', 'event_names'),
  ]
  const textsOf = async (query: typeof tags, appId: number): Promise<string[]> =>
    (await query.all(appId)).map(({ text }) => text)

  return {
    /** Rows are indexed at once. */
    contactIndexShare: async (): Promise<number> => 1,
    /** The first of each, alphabetically. */
    suggestFilters: async (appId: number) => ({
      tags: await textsOf(tags, appId),
      fields: await textsOf(fields, appId),
      events: await textsOf(events, appId),
    }),
    findPeople: (query: Counted) => db.readTogether(() => findCounted(query)),
  }
}

const joinAll = (conditions: readonly Query[]): Query => ({
  text: conditions.map(({ text }) => `(${text})`).join(' AND '),
  values: conditions.flatMap(({ values }) => values),
})

const hasRow = (table: string, { text, values }: Query, isWanted = true): Query =>
  sql(`${isWanted ? '' : 'NOT '}EXISTS (SELECT 1 FROM ${table} WHERE contact_id = c.id AND ${text})`, ...values)

/** The start of an email, or a part of a name. */
function isFound(part: string): Query {
  const start = part.toLowerCase()
  const byEmail = sql('c.email >= ? AND c.email < ?', start, `${start}\u{10FFFF}`)
  if (Array.from(part).length < NAME_PART_CHARACTERS) return byEmail
  const pattern = `%${foldName(part).replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
  return sql(`${byEmail.text} OR fold_name(c.full_name) LIKE ?`, ...byEmail.values, pattern)
}

const hasField = (appId: number, { name, value }: { name: string; value: string | null }): Query =>
  value === null
    ? hasRow('contact_fields', sql('app_id = ? AND name = ?', appId, name))
    : hasRow('contact_fields', sql('app_id = ? AND name = ? AND value = ?', appId, name, value))

function wasSeen(seen: SeenFilter): Query {
  if (seen === 'never') return hasRow('contact_activity', sql('seen_at > 0'), false)
  if ('since' in seen) return hasRow('contact_activity', sql('seen_at >= ?', seen.since))
  return hasRow('contact_activity', sql('seen_at BETWEEN 1 AND ?', seen.before - 1))
}

function hadEmail(appId: number, { result, messageId, since }: EmailFilter): Query {
  const at = result === 'cameBack' ? 'came_back_at' : 'emailed_at'
  const is = sql(`app_id = ? AND message_id = ? AND ${at} >= ?`, appId, messageId ?? ANY_MESSAGE, since ?? 0)
  return hasRow('people_results', is, result !== 'notEmailed')
}

/** The people after one, in the wanted order. */
function sectionsOf({ sort, after, filter: { seen } }: PeopleQuery): Section[] {
  const from = 'contacts AS c'
  const before = (id: number | undefined): Query => sql('c.id < ?', id ?? MAX_ID)
  if (sort === 'newest') return [{ from, key: 'NULL', is: before(after?.id), order: 'c.id DESC' }]
  if (sort === 'email') return [{ from, key: 'c.email', is: sql('c.email > ?', after?.key ?? ''), order: 'c.email' }]
  if (sort === 'seen') {
    const isNever = after?.key === 0
    const is = sql('(a.seen_at, c.id) < (?, ?) AND a.seen_at > 0', after?.key ?? MAX_ID, after?.id ?? MAX_ID)
    const joined = 'contacts AS c JOIN contact_activity AS a ON a.app_id = c.app_id AND a.contact_id = c.id'
    const seenPeople = { from: joined, key: 'a.seen_at', is, order: 'a.seen_at DESC, c.id DESC' }
    const unseen = joinAll([wasSeen('never'), before(isNever ? after.id : undefined)])
    const neverSeen = { from, key: 'CAST(0 AS bigint)', is: unseen, order: 'c.id DESC' }
    return [
      ...(seen === 'never' || isNever ? [] : [seenPeople]),
      ...(seen === null || seen === 'never' ? [neverSeen] : []),
    ]
  }
  const isUnnamed = after !== null && after.key === null
  const is = sql('(c.sort_name, c.id) > (?, ?)', after?.key ?? '', after?.id ?? 0)
  const named = { from, key: 'c.sort_name', is, order: 'c.sort_name, c.id' }
  const without = joinAll([sql('c.sort_name IS NULL'), before(isUnnamed ? after.id : undefined)])
  const unnamed = { from, key: 'NULL', is: without, order: 'c.id DESC' }
  return isUnnamed ? [unnamed] : [named, unnamed]
}

/** The last email of each person that the filter asks for, of any message if ?3 is null. */
const selectEmails = ({ numbersOf }: Dialect, at: 'handed_at' | 'came_back_at'): string =>
  `SELECT person.value AS id, message_id AS "messageId", handed_at AS "emailedAt", came_back_at AS "cameBackAt",
     opened_at AS "openedAt"
   FROM ${numbersOf('?2', 'person')} CROSS JOIN LATERAL
     (SELECT message_id, handed_at, came_back_at, opened_at FROM deliveries
      WHERE app_id = ?1 AND contact_id = person.value AND ${USES_DEDUPE_KEY} AND ${WAS_SENT}
        AND message_id = coalesce(?3, message_id) AND ${at} IS NOT NULL
      ORDER BY ${at} DESC LIMIT 1) AS last`
