/**
 * Connections that are lent to one caller at a time. One that ended is replaced, and the others with it, because they may
 * lead to a server that is gone.
 */
import type { Client } from './client.ts'
import { isEndedAlone, isLostConnection, NoAnswer } from './faults.ts'
import type { Listening, Silence } from './heartbeat.ts'
import { inTime } from './in-time.ts'

type Waiting = { lend: (connection: Client) => void; timer: ReturnType<typeof setTimeout> }

/**
 * `connect`: a client of one connection, which calls back when it ends. `waitMs`: at most, while all are in use. `openMs`: to
 * open one. `graceMs`: how long callers wait for a server that takes no connections; later ones are refused at once.
 */
type PoolOptions = {
  connect: (onEnd: () => void) => Client
  size: number
  waitMs: number
  openMs: number
  graceMs: number
}

const OPEN_AGAIN_MS = 50
const OUTAGE_MS = 60_000

export function createPool({ connect, size, waitMs, openMs, graceMs }: PoolOptions) {
  const idle: Client[] = []
  /** when each was made (ms, monotonic) */
  const all = new Map<Client, number>()
  const opened = new WeakSet<Client>()
  const waiting: Waiting[] = []
  const listeners = new Set<(connection: Client) => void>()
  let isClosed = false
  /** The first and last attempts to connect that failed since the last that succeeded (ms, monotonic). */
  let refused: { first: number; last: number } | null = null

  const make = (): Client => {
    const connection = connect(() => discard(connection))
    all.set(connection, performance.now())
    return connection
  }

  const take = (): Client | Promise<Client> => {
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

  const give = (connection: Client): void => {
    if (!all.has(connection)) return
    const next = waiting.shift()
    if (next === undefined) return void idle.push(connection)
    clearTimeout(next.timer)
    next.lend(connection)
  }

  const discard = (connection: Client): void => {
    if (!all.delete(connection)) return
    const index = idle.indexOf(connection)
    if (index >= 0) idle.splice(index, 1)
    connection.end()
    if (waiting.length > 0) give(make())
  }

  const mayWait = (): boolean => !isClosed && refused !== null && performance.now() - refused.first < graceMs
  const noteRefused = (): void => {
    const now = performance.now()
    // after a while without attempts, it may be another outage
    const isSame = refused !== null && now - refused.last < OUTAGE_MS
    refused = { first: isSame && refused ? refused.first : now, last: now }
  }

  const open = async (connection: Client): Promise<void> => {
    if (opened.has(connection)) return
    try {
      await inTime(connection.connect(), openMs)
      opened.add(connection)
      refused = null
    } catch (error) {
      if (isLostConnection(error)) noteRefused()
      throw error
    }
  }

  /** Tries to connect in short steps, so that a server that is back is noticed at once. */
  const takeOpen = async (): Promise<Client> => {
    for (;;) {
      const connection = await take()
      try {
        await open(connection)
        return connection
      } catch (error) {
        discard(connection)
        if (!isLostConnection(error) || !mayWait()) throw error
        await Bun.sleep(OPEN_AGAIN_MS)
      }
    }
  }

  return {
    /** `isBroken`: of what `work` throws, whether the connection can't be used any more. */
    async use<Result>(
      work: (connection: Client) => Promise<Result>,
      isBroken: (error: unknown) => boolean,
    ): Promise<Result> {
      const connection = await takeOpen()
      try {
        const result = await work(connection)
        give(connection)
        return result
      } catch (error) {
        if (isEndedAlone(error)) discard(connection)
        else if (isBroken(error)) for (const one of [connection, ...idle]) discard(one)
        else give(connection)
        throw error
      }
    },
    /** Each answer on a connection. */
    hear: (connection: Client): void => listeners.forEach((listener) => listener(connection)),
    /** Idle connections are asked; the others are in use, or connect since before the last beat. */
    listen({ firstMs, lastMs }: Silence, ask: (connection: Client) => Promise<unknown>): Listening {
      const isOld = ([connection, madeMs]: [Client, number]): boolean =>
        madeMs < (opened.has(connection) ? firstMs : lastMs)
      const old = [...all].filter(isOld).map(([connection]) => connection)
      const silent = new Set(old)
      const asked = idle.filter((one) => silent.has(one))
      for (const connection of asked) {
        idle.splice(idle.indexOf(connection), 1)
        void ask(connection).then(
          () => give(connection),
          () => discard(connection),
        )
      }
      const note = (connection: Client): void => void silent.delete(connection)
      listeners.add(note)
      return {
        hasAsked: asked.length > 0,
        hasHeard: () => silent.size < old.length,
        end(isGone) {
          listeners.delete(note)
          if (isGone) silent.forEach(discard)
        },
      }
    },
    async close(): Promise<void> {
      isClosed = true
      for (const connection of all.keys()) connection.end()
      all.clear()
    },
  }
}
