import { describeBrowser } from '../../accounts/browsers.ts'
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
