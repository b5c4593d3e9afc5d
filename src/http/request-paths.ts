/** Replaces a missing or invalid Host; never one of ours. */
const NO_HOST = 'http://nameless.invalid'

/**
 * Without a valid Host, request.url can't be parsed. The last parsed origin is cached, so most requests skip parsing.
 */
function createUrlRepair(): (request: Request) => void {
  let origin = `${NO_HOST}/`
  return (request) => {
    const { url } = request
    if (url.startsWith(origin)) return
    const start = startOfPath(url)
    const parsed = URL.parse(url)
    // not a slice, which would keep the whole text in memory
    if (parsed) origin = url.startsWith(`${parsed.origin}/`) ? `${parsed.origin}/` : origin
    // on the same object: a copy's body would not fail when the client disconnects
    else Object.defineProperty(request, 'url', { value: NO_HOST + (start < 0 ? '/' : url.slice(start)) })
  }
}

const startOfPath = (url: string): number => (url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2))

/** Without parsing the whole URL. Keeps a #, as the router does. */
export function pathOf(url: string): string {
  const start = startOfPath(url)
  if (start < 0) return '/'
  const end = url.indexOf('?', start)
  return end < 0 ? url.slice(start) : url.slice(start, end)
}

export type Place = { readonly path: string; readonly route: string | null }

const KNOWN_URLS = 256

/** Cached by whole URL, except URLs with queries or route parameters, which may hold personal data or tokens. */
export function createPlaceFinder(findRoute: RouteFinder): (request: Request) => Place {
  const repairUrl = createUrlRepair()
  const known = new Map<string, Place>()
  return (request) => {
    const { url } = request
    const cached = known.get(url)
    if (cached) return cached
    repairUrl(request)
    const path = pathOf(request.url)
    const route = findRoute(path)
    const place = { path, route }
    // a repaired URL is repaired on each request
    if (route === path && request.url === url && !url.includes('?')) {
      if (known.size >= KNOWN_URLS) known.clear()
      known.set(url, place)
    }
    return place
  }
}

export type RouteFinder = (path: string) => string | null

export function createRouteFinder(routes: readonly string[]): RouteFinder {
  const paths = new Set(routes)
  const patterns = [...paths]
    .filter((path) => path.includes(':'))
    .toSorted((a, b) => a.split(':').length - b.split(':').length)
    .map((path) => ({ path, fits: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`) }))
  return (path) => (paths.has(path) ? path : (patterns.find(({ fits }) => fits.test(path))?.path ?? null))
}

/** Elysia reads badly encoded IDs in a path as null, whatever their type says. They match nothing. */
export function replaceUnreadable({ params }: { params?: Record<string, string | null> }): void {
  for (const [name, id] of Object.entries(params ?? {})) if (params && id === null) params[name] = ''
}
