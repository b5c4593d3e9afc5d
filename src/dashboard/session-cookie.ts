import { SECOND_STEP_MS } from '../core/second-steps.ts'
import { SESSION_MS } from '../core/sessions.ts'
import { cookieHeader, readCookie } from './cookies.ts'

const YEAR_S = 365 * 86_400

/**
 * Over https the prefix keeps every other host, and every plain http page, from setting it (promises 14). Cookies know no
 * ports, so the name has it: two installations on one machine do not sign each other out.
 */
function nameAt(baseUrl: string, what: 'session' | 'second_step'): string {
  const { protocol, port } = new URL(baseUrl)
  const name = port === '' ? what : `${what}_${port}`
  return protocol === 'https:' ? `__Host-${name}` : `eventpost_${name}`
}

/** The token of the session that a browser holds. */
export const readSessionToken = (request: Request, baseUrl: string): string | null =>
  readCookie(request, nameAt(baseUrl, 'session')) || null

/** Keeps a session's token in the browser; null takes it away. */
export const sessionCookie = (baseUrl: string, token: string | null): string =>
  cookieHeader({
    name: nameAt(baseUrl, 'session'),
    value: token ?? '',
    maxAgeS: token === null ? 0 : SESSION_MS / 1_000,
    isSecure: baseUrl.startsWith('https:'),
  })

/** The token of the sign-in that waits for its code in a browser (core/second-steps.ts). */
export const readSecondStepToken = (request: Request, baseUrl: string): string | null =>
  readCookie(request, nameAt(baseUrl, 'second_step')) || null

/** Keeps it in the browser; null takes it away. */
export const secondStepCookie = (baseUrl: string, token: string | null): string =>
  cookieHeader({
    name: nameAt(baseUrl, 'second_step'),
    value: token ?? '',
    maxAgeS: token === null ? 0 : SECOND_STEP_MS / 1_000,
    isSecure: baseUrl.startsWith('https:'),
  })

const KNOWN = 'eventpost_known'

/** What proves that this browser has signed in before (core/sign-ins.ts). It opens nothing. */
export const readKnownMark = (request: Request): string | null => readCookie(request, KNOWN)

export const knownCookie = (baseUrl: string, mark: string): string =>
  cookieHeader({ name: KNOWN, value: mark, maxAgeS: YEAR_S, isSecure: baseUrl.startsWith('https:') })
