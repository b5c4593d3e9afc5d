/** Other people's DNS can't point these elsewhere. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

const PLAIN_HOST = /^[\w.:[\]-]+$/

const isLoopback = (host: string): boolean => LOOPBACK.has(host) || host === '::1' || host.startsWith('127.')

/**
 * Returns the host that was requested, or null when it isn't ours (DNS rebinding). On a loopback address, loopback
 * names are ours too.
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

/** Our base URL or the requested host. The scheme must match; http when a loopback name bypasses the TLS proxy. */
export function isOwnOrigin(origin: string, baseUrl: string, called: URL): boolean {
  const base = new URL(baseUrl)
  const scheme = called.hostname === base.hostname || isLoopback(base.hostname) ? base.protocol : 'http:'
  return origin === base.origin || origin === URL.parse(`${scheme}//${called.host}`)?.origin
}
