import { redirectAnswer } from '../layout/answers.ts'
import { linkCookie, readLinkToken } from './session-cookie.ts'

const TOKEN = /^\w{43}$/

/**
 * The token of the one-time link that was opened. A token in the address goes into a cookie first, and the browser to the
 * address without it: an address stays in the history, and is sent to others by mistake.
 */
export function openLink(request: Request, baseUrl: string): { token: string } | { redirect: Response } {
  const { pathname, searchParams } = new URL(request.url)
  const token = searchParams.get('token')
  if (token === null) return { token: readLinkToken(request, baseUrl) }
  return { redirect: redirectAnswer(pathname, [linkCookie(baseUrl, TOKEN.test(token) ? token : null)]) }
}

/** Takes the token out of the browser once the form of its link was taken. */
export function closeLink(response: Response, baseUrl: string): Response {
  if (response.ok || response.status === 303) response.headers.append('Set-Cookie', linkCookie(baseUrl, null))
  return response
}
