import { factsOf } from '../../http/request-facts.ts'
import type { Proof } from '../../accounts/sessions.ts'
import type { PageDependencies } from '../layout/viewer.ts'
import { knownCookie, readSessionToken, sessionCookie } from './session-cookie.ts'

/** Starts a session; null if the password was changed meanwhile. */
export async function startSession(
  {
    sessions,
    signIns,
    signInNotes,
    baseUrl,
  }: Pick<PageDependencies, 'sessions' | 'signIns' | 'signInNotes' | 'baseUrl'>,
  request: Request,
  proof: Proof,
): Promise<{ token: string; cookies: string[] } | null> {
  const browser = describeBrowser(request.headers.get('user-agent'))
  const from = factsOf(request).address()
  const address = signInNotes.hashAddress(from)
  const started = await sessions.start(proof, { browser, address, replaces: readSessionToken(request, baseUrl) })
  if ('refusal' in started) return null
  signInNotes.noteSignIn(proof, from)
  const known = signIns.knownMark({ ...proof.member, passwordHash: proof.passwordHash })
  const cookies = [sessionCookie(baseUrl, started.token), knownCookie(baseUrl, known)]
  return { token: started.token, cookies }
}

/** Later browsers claim to be earlier ones, so the order matters. */
const BROWSERS: [mark: RegExp, name: string][] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: [mark: RegExp, name: string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

const nameOf = (names: [RegExp, string][], text: string): string | undefined =>
  names.find(([mark]) => mark.test(text))?.[1]

/** "Firefox on Linux". Never quotes the header. */
export function describeBrowser(userAgent: string | null): string {
  const text = (userAgent ?? '').slice(0, 500)
  const [browser, system] = [nameOf(BROWSERS, text), nameOf(SYSTEMS, text)]
  if (!browser && !system) return 'Another program'
  return [browser ?? 'A browser', ...(system ? [`on ${system}`] : [])].join(' ')
}
