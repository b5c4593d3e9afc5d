import { SECOND_STEP_MS } from '../../accounts/second-steps.ts'
import { SESSION_MS } from '../../accounts/sessions.ts'
import { cookieHeader, cookieName, readCookie } from './cookies.ts'

const YEAR_S = 365 * 86_400

/** Cookies know no ports, so the name has it: two installations on one machine do not sign each other out. */
function withPort(baseUrl: string, name: string): string {
  const { port } = new URL(baseUrl)
  return port === '' ? name : `${name}_${port}`
}

const readToken = (request: Request, baseUrl: string, name: string): string | null =>
  readCookie(request, cookieName(baseUrl, withPort(baseUrl, name))) || null

/** null takes it away */
const tokenCookie = (baseUrl: string, name: string, token: string | null, maxAgeMs: number): string =>
  cookieHeader(baseUrl, {
    name: withPort(baseUrl, name),
    value: token ?? '',
    maxAgeS: token === null ? 0 : maxAgeMs / 1_000,
  })

/** The token of the session that a browser holds. */
export const readSessionToken = (request: Request, baseUrl: string): string | null =>
  readToken(request, baseUrl, 'session')

/** Keeps a session's token in the browser; null takes it away. */
export const sessionCookie = (baseUrl: string, token: string | null): string =>
  tokenCookie(baseUrl, 'session', token, SESSION_MS)

/** The token of the sign-in that waits for its code in a browser (accounts/second-steps.ts). */
export const readSecondStepToken = (request: Request, baseUrl: string): string | null =>
  readToken(request, baseUrl, 'second_step')

/** Keeps it in the browser; null takes it away. */
export const secondStepCookie = (baseUrl: string, token: string | null): string =>
  tokenCookie(baseUrl, 'second_step', token, SECOND_STEP_MS)

/** Long enough to choose a password; then the link is opened again. */
const LINK_MS = 3_600_000

/** The token of the one-time link that was opened in this browser. */
export const readLinkToken = (request: Request, baseUrl: string): string => readToken(request, baseUrl, 'link') ?? ''

/** Keeps it in the browser; null takes it away. */
export const linkCookie = (baseUrl: string, token: string | null): string =>
  tokenCookie(baseUrl, 'link', token, LINK_MS)

const KNOWN = 'known'

/** What proves that this browser has signed in before (accounts/sign-ins.ts). It opens nothing. */
export const readKnownMark = (request: Request, baseUrl: string): string | null =>
  readCookie(request, cookieName(baseUrl, KNOWN))

export const knownCookie = (baseUrl: string, mark: string): string =>
  cookieHeader(baseUrl, { name: KNOWN, value: mark, maxAgeS: YEAR_S })
