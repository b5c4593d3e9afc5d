import { SESSION_MS } from '../core/sessions.ts'
import { cookieHeader, readCookie } from './cookies.ts'

const YEAR_S = 365 * 86_400

/** Over https the prefix keeps every other host, and every plain http page, from setting it (promises 14). */
const nameAt = (baseUrl: string): string => (baseUrl.startsWith('https:') ? '__Host-session' : 'eventpost_session')

/** The token of the session that a browser holds. */
export const readSessionToken = (request: Request, baseUrl: string): string | null =>
  readCookie(request, nameAt(baseUrl)) || null

/** Keeps a session's token in the browser; null takes it away. */
export const sessionCookie = (baseUrl: string, token: string | null): string =>
  cookieHeader({
    name: nameAt(baseUrl),
    value: token ?? '',
    maxAgeS: token === null ? 0 : SESSION_MS / 1_000,
    isSecure: baseUrl.startsWith('https:'),
  })

const KNOWN = 'eventpost_known'

/** What proves that this browser has signed in before (core/sign-ins.ts). It opens nothing. */
export const readKnownMark = (request: Request): string | null => readCookie(request, KNOWN)

export const knownCookie = (baseUrl: string, mark: string): string =>
  cookieHeader({ name: KNOWN, value: mark, maxAgeS: YEAR_S, isSecure: baseUrl.startsWith('https:') })
