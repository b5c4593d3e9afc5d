import { HOUR_MS } from '../../core/clock.ts'
import { SECOND_STEP_MS } from '../../accounts/second-steps.ts'
import { SESSION_MS } from '../../accounts/sessions.ts'
import { cookieHeader, cookieName, readCookie, YEAR_S } from './cookies.ts'

/** Cookies ignore ports, so the name includes it: installations on one machine don't sign each other out. */
function withPort(baseUrl: string, name: string): string {
  const { port } = new URL(baseUrl)
  return port === '' ? name : `${name}_${port}`
}

const readToken = (request: Request, baseUrl: string, name: string): string | null =>
  readCookie(request, cookieName(baseUrl, withPort(baseUrl, name))) || null

const tokenCookie = (baseUrl: string, name: string, token: string | null, maxAgeMs: number): string =>
  cookieHeader(baseUrl, {
    name: withPort(baseUrl, name),
    value: token ?? '',
    maxAgeS: token === null ? 0 : maxAgeMs / 1_000,
  })

export const readSessionToken = (request: Request, baseUrl: string): string | null =>
  readToken(request, baseUrl, 'session')

/** null deletes it. */
export const sessionCookie = (baseUrl: string, token: string | null): string =>
  tokenCookie(baseUrl, 'session', token, SESSION_MS)

export const readSecondStepToken = (request: Request, baseUrl: string): string | null =>
  readToken(request, baseUrl, 'second_step')

/** null deletes it. */
export const secondStepCookie = (baseUrl: string, token: string | null): string =>
  tokenCookie(baseUrl, 'second_step', token, SECOND_STEP_MS)

/** Time to choose a password. */
const LINK_MS = HOUR_MS

export const readLinkToken = (request: Request, baseUrl: string): string => readToken(request, baseUrl, 'link') ?? ''

/** null deletes it. */
export const linkCookie = (baseUrl: string, token: string | null): string =>
  tokenCookie(baseUrl, 'link', token, LINK_MS)

const KNOWN = 'known'

/** Proves an earlier sign-in from this browser (accounts/sign-ins.ts). Grants no access. */
export const readKnownMark = (request: Request, baseUrl: string): string | null =>
  readCookie(request, cookieName(baseUrl, KNOWN))

export const knownCookie = (baseUrl: string, mark: string): string =>
  cookieHeader(baseUrl, { name: KNOWN, value: mark, maxAgeS: YEAR_S })
