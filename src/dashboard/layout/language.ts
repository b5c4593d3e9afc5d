import { SAMPLE_LANGUAGES } from '../../docs/samples.ts'
import { cookieHeader, cookieName, readCookie, YEAR_S } from '../access/cookies.ts'

const COOKIE = 'language'

/** Accepts either cookie name; it only selects a tab. */
const NAMES = ['https:', 'http:'].map((scheme) => cookieName(scheme, COOKIE))

export const isLanguage = (text: string): boolean => SAMPLE_LANGUAGES.includes(text)

/** The language of code samples chosen last in this browser. */
export function readLanguage(request: Request): string | null {
  const text = NAMES.map((name) => readCookie(request, name)).find((value) => value !== null) ?? ''
  return isLanguage(text) ? text : null
}

export const languageCookie = (baseUrl: string, language: string): string =>
  cookieHeader(baseUrl, { name: COOKIE, value: language, maxAgeS: YEAR_S })
