import { StoreError } from '../engine/errors.ts'
import { hashRows } from './lines.ts'
import { NO_PROGRESS, type Source, type TableProgress, type Target } from './sides.ts'
import type { Key, Table } from './tables.ts'

/** Rows that a stop or a fault loses at most, for each table that is being filled. */
const SAVE_ROWS = 100_000
/** Between places where rows are compared, and how many there: one in a hundred. */
const SAMPLE_EVERY_ROWS = 20_000
const SAMPLE_ROWS = 200
/** Each waits for answers of the server. */
const SAMPLES_AT_ONCE = 8

export type CopyProgress = { rows: number; allRows: number; tables: readonly string[] }
export type Copying = {
  note: (progress: CopyProgress) => void
  /** Once true, what was read is saved, and `Stopped` is thrown. */
  isStopped: () => boolean
}
export type Copied = { rows: number; replaced: number }

export class Stopped extends Error {
  override name = 'Stopped'
}

type Sides = { source: Source; target: Target; tables: readonly Table[] }

/** @throws StoreError `differs` if the target does not have the rows of the source */
export async function copyTables({ source, target, tables }: Sides, { note, isStopped }: Copying): Promise<Copied> {
  const counts = new Map<Table, number>()
  for (const table of tables) counts.set(table, await source.count(table))
  const allRows = sumOf(counts.values())
  const loaded = new Map<string, TableProgress>(target.progress)
  const active = new Set<string>()
  const report = (): void =>
    note({ rows: sumOf([...loaded.values()].map(({ rows }) => rows)), allRows, tables: [...active] })
  let hasFailed = false

  const copyOne = async (table: Table): Promise<void> => {
    active.add(table.name)
    const keep = (progress: TableProgress): void => {
      loaded.set(table.name, progress)
      report()
    }
    const from = loaded.get(table.name) ?? NO_PROGRESS
    const whole = await load({ source, target, table, from }, keep, () => hasFailed || isStopped())
    await target.index(table, whole.rows)
    await compare({ source, target, table, progress: whole }, counts.get(table) ?? 0)
    active.delete(table.name)
  }
  // the largest first, so that their indexes are built beside the others
  const queue = tables.toSorted((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0))
  const fillLane = async (): Promise<void> => {
    for (let table = queue.shift(); table !== undefined; table = queue.shift()) {
      if (hasFailed || isStopped()) throw new Stopped()
      try {
        await copyOne(table)
      } catch (error) {
        hasFailed = true
        throw error
      }
    }
  }
  const lanes = await Promise.allSettled(Array.from({ length: target.lanes }, fillLane))
  const failures = lanes.flatMap((lane) => (lane.status === 'rejected' ? [lane.reason as Error] : []))
  // what failed first stopped the others
  const failure = failures.find((one) => !(one instanceof Stopped)) ?? failures[0]
  if (failure !== undefined) throw failure
  await target.complete()
  const replaced = sumOf([...loaded.values()].map((progress) => progress.replaced))
  return { rows: allRows, replaced }
}

const sumOf = (values: Iterable<number>): number => [...values].reduce((sum, one) => sum + one, 0)

type OneTable = { source: Source; target: Target; table: Table }

async function load(
  { source, target, table, from }: OneTable & { from: TableProgress },
  keep: (progress: TableProgress) => void,
  isStopped: () => boolean,
): Promise<TableProgress> {
  if (from.isLoaded) return from
  const writer = await target.openWriter(table)
  let progress = from
  let [saved, sampled] = [from.rows, from.samples.length === 0 ? Number.NEGATIVE_INFINITY : from.rows]
  try {
    for await (const part of source.read(table, from.last)) {
      const isSampled = progress.rows - sampled >= SAMPLE_EVERY_ROWS
      const samples = isSampled ? [...progress.samples, progress.last] : progress.samples
      if (isSampled) sampled = progress.rows
      await writer.add(part)
      const { rows, replaced } = progress
      progress = { ...progress, rows: rows + part.rows, last: part.last, samples, replaced: replaced + part.replaced }
      const isStopping = isStopped()
      if (progress.rows - saved >= SAVE_ROWS || isStopping) {
        await writer.save(progress)
        saved = progress.rows
      }
      keep(progress)
      if (isStopping) throw new Stopped()
    }
    progress = { ...progress, isLoaded: true }
    await writer.save(progress)
    keep(progress)
    return progress
  } finally {
    await writer.close()
  }
}

/** Counts, and hashes of samples. */
async function compare(
  { source, target, table, progress }: OneTable & { progress: TableProgress },
  count: number,
): Promise<void> {
  const stored = await target.count(table)
  if (stored !== count) throw differs(table, `it has ${stored} of ${count} rows`)
  const compareAt = async (after: Key | null): Promise<void> => {
    const [one, other] = await Promise.all([
      source.sample(table, after, SAMPLE_ROWS),
      target.sample(table, after, SAMPLE_ROWS),
    ])
    if (hashRows(table, one) !== hashRows(table, other))
      throw differs(table, `rows differ ${describePlace(table, after)}`)
  }
  for (let at = 0; at < progress.samples.length; at += SAMPLES_AT_ONCE)
    await Promise.all(progress.samples.slice(at, at + SAMPLES_AT_ONCE).map(compareAt))
}

const describePlace = ({ key }: Table, after: Key | null): string =>
  after === null ? 'at the start' : `after ${key.map(({ name }, index) => `${name} ${after[index]}`).join(', ')}`

const differs = ({ name }: Table, how: string): StoreError =>
  new StoreError(
    'differs',
    `The copy of the table ${name} differs from the source: ${how}. The source changed, or another program wrote to the target. Undo this move with --undo, then start again.`,
  )
