import { createKnownHosts, isOwnOrigin } from '../../http/known-hosts.ts'

export type GuardRefusal = 'unknown_host' | 'foreign_origin' | 'missing_origin'

/**
 * Returns why a request must be refused, or null. Checks the Host against DNS rebinding, and Sec-Fetch-Site (or Origin,
 * over plain http) against cross-site forms.
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

/** Not a current browser: a script, or a proxy that drops headers. */
const saysNoOrigin = ({ headers }: Request): boolean => !headers.has('sec-fetch-site') && !headers.has('origin')

function isFromOwnPage(request: Request, baseUrl: string, called: URL): boolean {
  if (request.headers.has('sec-fetch-site')) return isFromNoOtherSite(request)
  const origin = request.headers.get('origin')
  return origin !== null && isOwnOrigin(origin, baseUrl, called)
}

/**
 * Whether our own pages or the address bar sent the request, without redirects through other sites. Browsers set this
 * header over https and to localhost only.
 */
export function isFromNoOtherSite({ headers }: Request): boolean {
  const site = headers.get('sec-fetch-site')
  return site === 'same-origin' || site === 'none'
}
