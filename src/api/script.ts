import { Elysia } from 'elysia'
import type { Script } from '../assets.ts'
import { noteScriptLoad, type Notes } from '../events/activation.ts'
import type { KeyAccess } from '../accounts/access.ts'
import { refuse } from '../core/refusals.ts'
import { pinnedScriptPath, scriptHash } from '../visits/snippet-tag.ts'
import { refusalAnswer } from '../http/answers.ts'
import { isKnown, pickEncoding } from '../http/packed.ts'

/** An hour, so that a mended script reaches everyone the same day, and nobody waits for the question. */
const SHORTLY = 'public, max-age=3600, stale-while-revalidate=86400'
const FOREVER = 'public, max-age=31536000, immutable'

/** /s.js, and its fixed copy: the browser script. It holds nothing of anyone's, so every page may have it. `onFault` hears why a load could not be noted. */
export function scriptRoutes(
  parts: { access: KeyAccess; notes: Notes },
  script: Script,
  onFault: (reason: string) => void,
) {
  const hash = scriptHash(script.identity)
  const serve = (request: Request, cacheControl: string): Response => {
    const [encoding, suffix] = pickEncoding(request.headers.get('accept-encoding') ?? '')
    const etag = `"${hash}${suffix}"`
    const headers = { ...HEADERS, 'Cache-Control': cacheControl, ETag: etag }
    if (isKnown(request.headers.get('if-none-match'), etag)) return new Response(null, { status: 304, headers })
    const coded: Record<string, string> = encoding === 'identity' ? {} : { 'Content-Encoding': encoding }
    return new Response(script[encoding], { headers: { ...headers, ...coded, 'Content-Type': TYPE } })
  }
  // beside the answer: no page waits for it, and none goes without the script because it failed
  const note = ({ headers }: Request): void =>
    void noteScriptLoad(parts, headers.get('referer')).catch((error: unknown) => onFault(String(error)))
  return new Elysia()
    .get('/s.js', ({ request }) => {
      note(request)
      return serve(request, SHORTLY)
    })
    .get(pinnedScriptPath(script.identity), ({ request }) => {
      note(request)
      return serve(request, FOREVER)
    })
}

const PINNED_SCRIPT = /^\/s\.\w+\.js$/

/** Whether it is where a pinned copy stands, of this build or another. */
export const isPinnedScript = (path: string): boolean => PINNED_SCRIPT.test(path)

/** A pinned copy of another build, which browsers ask for with CORS; null for any other path. */
export function refuseOtherBuild(request: Request, path: string): Response | null {
  if (!isPinnedScript(path)) return null
  const message = 'This build of the browser script is not served here. Copy the tag again, from Activation or app tag.'
  return refusalAnswer(request, refuse('not_found', { message }), HEADERS)
}

const TYPE = 'text/javascript; charset=utf-8'

/** For pages of other origins, also those that ask for isolation or check integrity. */
const HEADERS = {
  Vary: 'Accept-Encoding',
  'Access-Control-Allow-Origin': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'X-Content-Type-Options': 'nosniff',
}
