const QUERY_OR_FRAGMENT = /[?#]/

/** In place of a Host that is missing or can be none: one that the guard of the pages never knows. */
const NAMELESS = 'http://nameless.invalid'

/**
 * Gives a request whose Host is missing or can be none a URL that can be parsed: without, it has a bare path, or the
 * text as it came. What was parsed last is known by its beginning, so that most requests are not parsed.
 */
export function createUrlMend(): (request: Request) => void {
  let origin = `${NAMELESS}/`
  return (request) => {
    const { url } = request
    if (url.startsWith(origin)) return
    const start = startOfPath(url)
    if (URL.canParse(url)) origin = start < 0 ? origin : url.slice(0, start + 1)
    // on the same object: a copy's body would not fail when the client goes away
    else Object.defineProperty(request, 'url', { value: NAMELESS + (start < 0 ? '/' : url.slice(start)) })
  }
}

const startOfPath = (url: string): number => (url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2))

/** The path of a URL, also of one that is only a path, without the cost of parsing all of it. */
export function pathOf(url: string): string {
  const start = startOfPath(url)
  if (start < 0) return '/'
  const path = url.slice(start)
  const end = path.search(QUERY_OR_FRAGMENT)
  return end < 0 ? path : path.slice(0, end)
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
