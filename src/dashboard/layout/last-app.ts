import { cookieHeader, cookieName, readCookie } from '../access/cookies.ts'

const COOKIE = 'app'
const YEAR_S = 365 * 86_400

/** ID of the last app in this browser. Access is checked separately. */
export const readLastApp = (request: Request, baseUrl: string): string | null =>
  readCookie(request, cookieName(baseUrl, COOKIE))

export const lastAppCookie = (baseUrl: string, appId: string): string =>
  cookieHeader(baseUrl, { name: COOKIE, value: appId, maxAgeS: YEAR_S })
