import { Elysia } from 'elysia'
import { describeError } from '../core/error-text.ts'
import { etagOf, FOREVER, hasEtag, pickEncoding, type Script } from '../assets.ts'
import { noteScriptLoad, type Notes } from '../events/activation.ts'
import type { KeyAccess } from '../accounts/access.ts'
import { refuse } from '../core/refusals.ts'
import { pinnedScriptPath, scriptHash } from '../visits/snippet-tag.ts'
import { refusalAnswer } from '../http/answers.ts'

/** One hour, so that a fixed script reaches everyone the same day. */
const SHORTLY = 'public, max-age=3600, stale-while-revalidate=86400'

/** Serves the browser script, /s.js, and its pinned copy. `onFault`: errors of noting a load. */
export function scriptRoutes(
  deps: { access: KeyAccess; notes: Notes },
  script: Script,
  onFault: (reason: string) => void,
) {
  const hash = scriptHash(script.identity)
  const serve = (request: Request, cacheControl: string): Response => {
    const { encoding, suffix } = pickEncoding(request)
    const etag = etagOf(hash, suffix)
    const headers = { ...HEADERS, 'Cache-Control': cacheControl, ETag: etag }
    if (hasEtag(request, etag)) return new Response(null, { status: 304, headers })
    const coded: Record<string, string> = encoding === 'identity' ? {} : { 'Content-Encoding': encoding }
    return new Response(script[encoding], { headers: { ...headers, ...coded, 'Content-Type': TYPE } })
  }
  // not awaited, so that pages never wait for it or fail because of it
  const note = ({ headers }: Request): void =>
    void noteScriptLoad(deps, headers.get('referer')).catch((error: unknown) => onFault(describeError(error)))
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

/** Whether it is the path of a pinned copy, of any build. */
export const isPinnedScript = (path: string): boolean => PINNED_SCRIPT.test(path)

/** A 404 for pinned copies of other builds, with CORS; null for other paths. */
export function refuseOtherBuild(request: Request, path: string): Response | null {
  if (!isPinnedScript(path)) return null
  const message =
    'This server has a different build of the browser script. Copy the tag again from Activation or `eventpost app tag`.'
  return refusalAnswer(request, refuse('not_found', { message }), HEADERS)
}

const TYPE = 'text/javascript; charset=utf-8'

/** For pages of other origins, including isolated ones and integrity checks. */
const HEADERS = {
  Vary: 'Accept-Encoding',
  'Access-Control-Allow-Origin': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'X-Content-Type-Options': 'nosniff',
}
