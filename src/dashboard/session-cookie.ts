import { SECOND_STEP_MS } from '../core/second-steps.ts'
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

const stepNameAt = (baseUrl: string): string =>
  baseUrl.startsWith('https:') ? '__Host-second-step' : 'eventpost_second_step'

/** The token of the sign-in that waits for its code in a browser (core/second-steps.ts). */
export const readSecondStepToken = (request: Request, baseUrl: string): string | null =>
  readCookie(request, stepNameAt(baseUrl)) || null

/** Keeps it in the browser; null takes it away. */
export const secondStepCookie = (baseUrl: string, token: string | null): string =>
  cookieHeader({
    name: stepNameAt(baseUrl),
    value: token ?? '',
    maxAgeS: token === null ? 0 : SECOND_STEP_MS / 1_000,
    isSecure: baseUrl.startsWith('https:'),
  })

const KNOWN = 'eventpost_known'

/** What proves that this browser has signed in before (core/sign-ins.ts). It opens nothing. */
export const readKnownMark = (request: Request): string | null => readCookie(request, KNOWN)

export const knownCookie = (baseUrl: string, mark: string): string =>
  cookieHeader({ name: KNOWN, value: mark, maxAgeS: YEAR_S, isSecure: baseUrl.startsWith('https:') })
