/** What a move reads from and what it writes to. */
import type { Key, Table } from './tables.ts'

/** Whole lines (lines.ts) of rows that follow each other. `last`: the key of the last one. */
export type Part = { bytes: Uint8Array; rows: number; last: Key; replaced: number }

export type Source = {
  count(table: Table): Promise<number>
  /** All rows after this key, in their order. */
  read(table: Table, after: Key | null): AsyncIterable<Part>
  /** The lines of the first rows after this key. */
  sample(table: Table, after: Key | null, rows: number): Promise<Uint8Array>
  /** Changes with the data; null: nothing can write to it while it is marked. */
  fingerprint: string | null
  close(): Promise<void>
}

/** `samples`: keys after which rows are compared. `replaced`: values that the target can't store as they were. */
export type TableProgress = {
  rows: number
  last: Key | null
  samples: (Key | null)[]
  replaced: number
  isLoaded: boolean
}

export const NO_PROGRESS: TableProgress = { rows: 0, last: null, samples: [], replaced: 0, isLoaded: false }

export type Writer = {
  add(part: Part): Promise<void>
  /** Stores what was added together with the progress. */
  save(progress: TableProgress): Promise<void>
  /** Gives up what was not saved. */
  close(): Promise<void>
}

export type Target = {
  /** Tables that can be filled at the same time. */
  lanes: number
  progress: ReadonlyMap<string, TableProgress>
  openWriter(table: Table): Promise<Writer>
  /** Builds the indexes of a table that is filled. */
  index(table: Table, rows: number): Promise<void>
  count(table: Table): Promise<number>
  sample(table: Table, after: Key | null, rows: number): Promise<Uint8Array>
  /** Once all tables are filled: everything that is built from several tables, or must not act on what is copied. */
  complete(): Promise<void>
  /** From here on, the target can be used. */
  release(): Promise<void>
  close(): Promise<void>
}
