import { cookieHeader, readCookie } from './cookies.ts'

export const THEMES = ['light', 'dark', 'system'] as const
export type Theme = (typeof THEMES)[number]

const COOKIE = 'eventpost_theme'
const YEAR_S = 365 * 86_400

export const isTheme = (text: string): text is Theme => (THEMES as readonly string[]).includes(text)

/** Which colours somebody chose; `system` is what their device says. */
export function readTheme(request: Request): Theme {
  const text = readCookie(request, COOKIE) ?? ''
  return isTheme(text) ? text : 'system'
}

export const themeCookie = (baseUrl: string, theme: Theme): string =>
  cookieHeader({ name: COOKIE, value: theme, maxAgeS: YEAR_S, isSecure: baseUrl.startsWith('https:') })
