/** What the browser script sends of a path at most. */
const PATH_CHARACTERS = 1_024

/** `/results/1/` is `/results/1`: a site may answer under both. */
const fold = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path)

/** What most URLs are like: nothing in it is changed by reading it, and the path is found in a fifth of the time. */
const PLAIN_URL = /^https?:\/\/(?!(?:.*\.)?xn--)(?:[a-z0-9-]+\.)+[a-z]{2,}(\/[\w~/-]*)?$/

/** The path that a browser reports on the page at this URL, or null when it is none. */
export function pathOfUrl(url: unknown): string | null {
  if (typeof url !== 'string') return null
  const plain = PLAIN_URL.exec(url)
  if (plain) return fold((plain[1] ?? '/').slice(0, PATH_CHARACTERS))
  const parsed = URL.parse(url)
  return parsed && /^https?:$/.test(parsed.protocol) ? fold(parsed.pathname.slice(0, PATH_CHARACTERS)) : null
}

export const isSamePath = (path: string, other: string): boolean => fold(path) === fold(other)

/** `/pricing` is itself, `/docs/*` everything that begins with `/docs/`. */
export const isPathLike = (path: string, pattern: string): boolean =>
  pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : isSamePath(path, pattern)
