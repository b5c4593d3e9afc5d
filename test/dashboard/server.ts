/**
 * A store and the dashboard over it. Tests use one after another, because opening them costs more than most tests (measured:
 * 149 to 93 s of processor time for `bun test test/dashboard`).
 */
import { rmSync } from 'node:fs'
import { Database } from 'bun:sqlite'
import { Elysia } from 'elysia'
import { apiRoutes } from '../../src/api/index.ts'
import { createIdSequence, idAt } from '../../src/core/ids.ts'
import { createDashboard } from '../../src/dashboard/index.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import type { Dependencies } from '../../src/dependencies.ts'
import { databasePath } from '../../src/store/engine/database.ts'
import type { Store } from '../../src/store/store.ts'
import { type Begin, openTestStore } from '../data-folder.ts'
import { isOnPostgres } from '../postgres/test-databases.ts'

export const NOW = Date.UTC(2026, 4, 3, 12)
export const DAY = 86_400_000

export const openApiOf = (parts: Dependencies) => apiRoutes(parts).openApi

export type Place = { baseUrl: string; host?: string }
type Server = Awaited<ReturnType<typeof openServer>>
type Dashboard = ReturnType<typeof createFollowing>

/** The monotonic clock never goes back, even if the next test begins at `NOW` again. */
function createClock() {
  let aheadMs = 0
  const clock = {
    ms: NOW,
    now: (): number => clock.ms,
    monotonicMs: (): number => clock.ms + aheadMs,
    steadyNow: (): number => clock.ms,
    /** Later than any limit or delay of the last test lasts. */
    startAgain(): void {
      aheadMs += Math.max(0, clock.ms - NOW) + 2 * DAY
      clock.ms = NOW
    },
  }
  return clock
}

/** What `find` finds at each use. */
const follow = <T extends object>(find: () => T): T =>
  new Proxy(find(), {
    get: (_, name) => {
      const value: unknown = Reflect.get(find(), name)
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => Reflect.apply(Reflect.get(find(), name) as () => unknown, find(), given)
    },
    apply: (_, self, given) => Reflect.apply(find() as () => unknown, self, given),
  })

/** The dashboard over the parts of whichever test is running. It knows tests apart by the time and by ids. */
function createFollowing({ host }: Place) {
  let [current, app]: [Dependencies | null, Elysia | null] = [null, null]
  const find = (): Dependencies => {
    if (!current) throw new Error('no test uses this server')
    return current
  }
  const followAll = (first: Dependencies): Dependencies =>
    Object.fromEntries(
      (Object.keys(first) as (keyof Dependencies)[]).map((name) => [
        name,
        typeof first[name] === 'string' ? first[name] : follow(() => find()[name] as object),
      ]),
    ) as Dependencies
  const create = (parts: Dependencies) => {
    // few pages show it, and making it takes a sixth of opening them
    const openApi = () => openApiOf(parts)()
    return new Elysia({ normalize: false }).use(createDashboard({ ...parts, openApi, host }).app)
  }
  return {
    clock: createClock(),
    use(parts: Dependencies): void {
      current = parts
      app ??= create(followAll(parts)) as unknown as Elysia
    },
    handle: (request: Request) => (app ?? new Elysia()).handle(request),
  }
}

/** Ids after this one would soon be of a later time than the next test's. */
const isLate = (id: number): boolean => id >= (idAt(NOW) + idAt(NOW + 1)) / 2

async function openServer(folder: string, dashboard: Dashboard) {
  const { clock } = dashboard
  const ids = createIdSequence(clock.now)
  let lastId = 0
  // as the store makes them
  const now = () => {
    lastId = ids.next()
    return clock.now()
  }
  const store = await openTestStore(folder, { now, rules: STORE_RULES })
  return {
    folder,
    clock,
    store,
    dashboard,
    isAhead: () => isLate(lastId),
    async end(): Promise<void> {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}

const NUMBERED = ['contacts', 'events', 'deliveries', 'snippet_batches', 'messages', 'topics']
/** More apps than a test adds. */
const APPS = 1_000
let lastApps = 0
const knownTables = new WeakMap<Begin<unknown>, string[]>()

/** Those with rows of an app. */
function listAppTables(db: Database): string[] {
  const columns = `sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table' AND c.name = 'app_id'`
  const tables = db.query<{ name: string }, []>(`SELECT m.name FROM ${columns}`).all()
  return tables.flatMap(({ name }) => (db.query(`SELECT 1 FROM ${name}`).get() === null ? [] : name))
}

/** Gives a database its first content again, while the store has it open. */
function createRewriting(folder: string) {
  const db = new Database(databasePath(folder), { create: false, readwrite: true })
  db.run('PRAGMA foreign_keys = OFF')
  const lastId = db.query<{ id: number }, []>(
    `SELECT max(id) AS id FROM (${NUMBERED.map((table) => `SELECT max(id) AS id FROM ${table}`).join(' UNION ALL ')})`,
  )
  const give = db.transaction((tables: string[]) => {
    lastApps += APPS
    db.query('UPDATE apps SET id = id + ?').run(lastApps)
    for (const table of tables) db.query(`UPDATE ${table} SET app_id = app_id + ?`).run(lastApps)
    const id = (column: string) => `substr(${column}, 1, length(${column}) - 5) || printf('%05d', ?)`
    db.query(`UPDATE members SET id = ${id('id')}`).run(lastApps / APPS)
    db.query(`UPDATE memberships SET member_id = ${id('member_id')}`).run(lastApps / APPS)
    // other connections read the new content after a commit that changes something
    db.query(`INSERT INTO limit_usage (bucket, second, count) VALUES ('', 0, 0)`).run()
    db.query(`DELETE FROM limit_usage WHERE bucket = ''`).run()
  })
  return {
    /** Apps and members with ids that no other test has. */
    renumber(begin: Begin<unknown>): void {
      const tables = knownTables.get(begin) ?? listAppTables(db)
      knownTables.set(begin, tables)
      give.immediate(tables)
    },
    isAhead: () => isLate(lastId.get()?.id ?? 0),
    /** Null if something is still being read. */
    async rewrite<T>(begin: Begin<T>): Promise<{ begun: T } | null> {
      const [moved] = db.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').all()
      if (moved?.busy !== 0) return null
      // pages of the file as it was
      db.run('PRAGMA shrink_memory')
      const { begun } = await begin(folder)
      return { begun }
    },
    end: () => db.close(),
  }
}

type Reused = { server: Server; rewriting: ReturnType<typeof createRewriting> }

const free = new Map<string, Reused[]>()
const begins: Begin<unknown>[] = []
/** Servers of one kind begin with the same content, and are at the same place. */
function kindOf(begin: Begin<unknown>, { baseUrl, host = '' }: Place): string {
  if (!begins.includes(begin)) begins.push(begin)
  return [begins.indexOf(begin), baseUrl, host].join(' ')
}

const folders = new Set<string>()
process.on('exit', () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))

async function openReused<T>(begin: Begin<T>, dashboard: Dashboard) {
  const { folder, begun } = await begin()
  folders.add(folder)
  return { reused: { server: await openServer(folder, dashboard), rewriting: createRewriting(folder) }, begun }
}

async function endReused({ server, rewriting }: Reused): Promise<void> {
  rewriting.end()
  folders.delete(server.folder)
  await server.end()
}

async function findReused<T>(begin: Begin<T>, place: Place) {
  const reused = free.get(kindOf(begin, place))?.pop()
  if (!reused) return openReused(begin, createFollowing(place))
  const { server, rewriting } = reused
  const again = server.isAhead() || rewriting.isAhead() ? null : await rewriting.rewrite(begin)
  if (again) return { reused, ...again }
  await endReused(reused)
  return openReused(begin, server.dashboard)
}

async function takeReused<T>(begin: Begin<T>, place: Place) {
  const taken = await findReused(begin, place)
  taken.reused.rewriting.renumber(begin)
  taken.reused.server.clock.startAgain()
  return taken
}

const unanswered = (): Promise<never> => new Promise(() => {})

/** A test may replace methods; what still runs after it gets no answer and changes nothing. */
function createOwnStore(real: Store): { store: Store; end: () => Promise<void> } {
  const store = { ...real }
  return {
    store,
    async end() {
      Object.assign(store, Object.fromEntries(Object.keys(store).map((name) => [name, unanswered])))
      // after all writes that are waiting
      if (!(await real.canCommit())) throw new Error('the store of a test no longer commits')
    },
  }
}

/** A server that other tests use afterwards; on PostgreSQL, one of the test's own. */
export async function takeServer<T>(begin: Begin<T>, place: Place) {
  if (isOnPostgres) {
    const { folder, begun } = await begin()
    const { end, ...server } = await openServer(folder, createFollowing(place))
    return { ...server, begun, end }
  }
  const { reused, begun } = await takeReused(begin, place)
  const own = createOwnStore(reused.server.store)
  const kind = kindOf(begin, place)
  return {
    ...reused.server,
    begun,
    store: own.store,
    async end(): Promise<void> {
      await own.end()
      free.set(kind, [...(free.get(kind) ?? []), reused])
    },
  }
}
