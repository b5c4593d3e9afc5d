import type { Database } from 'bun:sqlite'
import { createTurns } from '../../core/in-order.ts'

type Read = () => Promise<unknown>

const turns = new WeakMap<Database, (read: Read) => Promise<unknown>>()
/** Connections with an open snapshot. */
const reading = new WeakSet<Database>()

/** All reads of `read` see the same state; in a transaction that writes, they do anyway. `read` opens no other one. */
export async function inSnapshot<Result>(db: Database, read: () => Promise<Result>): Promise<Result> {
  if (db.inTransaction && !reading.has(db)) return await read()
  const inTurn = turns.get(db) ?? createTurns((one: Read) => readTogether(db, one))
  turns.set(db, inTurn)
  return (await inTurn(read)) as Result
}

async function readTogether(db: Database, read: Read): Promise<unknown> {
  db.query('BEGIN').run()
  reading.add(db)
  try {
    return await read()
  } finally {
    reading.delete(db)
    // a fault of the disk may have ended it, and is what must be reported
    if (db.inTransaction) db.query('COMMIT').run()
  }
}

/** Nothing is stored if `write` fails. For connections that do nothing else meanwhile. */
export async function inTransaction<Result>(db: Database, write: () => Promise<Result>): Promise<Result> {
  db.run('BEGIN IMMEDIATE')
  try {
    const result = await write()
    db.run('COMMIT')
    return result
  } catch (error) {
    if (db.inTransaction) db.run('ROLLBACK')
    throw error
  }
}
