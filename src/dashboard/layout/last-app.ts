import { cookieHeader, cookieName, readCookie } from '../access/cookies.ts'

const COOKIE = 'app'
const YEAR_S = 365 * 86_400

/** The ID of the app that this browser looked at last. It opens nothing: whether its reader may, is asked anew. */
export const readLastApp = (request: Request, baseUrl: string): string | null =>
  readCookie(request, cookieName(baseUrl, COOKIE))

export const lastAppCookie = (baseUrl: string, appId: string): string =>
  cookieHeader(baseUrl, { name: COOKIE, value: appId, maxAgeS: YEAR_S })
