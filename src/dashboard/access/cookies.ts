/** For cookies that outlast sessions. */
export const YEAR_S = 365 * 86_400

/** Over https, the prefix keeps other hosts and plain http pages from setting our cookies (RFC 6265bis, 4.1.3.2). */
export const cookieName = (baseUrl: string, name: string): string =>
  isHttps(baseUrl) ? `__Host-${name}` : `eventpost_${name}`

/** null if missing; the first of duplicates counts. */
export function readCookie(request: Request, name: string): string | null {
  const cookies = request.headers.get('cookie') ?? ''
  for (const pair of cookies.split(';')) {
    const [key = '', ...rest] = pair.split('=')
    if (key.trim() === name) return rest.join('=').trim()
  }
  return null
}

export type NewCookie = { name: string; value: string; maxAgeS: number }

/** An HttpOnly, same-site cookie; a maximum age of 0 deletes it. */
export const cookieHeader = (baseUrl: string, { name, value, maxAgeS }: NewCookie): string =>
  `${cookieName(baseUrl, name)}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${isHttps(baseUrl) ? '; Secure' : ''}`

const isHttps = (baseUrl: string): boolean => baseUrl.startsWith('https:')
