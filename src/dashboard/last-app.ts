import { cookieHeader, readCookie } from './cookies.ts'

const COOKIE = 'eventpost_app'
const YEAR_S = 365 * 86_400

/** The ID of the app that this browser looked at last. It opens nothing: whether its reader may, is asked anew. */
export const readLastApp = (request: Request): string | null => readCookie(request, COOKIE)

export const lastAppCookie = (baseUrl: string, appId: string): string =>
  cookieHeader({ name: COOKIE, value: appId, maxAgeS: YEAR_S, isSecure: baseUrl.startsWith('https:') })
