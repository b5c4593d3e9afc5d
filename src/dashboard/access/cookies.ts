/**
 * Over https the prefix keeps every other host, and every plain http page, from setting a cookie of ours (RFC 6265bis,
 * 4.1.3.2).
 */
export const cookieName = (baseUrl: string, name: string): string =>
  isHttps(baseUrl) ? `__Host-${name}` : `eventpost_${name}`

/** The text of a cookie, or null. Of one that was sent twice, the first counts. */
export function readCookie(request: Request, name: string): string | null {
  const cookies = request.headers.get('cookie') ?? ''
  for (const pair of cookies.split(';')) {
    const [key = '', ...rest] = pair.split('=')
    if (key.trim() === name) return rest.join('=').trim()
  }
  return null
}

export type NewCookie = { name: string; value: string; maxAgeS: number }

/** The header that sets a cookie which no script reads and no other site sends along; an age of 0 takes it away. */
export const cookieHeader = (baseUrl: string, { name, value, maxAgeS }: NewCookie): string =>
  `${cookieName(baseUrl, name)}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${isHttps(baseUrl) ? '; Secure' : ''}`

const isHttps = (baseUrl: string): boolean => baseUrl.startsWith('https:')
