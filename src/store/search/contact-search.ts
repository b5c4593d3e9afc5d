import type { Sql, SqlValue } from '../engine/sql.ts'
import { mapInOrder } from '../../core/in-order.ts'
import { MOST_COUNTED } from '../../core/count.ts'
import { appToken, createIndexReads } from './contact-index.ts'
import { createContactReads } from '../contacts.ts'
import { USES_DEDUPE_KEY, WAS_SENT } from '../delivery-states.ts'
import type { ContactRow, ContactStatus } from '../types.ts'

/** Rows that a page looks at where few match a condition (measured: 20 ms). */
const SCANNED_ROWS = 15_000
/** Lookups of listed rows in the indexes of other conditions (measured: 15 to 20 ms). */
const LOOKUPS = 35_000
/** Where the listed rows are sorted, each lookup begins near the last and takes this share of the time. */
const SORTED_LOOKUP = 3 / 5
/** Rows of several indexes that are merged at once (measured: 20 ms). */
const MERGED_ROWS = 400_000
/** The share of these rows that is merged as a whole, because they are counted before. */
const WHOLE = 2 / 3
/** A person of any app whose last page view is read takes as long as this many. */
const VIEW_COST = 1.25
/** Rows of an index that are only counted (measured: 28 ms), and how many take as long as a lookup. */
const LISTED_ROWS = 1_300_000
const LISTED_PER_LOOKUP = 20
/** The share of these rows that is counted for a page in another order. */
const LISTED_OTHER_ORDER = 4 / 5
/** A row of an index by time takes as long as this many. */
const LISTED_BY_TIME = 1.3
const CHUNK_ROWS = 500
/** From here on, looking up each listed row takes longer than walking the index to the next few. */
const MANY_IDS = 1_000
export const UNCOUNTED: PeopleCount = { people: 0, isExact: false }
const BOUNDS = {
  counted: MOST_COUNTED,
  scanned: SCANNED_ROWS,
  probed: LOOKUPS,
  merged: MERGED_ROWS,
  listed: LISTED_ROWS,
}
const MAX_ID = Number.MAX_SAFE_INTEGER
/** The share of these rows that is merged before those who are on no list are counted by subtraction. */
const OUTSIDE = 1 / 4
/** The share of these rows that is merged only to count people, for a page in another order. */
const OTHER_ORDER = 1 / 3
/** Reading and comparing an email and a name takes as long as this many lookups. */
const SEARCH_COST = 5
/** Tags, fields and events that a filter suggests. */
export const SUGGESTED = 100
/** Shorter parts of names are not indexed. */
export const NAME_PART_CHARACTERS = 3

/** Times in ms UTC. `before` excludes people who were never seen. */
export type SeenFilter = { since: number } | { before: number } | 'never'

/**
 * What emails did for a person: of one message, or of any (null). `since`: the last email, or their last return; null
 * at any time.
 */
export type EmailFilter = {
  result: 'cameBack' | 'emailed' | 'notEmailed'
  messageId: number | null
  since: number | null
}

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
  email: EmailFilter | null
}

export const PEOPLE_SORTS = ['newest', 'name', 'email', 'seen'] as const
export type PeopleSort = (typeof PEOPLE_SORTS)[number]

/** The last person of a page, with the value that the people are sorted by; null: without a name, or by id. */
export type PeopleCursor = { key: string | number | null; id: number }

export type PeopleQuery = {
  appId: number
  filter: PeopleFilter
  sort: PeopleSort
  after: PeopleCursor | null
  limit: number
}

/** The last email that a filter asks for, or the last one after which the person came back (ms UTC). */
export type EmailFound = { messageId: number; emailedAt: number; cameBackAt: number | null; openedAt: number | null }
/** `foundEmail`: null if the filter doesn't ask for one. */
export type FoundPerson = ContactRow & { foundEmail: EmailFound | null }

/** `next` continues even if the page is not full. */
export type PeoplePage = { people: FoundPerson[]; next: PeopleCursor | null }
/** If not exact, there are at least that many. */
export type PeopleCount = { people: number; isExact: boolean }

/** Whether to count all who match. */
type Counted = PeopleQuery & { isCounted: boolean }
type Query = { text: string; values: SqlValue[] }
/**
 * Rows of an index in order of ids: of people who match, or of those who don't. `list`: their ids by a quicker index, in
 * another order. `read`: the rows that are read to find them, if others too.
 */
type Arm = { isIn: boolean; id: string; from: Query; list?: Query; read?: Query }
/**
 * `ids` selects the ids of all who match, maybe sorted; null if few don't match. `arms`: the same as lists that can be
 * merged; none if the index has another order. `whole`: an arm that reads the people of all apps. `test` is a condition
 * on the row `c`; `cost`: how many lookups it takes.
 */
type Condition = { ids: Query | null; isSorted?: boolean; arms: Arm[]; whole?: Arm; test: Query; cost: number }
/**
 * A condition's list with the other conditions. All of its rows are looked up if they are `most`, or else `some`.
 * `size`: the number of people if it isn't known. `least`: the least it may be.
 */
type Listed = { ids: Query; others: Condition[]; most: number; some: number; size: number; least: number }
type Candidate = { id: number; key: string | number | null; isMatch: number; searched?: string }
/** `searched`: the email and the name on a line each. */
type IsFound = (searched: string) => boolean
/** `isFound`: a search with too many matches to list. */
type Conditions = { conditions: Condition[]; isFound: IsFound | null }
/** The newest matches, and where the next page starts. */
type Start = { found: PeopleCursor[]; next: PeopleCursor | null }
/** The ids of all who match, or the conditions to walk with. `start`: if counting has found the first page. */
type Plan = { ids: number[] } | (Conditions & { count: PeopleCount; start?: Start })
/** Of ids: `from` up to, not including, `until`. */
type Range = { from: number; until: number }

const sql = (text: string, ...values: SqlValue[]): Query => ({ text, values })

/** `bounds` is for tests. */
export function createContactSearch(db: Sql, bounds = BOUNDS) {
  const { counted, scanned: mostScanned, probed, merged, listed } = bounds
  const many: PeopleCount = { people: counted, isExact: false }
  const { listSeenContacts } = createContactReads(db)
  const all = async <Row>({ text, values }: Query): Promise<Row[]> =>
    await db.prepare<Row, SqlValue[]>(text).all(...values)
  const idsOf = async (query: Query): Promise<number[]> => (await all<{ id: number }>(query)).map(({ id }) => id)
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
  const findByName = async (appId: number, part: string, limit: number): Promise<number[]> =>
    Array.from(part).length < NAME_PART_CHARACTERS
      ? []
      : (await names.all(`app : "${appToken(appId)}" AND name : "${part.replaceAll('"', '""')}"`, limit)).map(
          ({ id }) => id,
        )

  const findByEmail = async (appId: number, start: string, limit: number): Promise<number[]> =>
    (await emails.all(appId, start, `${start}\u{10FFFF}`, limit)).map(({ id }) => id)

  const search = async (appId: number, text: string): Promise<Condition | IsFound> => {
    const part = tidy(text)
    const most = counted + 1
    const [byEmail, byName] = [await findByEmail(appId, part.toLowerCase(), most), await findByName(appId, part, most)]
    if (byEmail.length === most || byName.length === most) return createIsFound(part)
    const ids = JSON.stringify([...new Set([...byEmail, ...byName])])
    const list = 'SELECT value AS id FROM json_each(?)'
    return { ids: sql(list, ids), arms: [], test: sql(`c.id IN (${list})`, ids), cost: 1 }
  }

  const readConditions = async (appId: number, filter: PeopleFilter): Promise<Conditions> => {
    const { tag, status, field, event, seen, email } = filter
    const conditions: Condition[] = []
    if (tag !== null) conditions.push(hasTag(appId, tag))
    if (status !== null) conditions.push(hasStatus(appId, status))
    if (field !== null) conditions.push(hasField(appId, field))
    if (event !== null) conditions.push(didEvent((await nameId.get(appId, event.name))?.id ?? 0, event.isDone))
    if (seen !== null) conditions.push(wasSeen(appId, seen))
    if (email !== null) conditions.push(hadEmail(appId, email))
    const found = filter.search === null || tidy(filter.search) === '' ? null : await search(appId, filter.search)
    if (typeof found === 'function') return { conditions, isFound: found }
    return { conditions: found ? [found, ...conditions] : conditions, isFound: null }
  }

  const countUpTo = async ({ text, values }: Query, most: number): Promise<number> =>
    (await all<{ n: number }>(sql(`SELECT count(*) AS n FROM (SELECT 1 FROM (${text}) LIMIT ?)`, ...values, most)))[0]
      ?.n ?? 0

  const peopleOf = db.prepare<{ people: number }, [number]>(
    'SELECT coalesce(sum(people), 0) AS people FROM people_by_day WHERE app_id = ?',
  )
  const nthBefore = db.prepare<{ id: number }, [number, number, number]>(
    `SELECT id FROM contacts INDEXED BY contacts_by_app WHERE app_id = ? AND id < ? ORDER BY id DESC LIMIT 1 OFFSET ?`,
  )
  const countPeople = async (appId: number): Promise<number> => (await peopleOf.get(appId))?.people ?? 0

  /** The lists, the longest first, if counting people who are on none of them is quick. */
  const findOutside = async (arms: Arm[], people: number, isNewest: boolean): Promise<Arm[] | null> => {
    const sized = await mapInOrder(arms, async (arm) => ({ arm, size: await countUpTo(listOf(arm), probed + 1) }))
    const sorted = sized.toSorted((a, b) => b.size - a.size)
    const lookups = sumOf(sorted.map(({ size }, index) => size * index))
    const rows = people * (sorted[0]?.arm.list ? LISTED_BY_TIME : 1) + lookups * LISTED_PER_LOOKUP
    return rows <= listed * (isNewest ? 1 : LISTED_OTHER_ORDER) ? sorted.map(({ arm }) => arm) : null
  }
  const countOutside = async (arms: Arm[], people: number): Promise<number> =>
    people -
    sumOf(
      await mapInOrder(arms, async (arm, index) => {
        const { text, values } = listOf(arm)
        const test = allOf(arms.slice(0, index).map(toOutside))
        const count = sql(`SELECT count(*) AS n FROM (${text}) AS c WHERE ${test.text}`, ...values, ...test.values)
        return (await all<{ n: number }>(count))[0]?.n ?? 0
      }),
    )

  const countMerged = (arms: Arm[]): number =>
    Math.max(1, Math.floor(merged / (arms.length + (arms.some(({ isIn }) => isIn) ? 0 : 1))))

  /** As many people before `until` as are merged at once. */
  const rangeBefore = async (appId: number, arms: Arm[], until: number, part = 1): Promise<Range> => {
    const most = Math.max(1, Math.floor(countMerged(arms) * part))
    const isMore = isMerged(arms) && (await countPeople(appId)) > most
    return { from: isMore ? ((await nthBefore.get(appId, until, most - 1))?.id ?? 0) : 0, until }
  }

  /** The ids of `candidates` that match: one more than are counted, where there are that many. */
  const listMatches = async (
    candidates: Query,
    conditions: Condition[],
    isFound: IsFound | null,
  ): Promise<number[]> => {
    const test = allOf(conditions)
    const columns = `c.id AS id${isFound ? SEARCHED_COLUMNS : ''}`
    const text = `SELECT ${columns} FROM (${candidates.text}) AS c WHERE ${test.text} LIMIT ?`
    const found = await all<Candidate>(sql(text, ...candidates.values, ...test.values, isFound ? MAX_ID : counted + 1))
    return found.filter((one) => isFound?.(one.searched ?? '') ?? true).map(({ id }) => id)
  }

  const plan = async (query: Counted): Promise<Plan> => {
    const { appId, filter } = query
    const { conditions, isFound } = await readConditions(appId, filter)
    const people = await countPeople(appId)
    const lists = (
      await mapInOrder(conditions, async (one): Promise<Listed[]> => {
        if (!one.ids) return []
        const others = conditions.filter((other) => other !== one)
        const some = Math.floor(probed / lookupsOf(others, isFound))
        const most = one.isSorted && !isFound ? Math.floor(some / SORTED_LOOKUP) : some
        const known = Math.max(most, probed)
        const least = await countUpTo(one.ids, known + 1)
        const size = least > known ? Math.max(people, least) : least
        return [{ ids: one.ids, others, most, some, size, least }]
      })
    ).flat()
    const everyone = {
      ids: everyoneOf(appId),
      others: conditions,
      most: counted,
      some: counted,
      size: people,
      least: people,
    }
    const smallest = [...lists, everyone]
      .filter(({ size, most }) => size <= most)
      .toSorted((a, b) => a.size - b.size)[0]
    if (!smallest) return await planMany(query, { conditions, isFound, lists, people })
    const ids = await listMatches(smallest.ids, smallest.others, isFound)
    return ids.length <= counted ? { ids } : { conditions, isFound, count: many }
  }

  type Many = Conditions & { lists: Listed[]; people: number }

  /** The arms that are merged if all of their rows can be; null if they are too many. */
  const findWhole = async ({ conditions, lists, people }: Many): Promise<Arm[] | null> => {
    const arms = conditions.flatMap(({ arms, whole }) => (whole ? [whole] : arms))
    if (!isMerged(arms)) return null
    const sized = conditions.flatMap(({ ids, arms, whole }) => {
      const list = lists.find((one) => one.ids === ids)
      // of all apps, so at least one of each person
      if (whole) return { arm: whole, least: people * VIEW_COST, size: people * VIEW_COST, cost: VIEW_COST }
      return arms.map((arm) => ({ arm, least: list?.least ?? 0, size: list?.size ?? people, cost: 1 }))
    })
    const everyone = arms.some(({ isIn }) => isIn) ? 0 : people
    const isShort = everyone + sumOf(sized.map(({ size }) => size)) <= merged
    let left = Math.floor(isShort ? merged : merged * WHOLE) - everyone
    if (sumOf(sized.map(({ least }) => least)) > left) return null
    for (const { arm, size, cost } of sized)
      if (left >= 0)
        left -= isShort && !arm.read ? size : cost * (await countUpTo(arm.read ?? selectArm(arm), Math.ceil(left) + 1))
    return left < 0 ? null : arms
  }

  /** Where many match each condition. Only the first page is counted if that takes long. */
  const planMany = async (query: Counted, given: Many): Promise<Plan> => {
    const { conditions, isFound, lists, people } = given
    const { appId, filter, sort, after, isCounted } = query
    const toPlan = (count: PeopleCount, start?: Start): Plan => ({ conditions, isFound, count, start })
    if (conditions.length + (isFound ? 1 : 0) <= 1 && conditions.every(({ ids }) => ids !== null)) return toPlan(many)
    const whole = isCounted ? await findWhole(given) : null
    const arms = whole ?? conditions.flatMap((one) => one.arms)
    const rest = conditions.filter((one) => one.arms.length === 0 && !(whole && one.whole))
    const [longest] = lists.toSorted((a, b) => b.some / b.size - a.some / a.size)
    const share = whole ? 1 : isMerged(arms) ? Math.min(1, countMerged(arms) / people) : 0
    if (share < 1 && (!isCounted || after !== null)) return toPlan(UNCOUNTED)
    if (share > 0 && share >= (longest ? longest.some / longest.size : 0)) {
      const isNewest = sort === 'newest'
      const isOutside = share < 1 && rest.length === 0 && !isFound && !arms.some(({ isIn }) => isIn)
      const outside = isOutside ? await findOutside(arms, people, isNewest) : null
      const part = (share === 1 || isNewest ? 1 : OTHER_ORDER) * (outside ? OUTSIDE : 1)
      const range = whole ? { from: 0, until: MAX_ID } : await rangeBefore(appId, arms, MAX_ID, part)
      const list = merge(appId, arms, range)
      const ids = await idsOf(sql(`${list.text} LIMIT ?`, ...list.values, counted + 1))
      if (ids.length > counted && rest.length === 0 && !isFound) return toPlan(many)
      const most = Math.floor(probed / lookupsOf(rest, isFound))
      const tested = rest.length === 0 && !isFound ? ids : ids.slice(0, most)
      const values = sql('SELECT value AS id FROM json_each(?)', JSON.stringify(tested))
      const matches = await listMatches(values, rest, isFound)
      const isWhole = tested.length === ids.length && ids.length <= counted
      if (range.from === 0 && isWhole) return { ids: matches }
      const next = isWhole ? range.from : (tested.at(-1) ?? MAX_ID)
      const found = matches.toSorted((a, b) => b - a).map((id) => ({ key: null, id }))
      const start = isNewest && after === null ? { found, next: { key: null, id: next } } : undefined
      return toPlan(
        outside ? upTo(Math.max(matches.length, await countOutside(outside, people))) : atLeast(matches.length),
        start,
      )
    }
    if (isFound) {
      const query = { appId, filter, sort: 'newest', after: null, limit: counted + 1 } as const
      const { found, next } = await walk({ conditions, isFound }, query, mostScanned / 4)
      return toPlan(next === null ? upTo(found.length) : atLeast(found.length))
    }
    if (!longest) return toPlan(many)
    const { ids, others, some } = longest
    const list = sql(`SELECT id FROM (${ids.text} LIMIT ?)`, ...ids.values, some)
    return toPlan(atLeast((await listMatches(list, others, null)).length))
  }

  const atLeast = (people: number): PeopleCount => ({ people: Math.min(people, counted), isExact: false })
  const upTo = (people: number): PeopleCount => ({ people: Math.min(people, counted), isExact: people <= counted })

  /** Of listed ids. Where they are many, the next ones are near in the index. */
  const pageOfIds = async (ids: number[], query: PeopleQuery): Promise<PeopleCursor[]> => {
    const { sort, after, limit, appId } = query
    if (sort === 'newest') {
      const until = after?.id ?? MAX_ID
      const sorted = ids.filter((id) => id < until).toSorted((a, b) => b - a)
      return sorted.slice(0, limit).map((id) => ({ key: null, id }))
    }
    const list = JSON.stringify(ids)
    const sections = sectionsOf(query, after)
    const near =
      ids.length < MANY_IDS
        ? []
        : (
            await mapInOrder(sections.slice(0, 1), async (section) => {
              const { text, values } = rowsOf(appId, section, mostScanned)
              return await all<PeopleCursor>(
                sql(`SELECT id, key FROM (${text}) WHERE ${IS_LISTED} LIMIT ?`, ...values, list, limit),
              )
            })
          ).flat()
    if (near.length === limit) return near
    const found: PeopleCursor[] = []
    for (const { table, id, key, is, values, order } of sections) {
      const query = `SELECT ${id} AS id, ${key} AS key FROM (SELECT value AS listed FROM json_each(?))
        CROSS JOIN ${table} ON ${table}.${id} = listed WHERE ${is} ORDER BY ${order} LIMIT ?`
      if (found.length < limit)
        found.push(...(await all<PeopleCursor>(sql(query, list, ...values, limit - found.length))))
    }
    return found
  }

  /** In the order of an index, up to a number of rows. */
  const walk = async ({ conditions, isFound }: Conditions, query: PeopleQuery, mostRows?: number) => {
    const { appId, sort, limit } = query
    const found: PeopleCursor[] = []
    const isByAge = sort === 'newest'
    const arms = conditions.flatMap(({ arms }) => arms)
    const tested = isByAge ? conditions.filter((one) => one.arms.length === 0) : conditions
    const cost = lookupsOf(tested, isFound)
    // neighbours in the order of page views are far apart in other indexes
    const most = mostRows ?? (2 * mostScanned) / (1 + (sort === 'seen' ? 3 * cost : cost))
    const test = allOf(tested)
    const columns = `c.id AS id, c.key AS key, (${test.text}) AS "isMatch"${isFound ? SEARCHED_COLUMNS : ''}`
    const isTested = tested.length > 0 || isFound !== null
    let after = query.after ?? startOf(query)
    const { from } = isByAge ? await rangeBefore(appId, arms, after?.id ?? MAX_ID) : { from: 0 }
    for (let scanned = 0, rows = isTested ? CHUNK_ROWS : limit; scanned < most; scanned += rows) {
      const chunk: Candidate[] = []
      const sources = isByAge
        ? [newestOf(merge(appId, arms, { from, until: after?.id ?? MAX_ID }))]
        : sectionsOf(query, after).map((one) => rowsOf(appId, one))
      for (const { text, values } of sources) {
        const left = rows - chunk.length
        const some = `SELECT ${columns} FROM (${text} LIMIT ?) AS c`
        if (left > 0) chunk.push(...(await all<Candidate>(sql(some, ...test.values, ...values, left))))
      }
      for (const { id, key, isMatch, searched = '' } of chunk) {
        after = { key, id }
        if (isMatch === 1 && (isFound?.(searched) ?? true)) found.push(after)
        if (found.length === limit) return { found, next: after }
      }
      if (chunk.length === rows) continue
      return { found, next: from > 0 ? { key: null, id: from } : null }
    }
    return { found, next: after }
  }

  /** The last email of each person that the filter asks for, of any message if ?3 is null. */
  const prepareEmails = (at: 'handed_at' | 'came_back_at') =>
    db.prepare<EmailFound & { id: number }, [number, string, number | null]>(
      `SELECT person.value AS id, message_id AS "messageId", handed_at AS "emailedAt", came_back_at AS "cameBackAt",
         opened_at AS "openedAt"
       FROM json_each(?2) AS person CROSS JOIN deliveries ON deliveries.id =
         (SELECT id FROM deliveries WHERE app_id = ?1 AND contact_id = person.value AND ${USES_DEDUPE_KEY}
            AND ${WAS_SENT} AND +message_id = coalesce(?3, message_id) AND ${at} IS NOT NULL
          ORDER BY ${at} DESC LIMIT 1)`,
    )
  const lastEmails = { emailed: prepareEmails('handed_at'), cameBack: prepareEmails('came_back_at') }

  const addEmails = async (appId: number, { email }: PeopleFilter, people: ContactRow[]): Promise<FoundPerson[]> => {
    if (email === null || email.result === 'notEmailed')
      return people.map((person) => ({ ...person, foundEmail: null }))
    const ids = JSON.stringify(people.map(({ id }) => id))
    const found = new Map(
      (await lastEmails[email.result].all(appId, ids, email.messageId)).map(({ id, ...one }) => [id, one]),
    )
    return people.map((person) => ({ ...person, foundEmail: found.get(person.id) ?? null }))
  }

  // one snapshot for a page with its count
  const findCounted = async (query: Counted): Promise<PeoplePage & { count: PeopleCount }> => {
    const { appId, filter, limit } = query
    const planned = await plan(query)
    const count = 'ids' in planned ? { people: planned.ids.length, isExact: true } : planned.count
    const wanted = { ...query, limit: limit + 1 }
    const { found, next } =
      'ids' in planned
        ? { found: await pageOfIds(planned.ids, wanted), next: null }
        : (planned.start ?? (await walk(planned, wanted)))
    const page = found.slice(0, limit)
    const people = await addEmails(appId, filter, await listSeenContacts(page.map(({ id }) => id)))
    return { people, next: found.length > limit ? (page.at(-1) ?? null) : next, count }
  }

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
  const textsOf = async (query: typeof tags, appId: number): Promise<string[]> =>
    (await query.all(appId)).map(({ text }) => text)

  return {
    ...createIndexReads(db),
    /** The first of each, alphabetically. */
    suggestFilters: async (appId: number) => ({
      tags: await textsOf(tags, appId),
      fields: await textsOf(fields, appId),
      events: await textsOf(events, appId),
    }),
    findPeople: (query: Counted) => db.readTogether(() => findCounted(query)),
  }
}

const everyoneOf = (appId: number): Query => sql('SELECT id FROM contacts WHERE app_id = ?', appId)

const selectArm = ({ id, from }: Arm): Query => sql(`SELECT ${id} AS id FROM ${from.text}`, ...from.values)

const listOf = (arm: Arm): Query => arm.list ?? selectArm(arm)

/** That a person isn't on the list. */
const toOutside = ({ id, from }: Arm): Pick<Condition, 'test'> => ({
  test: sql(`NOT EXISTS (SELECT 1 FROM ${from.text} AND ${id} = c.id)`, ...from.values),
})

const isMerged = (arms: Arm[]): boolean => arms.length > 1 || arms.some(({ isIn }) => !isIn)

/** Newest first. SQLite reads sorted lists side by side, so that none is looked up in another. */
function merge(appId: number, arms: Arm[], { from, until }: Range): Query {
  const everyone: Arm = {
    isIn: true,
    id: 'id',
    from: sql('contacts INDEXED BY contacts_by_app WHERE app_id = ?', appId),
  }
  const [included, excluded] = [arms.filter(({ isIn }) => isIn), arms.filter(({ isIn }) => !isIn)]
  const merged = [...(included.length === 0 ? [everyone] : included), ...excluded]
  const texts = merged.map((arm, index) => {
    const operator = index === 0 ? '' : arm.isIn ? 'INTERSECT ' : 'EXCEPT '
    return `${operator}${selectArm(arm).text} AND ${arm.id} >= ? AND ${arm.id} < ?`
  })
  return sql(`${texts.join(' ')} ORDER BY id DESC`, ...merged.flatMap((arm) => [...arm.from.values, from, until]))
}

const toCondition = (arm: Arm, test: Query): Condition => ({
  ids: arm.isIn ? listOf(arm) : null,
  isSorted: arm.list === undefined,
  arms: [arm],
  test,
  cost: 1,
})

const sumOf = (numbers: number[]): number => numbers.reduce((sum, one) => sum + one, 0)

/** How many lookups a row of a list takes. */
const lookupsOf = (conditions: Condition[], isFound: IsFound | null): number =>
  Math.max(1, sumOf(conditions.map(({ cost }) => cost)) + (isFound ? SEARCH_COST : 0))

const hasTag = (appId: number, tag: string): Condition =>
  toCondition(
    { isIn: true, id: 'contact_id', from: sql('contact_tags WHERE app_id = ? AND tag = ?', appId, tag) },
    sql('EXISTS (SELECT 1 FROM contact_tags WHERE app_id = ? AND tag = ? AND contact_id = c.id)', appId, tag),
  )

const REFUSING = ['pending', 'unsubscribed', 'bounced', 'complained'] as const
/** Found in the index, which has no others. */
const IS_REFUSING = `status IN ('${REFUSING.join("', '")}') AND status <> 'subscribed'`

const armOfStatus = (appId: number, status: ContactStatus, isIn: boolean): Arm => {
  const from = `contacts INDEXED BY contacts_by_status WHERE app_id = ? AND status = ? AND status <> 'subscribed'`
  return { isIn, id: 'id', from: sql(from, appId, status) }
}

function hasStatus(appId: number, status: ContactStatus): Condition {
  if (status !== 'subscribed') {
    const arm = armOfStatus(appId, status, true)
    return toCondition(arm, sql(`EXISTS (SELECT 1 FROM ${arm.from.text} AND id = c.id)`, ...arm.from.values))
  }
  return {
    ids: null,
    arms: REFUSING.map((one) => armOfStatus(appId, one, false)),
    test: sql(
      `NOT EXISTS (SELECT 1 FROM contacts INDEXED BY contacts_by_status WHERE app_id = ? AND ${IS_REFUSING} AND id = c.id)`,
      appId,
    ),
    cost: 2,
  }
}

function hasField(appId: number, { name, value }: { name: string; value: string | null }): Condition {
  if (value !== null) {
    const from = sql('contact_fields WHERE app_id = ? AND name = ? AND value = ?', appId, name, value)
    const test = sql(`EXISTS (SELECT 1 FROM ${from.text} AND contact_id = c.id)`, ...from.values)
    return toCondition({ isIn: true, id: 'contact_id', from }, test)
  }
  return {
    // in order of values
    ids: sql('SELECT contact_id AS id FROM contact_fields WHERE app_id = ? AND name = ?', appId, name),
    arms: [],
    test: sql(
      'EXISTS (SELECT 1 FROM contacts, json_each(fields) WHERE contacts.id = c.id AND json_each.key = ?)',
      name,
    ),
    cost: 4,
  }
}

const didEvent = (nameId: number, isDone: boolean): Condition =>
  toCondition(
    { isIn: isDone, id: 'contact_id', from: sql('contact_events WHERE name_id = ?', nameId) },
    sql(`${isDone ? '' : 'NOT '}EXISTS (SELECT 1 FROM contact_events WHERE name_id = ? AND contact_id = c.id)`, nameId),
  )

function wasSeen(appId: number, seen: SeenFilter): Condition {
  if (seen === 'never') {
    const from = sql('contact_activity INDEXED BY contact_activity_by_seen WHERE app_id = ? AND seen_at = 0', appId)
    const test = sql('EXISTS (SELECT 1 FROM contact_activity WHERE contact_id = c.id AND seen_at = 0)')
    return toCondition({ isIn: true, id: 'contact_id', from }, test)
  }
  const [is, ...values] = 'since' in seen ? ['>= ?', seen.since] : ['BETWEEN 1 AND ?', seen.before - 1]
  const from = sql(`contact_activity NOT INDEXED WHERE app_id = ? AND seen_at ${is}`, appId, ...values)
  return {
    ids: sql(`SELECT contact_id AS id FROM contact_activity WHERE app_id = ? AND seen_at ${is}`, appId, ...values),
    arms: [],
    whole: { isIn: true, id: 'contact_id', from, read: sql('SELECT 1 FROM contact_activity WHERE contact_id > 0') },
    test: sql(`EXISTS (SELECT 1 FROM contact_activity WHERE contact_id = c.id AND seen_at ${is})`, ...values),
    cost: 1,
  }
}

export const ANY_MESSAGE = 0

/** Few are listed by the time, and many by the primary key, in order of ids. */
function hadEmail(appId: number, { result, messageId, since }: EmailFilter): Condition {
  const [isIn, at] = [result !== 'notEmailed', result === 'cameBack' ? 'came_back' : 'emailed']
  const ofMessage = 'WHERE app_id = ? AND message_id = ?'
  const [message, values] = [
    [appId, messageId ?? ANY_MESSAGE],
    [appId, messageId ?? ANY_MESSAGE, since ?? 0],
  ]
  const index = `people_results INDEXED BY people_results_${at} ${ofMessage} AND ${at}_at >= ?`
  const from = sql(`people_results ${ofMessage} AND +${at}_at >= ?`, ...values)
  const list = sql(`SELECT contact_id AS id FROM ${index}`, ...values)
  const test = `EXISTS (SELECT 1 FROM ${from.text} AND contact_id = c.id)`
  const read = sql(`SELECT 1 FROM people_results ${ofMessage}`, ...message)
  return toCondition({ isIn, id: 'contact_id', from, list, read }, sql(isIn ? test : `NOT ${test}`, ...values))
}

const allOf = (conditions: Pick<Condition, 'test'>[]): Query => ({
  text: ['true', ...conditions.map(({ test }) => test.text)].join(' AND '),
  values: conditions.flatMap(({ test }) => test.values),
})

/** The columns of a row of `c` that a search reads. */
const SEARCHED_COLUMNS = `, (SELECT email || char(10) || coalesce(full_name, '') FROM contacts WHERE id = c.id) AS searched`
const IS_LISTED = 'id IN (SELECT value FROM json_each(?))'

/** A part of an index in the wanted order. */
type Section = { table: string; id: string; key: string; is: string; values: SqlValue[]; order: string }

const rowsOf = (appId: number, { table, id, key, is, values, order }: Section, most?: number): Query => {
  const text = `SELECT ${id} AS id, ${key} AS key FROM ${table} WHERE app_id = ? AND ${is} ORDER BY ${order}`
  return sql(most === undefined ? text : `${text} LIMIT ${most}`, appId, ...values)
}

const newestOf = ({ text, values }: Query): Query => sql(`SELECT id, NULL AS key FROM (${text})`, ...values)

/** People whom a filter excludes are skipped. */
const startOf = ({ sort, filter: { seen } }: PeopleQuery): PeopleCursor | null => {
  if (sort !== 'seen' || seen === null || (seen !== 'never' && 'since' in seen)) return null
  return { key: seen === 'never' ? 1 : seen.before, id: 0 }
}

/** The people after one. */
function sectionsOf(
  { sort, filter: { seen } }: Pick<PeopleQuery, 'sort' | 'filter'>,
  after: PeopleCursor | null,
): Section[] {
  const contacts = { table: 'contacts', id: 'id' }
  if (sort === 'email') {
    return [{ ...contacts, key: 'email', is: 'email > ?', values: [after?.key ?? ''], order: 'email' }]
  }
  if (sort === 'seen') {
    const since = seen !== null && seen !== 'never' && 'since' in seen ? seen.since : 0
    const values = [after?.key ?? MAX_ID, after?.id ?? MAX_ID, since]
    const is = '(seen_at, contact_id) < (?, ?) AND seen_at >= ?'
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

/** Control characters are blanks, because SQLite takes a NUL for the end. */
export const tidy = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').trim()

export const foldName = (name: string): string => name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()

/** Folds names like the index. */
function createIsFound(part: string): IsFound {
  const [start, folded] = [part.toLowerCase(), foldName(part)]
  const hasNames = Array.from(part).length >= NAME_PART_CHARACTERS
  return (searched) =>
    searched.startsWith(start) || (hasNames && foldName(searched.slice(searched.indexOf('\n') + 1)).includes(folded))
}
