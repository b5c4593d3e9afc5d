import { describeBrowser } from '../core/browsers.ts'
import type { Proof } from '../core/sessions.ts'
import type { PageParts } from './door.tsx'
import { knownCookie, readSessionToken, sessionCookie } from './session-cookie.ts'

/** The cookies of a new session after a right sign-in, and its token; null where the password was changed meanwhile. */
export async function startSession(
  { sessions, signIns, baseUrl }: PageParts,
  request: Request,
  proof: Proof,
): Promise<{ token: string; cookies: string[] } | null> {
  const browser = describeBrowser(request.headers.get('user-agent'))
  const started = await sessions.start(proof, browser, readSessionToken(request, baseUrl))
  if ('refusal' in started) return null
  const known = signIns.knownMark({ ...proof.member, passwordHash: proof.passwordHash })
  const cookies = [sessionCookie(baseUrl, started.token), knownCookie(baseUrl, known)]
  return { token: started.token, cookies }
}
