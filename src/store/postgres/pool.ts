/** Connections that are lent to one caller at a time. A connection that failed is closed, and its place gets a new one. */
import type { SQL } from 'bun'
import { NoAnswer } from './faults.ts'

type Waiting = { lend: (connection: SQL) => void; timer: ReturnType<typeof setTimeout> }

/** `connect`: a client of one connection, which it opens when it is used. `waitMs`: at most, while all are in use. */
type PoolOptions = { connect: () => SQL; size: number; waitMs: number }

export function createPool({ connect, size, waitMs }: PoolOptions) {
  const idle: SQL[] = []
  const all = new Set<SQL>()
  const waiting: Waiting[] = []
  let isClosed = false

  const make = (): SQL => {
    const connection = connect()
    all.add(connection)
    return connection
  }

  const take = (): SQL | Promise<SQL> => {
    if (isClosed) throw new NoAnswer('The connections to PostgreSQL are closed')
    const connection = idle.pop() ?? (all.size < size ? make() : null)
    if (connection !== null) return connection
    return new Promise((lend, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(one), 1)
        reject(new NoAnswer('All connections to PostgreSQL are in use'))
      }, waitMs)
      const one = { lend, timer }
      waiting.push(one)
    })
  }

  const give = (connection: SQL): void => {
    const next = waiting.shift()
    if (next === undefined) return void idle.push(connection)
    clearTimeout(next.timer)
    next.lend(connection)
  }

  const discard = (connection: SQL): void => {
    all.delete(connection)
    end(connection)
    if (waiting.length > 0) give(make())
  }

  return {
    /** `isBroken`: of what `work` throws, whether the connection can't be used any more. */
    async use<Result>(
      work: (connection: SQL) => Promise<Result>,
      isBroken: (error: unknown) => boolean,
    ): Promise<Result> {
      const connection = await take()
      try {
        const result = await work(connection)
        give(connection)
        return result
      } catch (error) {
        if (isBroken(error)) discard(connection)
        else give(connection)
        throw error
      }
    },
    async close(): Promise<void> {
      isClosed = true
      for (const connection of all) end(connection)
      all.clear()
    },
  }
}

/** Also if the server never answers. */
const end = (connection: SQL): void => void connection.close({ timeout: 0 }).catch(() => {})
