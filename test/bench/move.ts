/**
 * `bun run bench:move [FOLDER]`: moves a data folder of about two million rows to a local PostgreSQL server and back, with
 * indexes and checks, and prints rows a second. Beside it, PostgreSQL's own COPY of the same rows into tables without
 * indexes, because machines differ. BENCH_EVENTS makes another one; FOLDER is copied, not changed.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { report } from '../faults/figures.ts'
import { startPostgres } from '../postgres/server.ts'
import { createFolder, EXECUTABLE, runJson } from './service.ts'

const EVENTS = Number(process.env.BENCH_EVENTS ?? 1_000_000)
const LEAST_ROWS = 100_000
const NEEDED = `at least ${LEAST_ROWS.toLocaleString('en')}`

async function seed(folder: string): Promise<void> {
  const people = String(Math.ceil(EVENTS / 10))
  const env = { ...process.env, SEED_EVENTS: String(EVENTS), SEED_PEOPLE: people, SEED_DELIVERIES: people }
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'seed.ts'), folder], { env, stdout: 'ignore' })
  if ((await child.exited) !== 0) throw new Error('seeding failed')
}

/** From files of the server, one table after another, as `pg_restore` does. @returns rows a second */
async function measureCopy(url: string, files: string): Promise<number> {
  const sql = new Bun.SQL(url, { max: 1 })
  const tables = (await sql.unsafe(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'schema_version'`,
  )) as { name: string }[]
  for (const { name } of tables) {
    await sql.unsafe(`CREATE TABLE copy_${name} AS SELECT * FROM ${name} WITH NO DATA`)
    await sql.unsafe(`COPY ${name} TO '${join(files, name)}'`)
    // generated columns are not written
    const generated = (await sql.unsafe(
      `SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1 AND is_generated = 'ALWAYS'`,
      [name],
    )) as { name: string }[]
    for (const column of generated) await sql.unsafe(`ALTER TABLE copy_${name} DROP COLUMN ${column.name}`)
  }
  let rows = 0
  const startedAt = performance.now()
  for (const { name } of tables) rows += (await sql.unsafe(`COPY copy_${name} FROM '${join(files, name)}'`)).count ?? 0
  const seconds = (performance.now() - startedAt) / 1_000
  for (const { name } of tables) await sql.unsafe(`DROP TABLE copy_${name}`)
  await sql.close()
  return rows / seconds
}

const folder = createFolder()
const server = await startPostgres()
try {
  const [data, returned] = [join(folder.path, 'data'), join(folder.path, 'returned')]
  const given = process.argv[2]
  if (given === undefined) await seed(data)
  else cpSync(given, data, { recursive: true })
  const url = server.url('postgres')
  const move = [EXECUTABLE, 'move', '--json', '--to']
  const there = await runJson([...move, url, '--data', data], folder.path)
  const copied = await measureCopy(url, server.folder)
  const back = await runJson([...move, returned], folder.path, { EVENTPOST_DATABASE_URL: url })
  const isReached = [there, back].map(({ rowsPerSecond }) => Number(rowsPerSecond) >= LEAST_ROWS)
  const show = (value: number): string => Math.round(value).toLocaleString('en')
  const ratioOf = ({ rowsPerSecond }: typeof there): string => (Number(rowsPerSecond) / copied).toFixed(2)
  for (const [index, [name, one]] of [['to PostgreSQL', there] as const, ['back', back] as const].entries()) {
    const measured = `${show(Number(one.rowsPerSecond))} (${show(Number(one.rows))} in ${one.seconds} s)`
    report({ target: `Rows a second, ${name}, checked`, asked: NEEDED, measured, isReached: isReached[index] === true })
    console.log(`${name}: ${measured}, with indexes and checks; asked: ${NEEDED}; ${ratioOf(one)} of COPY alone`)
  }
  console.log(`COPY alone, without indexes: ${show(copied)} rows a second`)
  process.exitCode = isReached.every(Boolean) ? 0 : 1
} finally {
  await server.stop()
  folder.remove()
}
