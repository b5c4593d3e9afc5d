import { createKnownHosts, isOwnOrigin } from '../../http/known-hosts.ts'

export type GuardRefusal = 'unknown_host' | 'foreign_origin' | 'missing_origin'

/**
 * Says whether a request to a page may be answered, or why not. `host` is the address the server is
 * bound to. A site whose name was pointed at this machine is known by its Host; a form sent from elsewhere by its
 * Sec-Fetch-Site, which browsers leave out over plain http, and then by its Origin.
 */
export function createGuard({ baseUrl, host }: { baseUrl: string; host?: string }) {
  const findHost = createKnownHosts({ baseUrl, host })

  return (request: Request): GuardRefusal | null => {
    const called = findHost(request)
    if (!called) return 'unknown_host'
    if (request.method === 'GET' || request.method === 'HEAD' || isFromOwnPage(request, baseUrl, called)) return null
    return saysNoOrigin(request) ? 'missing_origin' : 'foreign_origin'
  }
}

/** No browser of today: a script, or a proxy that drops headers. */
const saysNoOrigin = ({ headers }: Request): boolean => !headers.has('sec-fetch-site') && !headers.has('origin')

function isFromOwnPage(request: Request, baseUrl: string, called: URL): boolean {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin' || site === 'none'
  const origin = request.headers.get('origin')
  return origin !== null && isOwnOrigin(origin, baseUrl, called)
}
