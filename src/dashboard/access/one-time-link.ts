import { redirectAnswer } from '../layout/answers.ts'
import { linkCookie, readLinkToken } from './session-cookie.ts'

const TOKEN = /^\w{43}$/

/**
 * Token of a one-time link. It moves from the URL to a cookie first, because URLs stay in the history and get shared.
 */
export function openLink(request: Request, baseUrl: string): { token: string } | { redirect: Response } {
  const { pathname, searchParams } = new URL(request.url)
  const token = searchParams.get('token')
  if (token === null) return { token: readLinkToken(request, baseUrl) }
  return { redirect: redirectAnswer(pathname, [linkCookie(baseUrl, TOKEN.test(token) ? token : null)]) }
}

export function closeLink(response: Response, baseUrl: string): Response {
  if (response.ok || response.status === 303) response.headers.append('Set-Cookie', linkCookie(baseUrl, null))
  return response
}
