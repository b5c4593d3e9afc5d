/** Names of this machine, which no stranger's DNS can point elsewhere. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

const PLAIN_HOST = /^[\w.:[\]-]+$/

const isLoopback = (host: string): boolean => LOOPBACK.has(host) || host === '::1' || host.startsWith('127.')

/**
 * Finds the host that a request called, or null when it is none of ours: a site whose name was pointed at this machine
 * is known by it. `host` is the address the server is bound to; on loopback, loopback names are known too.
 */
export function createKnownHosts({ baseUrl, host }: { baseUrl: string; host?: string }) {
  const base = new URL(baseUrl)
  const isLocal = isLoopback(base.hostname) || isLoopback(host ?? '')
  const isKnown = (name: string): boolean => name === base.hostname || (isLocal && LOOPBACK.has(name))
  return (request: Request): URL | null => {
    const called = readHost(request)
    return called && isKnown(called.hostname) ? called : null
  }
}

function readHost(request: Request): URL | null {
  const host = request.headers.get('host') ?? new URL(request.url).host
  return PLAIN_HOST.test(host) ? URL.parse(`http://${host}`) : null
}

/**
 * Whether an Origin header is the service's own: its base URL, or the host that was called. The scheme counts too: it is
 * the base URL's, also where a proxy terminates TLS, and http where a loopback name bypasses that proxy.
 */
export function isOwnOrigin(origin: string, baseUrl: string, called: URL): boolean {
  const base = new URL(baseUrl)
  const scheme = called.hostname === base.hostname || isLoopback(base.hostname) ? base.protocol : 'http:'
  return origin === base.origin || origin === URL.parse(`${scheme}//${called.host}`)?.origin
}
