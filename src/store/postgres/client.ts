/**
 * A client of one connection. It looks up the host's address anew, because a failover may change it and Bun caches it for
 * 30 seconds.
 */
import dns from 'node:dns/promises'
import { isIP } from 'node:net'
import type { ReservedSQL, SQL } from 'bun'
import { isLostConnection, NoAnswer } from './faults.ts'
import { inTime } from './in-time.ts'

export type Client = {
  /** Reserved, so that nothing runs on another connection, or outside of its transaction, if this one is lost. */
  queries: () => ReservedSQL
  connect: () => Promise<void>
  /** Also if the server never answers. */
  end: () => void
}

type ClientOptions = Pick<Bun.SQL.PostgresOrMySQLOptions, 'connection' | 'prepare'> & {
  /** To connect, for all addresses together. */
  openMs: number
}
/** Of a URL, as Bun reads it. `path`: of a Unix socket. */
type Place = { hostname: string; path?: string; tls?: object }

/** @returns one that makes a client; `onEnd`: when its connection ends */
export function createClients(url: string, { openMs, ...options }: ClientOptions): (onEnd: () => void) => Client {
  const { hostname, path, tls } = new Bun.SQL(url, { max: 1 }).options as unknown as Place
  /** The last one that answered is tried first. */
  let lastAddress = ''
  const isName = path === undefined && isIP(hostname.replace(/^\[|\]$/g, '')) === 0

  const listAddresses = async (): Promise<string[]> => {
    if (!isName) return [hostname]
    const found = await dns.lookup(hostname, { all: true }).catch(() => [])
    // Bun describes what is wrong with a name, and may know its last address
    if (found.length === 0) return [hostname]
    const isLastOne = (address: string): number => Number(address === lastAddress)
    return found.map(({ address }) => address).toSorted((a, b) => isLastOne(b) - isLastOne(a))
  }
  /** The certificate must still have the name. */
  const toOptions = (address: string) => ({
    ...(isName ? { hostname: address } : {}),
    ...(isName && tls !== undefined ? { tls: { serverName: hostname } } : {}),
  })

  return (onEnd) => {
    let client: SQL | null = null
    let reserved: ReservedSQL | null = null
    let isEnded = false
    const close = (): void => void client?.close({ timeout: 0 }).catch(() => {})
    const connectTo = async (address: string, ms: number): Promise<void> => {
      if (isEnded) throw new NoAnswer('The connection to PostgreSQL is closed')
      let [isOpen, isGone] = [false, false]
      client = new Bun.SQL(url, {
        ...options,
        ...toOptions(address),
        max: 1,
        bigint: true,
        // the pool tries again: the client would wait for longer and longer in between
        connectionTimeout: 0,
        onclose: () => {
          isGone = true
          if (isOpen) onEnd()
        },
      })
      reserved = await inTime(client.reserve(), ms)
      if (isGone) throw new NoAnswer('The connection to PostgreSQL ended at once')
      isOpen = true
    }
    return {
      queries() {
        if (reserved === null) throw new NoAnswer('The connection to PostgreSQL is not open')
        return reserved
      },
      async connect() {
        const untilMs = performance.now() + openMs
        const addresses = await listAddresses()
        for (const [index, address] of addresses.entries()) {
          const left = addresses.length - index
          const isLast = left === 1
          // the first is the likeliest, since it answered last
          const share = index === 0 ? Math.min(left, 2) : left
          try {
            await connectTo(address, (untilMs - performance.now()) / share)
            lastAddress = address
            return
          } catch (error) {
            if (isEnded || isLast || !isLostConnection(error)) throw error
            close()
          }
        }
      },
      end() {
        isEnded = true
        close()
      },
    }
  }
}
