/** In place of a Host that is missing or can be none: one that the guard of the pages never knows. */
const NAMELESS = 'http://nameless.invalid'

/**
 * Gives a request whose Host is missing or can be none a URL that can be parsed: without, it has a bare path, or the
 * text as it came. What was parsed last is known by its beginning, so that most requests are not parsed.
 */
function createUrlMend(): (request: Request) => void {
  let origin = `${NAMELESS}/`
  return (request) => {
    const { url } = request
    if (url.startsWith(origin)) return
    const start = startOfPath(url)
    const parsed = URL.parse(url)
    // not cut from the text, which would be held with all that stands in it
    if (parsed) origin = url.startsWith(`${parsed.origin}/`) ? `${parsed.origin}/` : origin
    // on the same object: a copy's body would not fail when the client goes away
    else Object.defineProperty(request, 'url', { value: NAMELESS + (start < 0 ? '/' : url.slice(start)) })
  }
}

const startOfPath = (url: string): number => (url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2))

/**
 * The path of a URL, also of one that is only a path, without the cost of parsing all of it. A # is part of it, as it is for the
 * routes: no honest request has a fragment.
 */
export function pathOf(url: string): string {
  const start = startOfPath(url)
  if (start < 0) return '/'
  const end = url.indexOf('?', start)
  return end < 0 ? url.slice(start) : url.slice(start, end)
}

/** `route`: of what programs call; null for a page. */
export type Place = { readonly path: string; readonly route: string | null }

/** URLs kept: each route of programs under a few names of the host. */
const KNOWN_URLS = 256

/**
 * Where a request goes to. What was found is kept for the addresses that programs call again and again, by their whole
 * URL; those that hold anything of a person or a token have a query or a route with places in it.
 */
export function createPlaceFinder(findRoute: RouteFinder): (request: Request) => Place {
  const mendUrl = createUrlMend()
  const known = new Map<string, Place>()
  return (request) => {
    const { url } = request
    const kept = known.get(url)
    if (kept) return kept
    mendUrl(request)
    const path = pathOf(request.url)
    const route = findRoute(path)
    const place = { path, route }
    // a URL that had to be mended is mended on each request anew
    if (route === path && request.url === url && !url.includes('?')) {
      if (known.size >= KNOWN_URLS) known.clear()
      known.set(url, place)
    }
    return place
  }
}

export type RouteFinder = (path: string) => string | null

/** Finds the route of a path as it is written, `/apps/:app/keys`: an ID is whatever a caller likes. Most have none. */
export function createRouteFinder(routes: readonly string[]): RouteFinder {
  const paths = new Set(routes)
  const patterns = [...paths]
    .filter((path) => path.includes(':'))
    // of two that fit, the one that names more
    .toSorted((a, b) => a.split(':').length - b.split(':').length)
    .map((path) => ({ path, fits: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`) }))
  return (path) => (paths.has(path) ? path : (patterns.find(({ fits }) => fits.test(path))?.path ?? null))
}
