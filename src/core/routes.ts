const QUERY_OR_FRAGMENT = /[?#]/

/** Of somebody who calls by no name that can be one; no page is shown under it. */
const NAMELESS = 'http://nameless.invalid'

/** A request without a Host, or with one that cannot be, has a URL that is only a path: the same with a whole one. */
export const withWholeUrl = (request: Request): Request =>
  request.url.startsWith('/') ? new Request(NAMELESS + request.url, request) : request

/** The path of an absolute URL, without the cost of parsing all of it. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2)
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
