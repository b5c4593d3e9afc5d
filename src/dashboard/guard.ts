/** Names of this machine, which no stranger's DNS can point elsewhere. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

const PLAIN_HOST = /^[\w.:[\]-]+$/

export type GuardRefusal = 'unknown_host' | 'foreign_origin' | 'missing_origin'

/**
 * Says whether a request to a page may be answered, or why not (promises 15). `host` is the address the server is
 * bound to. A site whose name was pointed at this machine is known by its Host; a form sent from elsewhere by its
 * Sec-Fetch-Site, which browsers leave out over plain http, and then by its Origin.
 */
export function createGuard({ baseUrl, host }: { baseUrl: string; host?: string }) {
  const base = new URL(baseUrl)
  const isLocal = isLoopback(base.hostname) || isLoopback(host ?? '')
  const isKnown = (name: string): boolean => name === base.hostname || (isLocal && LOOPBACK.has(name))

  return (request: Request): GuardRefusal | null => {
    const called = readHost(request)
    if (!called || !isKnown(called.hostname)) return 'unknown_host'
    if (request.method === 'GET' || isOwnOrigin(request, base, called)) return null
    return saysNoOrigin(request) ? 'missing_origin' : 'foreign_origin'
  }
}

const isLoopback = (host: string): boolean => LOOPBACK.has(host) || host === '::1' || host.startsWith('127.')

function readHost(request: Request): URL | null {
  const host = request.headers.get('host') ?? new URL(request.url).host
  return PLAIN_HOST.test(host) ? URL.parse(`http://${host}`) : null
}

/** No browser of today: a script, or a proxy that drops headers. */
const saysNoOrigin = ({ headers }: Request): boolean => !headers.has('sec-fetch-site') && !headers.has('origin')

function isOwnOrigin(request: Request, base: URL, called: URL): boolean {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin' || site === 'none'
  const origin = request.headers.get('origin')
  return origin !== null && (origin === base.origin || URL.parse(origin)?.host === called.host)
}
