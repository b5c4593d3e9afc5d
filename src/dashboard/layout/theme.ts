import { cookieHeader, cookieName, readCookie, YEAR_S } from '../access/cookies.ts'

export const THEMES = ['light', 'dark', 'system'] as const
export type Theme = (typeof THEMES)[number]

const COOKIE = 'theme'

/** Accepts either cookie name; it only sets colours. */
const NAMES = ['https:', 'http:'].map((scheme) => cookieName(scheme, COOKIE))

export const isTheme = (text: string): text is Theme => (THEMES as readonly string[]).includes(text)

/** `system` follows the device. */
export function readTheme(request: Request): Theme {
  const text = NAMES.map((name) => readCookie(request, name)).find((value) => value !== null) ?? ''
  return isTheme(text) ? text : 'system'
}

export const themeCookie = (baseUrl: string, theme: Theme): string =>
  cookieHeader(baseUrl, { name: COOKIE, value: theme, maxAgeS: YEAR_S })
