/** The text of a cookie, or null. Of one that was sent twice, the first counts. */
export function readCookie(request: Request, name: string): string | null {
  const cookies = request.headers.get('cookie') ?? ''
  for (const pair of cookies.split(';')) {
    const [key = '', ...rest] = pair.split('=')
    if (key.trim() === name) return rest.join('=').trim()
  }
  return null
}

export type NewCookie = { name: string; value: string; maxAgeS: number; path?: string; isSecure: boolean }

/** The header that sets a cookie which no script reads and no other site sends along; an age of 0 takes it away. */
export const cookieHeader = ({ name, value, maxAgeS, path = '/', isSecure }: NewCookie): string =>
  `${name}=${value}; Path=${path}; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
