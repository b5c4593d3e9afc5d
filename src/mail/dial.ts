/** Connects to a checked address instead of a name, which could change in between. */
import { lookup } from 'node:dns/promises'
import { connect, type Socket } from 'node:net'
import type { SmtpServer } from '../core/mail-addresses.ts'
import { isAllowedAddress, isPublicAddress, type PrivateHosts } from '../core/public-addresses.ts'

export type LookUp = (host: string) => Promise<string[]>

const lookUp: LookUp = async (host) => (await lookup(host, { all: true })).map(({ address }) => address)

/** Minimum time per address. */
const MIN_ATTEMPT_MS = 250

export type Dial = ((server: Pick<SmtpServer, 'host' | 'port' | 'login'>, limit: Limit) => Promise<Socket>) & {
  /** must log in as itself, not with the shared server's trust */
  mustLogIn?: true
}
type Limit = { withinMs: number; signal?: AbortSignal }

export const dialAny: Dial = ({ host, port }, limit) =>
  within(limit, async (opening) => open(await find(host, lookUp), { host, port, ...opening }))

type Guard = {
  allowed: PrivateHosts
  /** the installation's server, when other accounts use it too */
  findShared: () => Promise<Pick<SmtpServer, 'host' | 'port'> | null>
  resolve?: LookUp
}

/**
 * For servers that app owners chose: public and allowed addresses only. Reaching the shared server requires a login of
 * the app's own.
 */
export const createGuardedDial = ({ allowed, findShared, resolve = lookUp }: Guard): Dial => {
  const dial: Dial = (server, limit) =>
    within(limit, async (opening) => {
      const { host, port, login } = server
      const addresses = (await find(host, resolve, 'EPRIVATE')).filter((one) => isAllowedAddress(host, one, allowed))
      if (addresses.length === 0) throw fault('EPRIVATE')
      if (login === null && (await isShared(server, addresses, { allowed, findShared, resolve })))
        throw fault('ESHARED')
      return open(addresses, { host, port, ...opening })
    })
  return Object.assign(dial, { mustLogIn: true } as const)
}

/** On a private address, another port is another server. */
async function isShared(
  { port }: Pick<SmtpServer, 'port'>,
  addresses: string[],
  { findShared, resolve = lookUp }: Guard,
): Promise<boolean> {
  const shared = await findShared()
  if (shared === null) return false
  const known = await resolve(shared.host).catch((): string[] => [])
  return addresses.some((one) => known.includes(one) && (port === shared.port || isPublicAddress(one)))
}

const fault = (code: string): Error => Object.assign(new Error(code), { code })

/** Unknown names and private ones look the same to the caller. */
async function find(host: string, resolve: LookUp, unknown = 'EDNS'): Promise<string[]> {
  try {
    return await resolve(host)
  } catch (error) {
    const { code } = error as { code?: string }
    throw fault(code === 'ENOTFOUND' || code === 'ENODATA' ? unknown : 'EDNS')
  }
}

type Opening = { host: string; port: number; withinMs: number; signal: AbortSignal }

/** Tries the addresses in turn (RFC 8305). */
function open(addresses: string[], { host, port, withinMs, signal }: Opening): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const all = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  const socket = connect({
    host: addresses.length === 1 ? addresses[0] : host,
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: Math.max(MIN_ATTEMPT_MS, Math.floor(withinMs / all.length)),
    // don't resolve the name again
    lookup: (_host, _options, done) => done(null, all),
  })
  const stop = (): void => void socket.destroy()
  if (signal.aborted) stop()
  const fail = (error: Error): void => {
    signal.removeEventListener('abort', stop)
    reject(fault(isTimeout(error) ? 'ETIMEDOUT' : 'EREFUSED'))
  }
  signal.addEventListener('abort', stop)
  socket.once('error', fail)
  socket.once('connect', () => {
    signal.removeEventListener('abort', stop)
    socket.removeListener('error', fail)
    resolve(socket)
  })
  return promise
}

/** Each tried address has its own error. */
const isTimeout = (error: Error): boolean =>
  (error instanceof AggregateError ? error.errors : [error]).some(({ code }) => /TIMED?OUT/.test(String(code)))

/** Rejects after the time limit or when the signal aborts. */
async function within<T>({ withinMs, signal: outer }: Limit, work: (limit: Required<Limit>) => Promise<T>): Promise<T> {
  const stopped = Promise.withResolvers<never>()
  const stop = new AbortController()
  const stopBecause = (code: string): void => {
    stopped.reject(fault(code))
    stop.abort()
  }
  const abort = (): void => stopBecause('ECONNECTION')
  const timer = setTimeout(() => stopBecause('ETIMEDOUT'), withinMs)
  outer?.addEventListener('abort', abort)
  if (outer?.aborted) abort()
  try {
    return await Promise.race([work({ withinMs, signal: stop.signal }), stopped.promise])
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', abort)
  }
}
