/** The browser script cuts paths at this length. */
const PATH_CHARACTERS = 1_024

/** Sites may serve a page with and without the trailing slash. */
const trimSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path)

/** Fast path for most URLs: parsing would not change them, and matching takes a fifth of the time. */
const PLAIN_URL = /^https?:\/\/(?!(?:.*\.)?xn--)(?:[a-z0-9-]+\.)+[a-z]{2,}(\/[\w~/-]*)?$/

export function pathOfUrl(url: unknown): string | null {
  if (typeof url !== 'string') return null
  const plain = PLAIN_URL.exec(url)
  if (plain) return trimSlash((plain[1] ?? '/').slice(0, PATH_CHARACTERS))
  const parsed = URL.parse(url)
  return parsed && /^https?:$/.test(parsed.protocol) ? trimSlash(parsed.pathname.slice(0, PATH_CHARACTERS)) : null
}

export const isSamePath = (path: string, other: string): boolean => trimSlash(path) === trimSlash(other)

export const isPathLike = (path: string, pattern: string): boolean =>
  pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : isSamePath(path, pattern)
