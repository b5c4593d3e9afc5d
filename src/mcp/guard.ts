/** Checks a request before its protocol message is read, in the order of the answers. */
import { isJsonContentType } from '@modelcontextprotocol/sdk/shared/mediaType.js'
import type { Access, KeyAccess } from '../accounts/access.ts'
import { readBearer } from '../accounts/api-keys.ts'
import { createKnownHosts, isOwnOrigin } from '../http/known-hosts.ts'
import type { Limits } from '../accounts/limits.ts'
import type { Clock } from '../core/clock.ts'
import type { AbuseLimits } from '../http/abuse-limits.ts'
import { type Refusal, refuse, refuseLimited } from '../core/refusals.ts'
import { factsOf } from '../http/request-facts.ts'
import { COMPRESSED, readBytes, WRONG_KEY } from '../http/request-input.ts'
import { refusalError } from './answers.ts'

export const MESSAGE_BYTES = 64 * 1024

export type GuardDependencies = {
  access: KeyAccess
  abuseLimits: AbuseLimits
  limits: Limits
  clock: Clock
  baseUrl: string
  host?: string
  origins: readonly string[]
}

const UNKNOWN_HOST = refuse('origin_not_allowed', {
  message: 'The Host header does not match this server. Use the address in --base-url.',
})
const FOREIGN_ORIGIN = refuse('origin_not_allowed', {
  message: "Pages from this origin can't call the MCP server. To allow it, add the origin to --mcp-origins.",
})
const NO_JSON = refuse('unsupported_media_type', {
  message: 'The Content-Type is not JSON. Send one JSON-RPC message, with the header Content-Type: application/json.',
})
const NOT_ACCEPTABLE = refuse('not_acceptable')
const TOO_LARGE = refuse('too_large', { message: 'The message is too large. Send at most 64 KB.' })
/** Write-only keys have no use here. */
const INGEST = refuse('insufficient_scope', {
  message:
    'This key has the scope `ingest`, which can only add and update over HTTP. Use a key with scope `standard` or `manage`.',
})

/** GET and DELETE are listed so that browser clients can read the 405. */
const PREFLIGHT = {
  'Access-Control-Allow-Methods': 'POST, GET, DELETE',
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID',
  'Access-Control-Max-Age': '86400',
}

const isPreflight = ({ method, headers }: Request): boolean =>
  method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method')

/** On any status. `Vary` is always set when there is a list, because the other headers depend on Origin. */
export function addCors(origins: readonly string[], request: Request, response: Response): void {
  if (origins.length === 0) return
  response.headers.set('Vary', 'Origin')
  const origin = request.headers.get('origin')
  if (origin === null || !origins.includes(origin)) return
  response.headers.set('Access-Control-Allow-Origin', origin)
  response.headers.set('Access-Control-Expose-Headers', 'Retry-After, WWW-Authenticate, X-Request-Id')
}

const takesJson = (accept: string | null): boolean =>
  accept === null || /(?:^|[\s,])(?:application\/json|application\/\*|\*\/\*)(?=$|[\s,;])/i.test(accept)

export function createGuard(deps: GuardDependencies) {
  const findHost = createKnownHosts(deps)

  const findStranger = (request: Request): Refusal | null => {
    const called = findHost(request)
    if (!called) return UNKNOWN_HOST
    const origin = request.headers.get('origin')
    if (origin === null || isOwnOrigin(origin, deps.baseUrl, called) || deps.origins.includes(origin)) return null
    return FOREIGN_ORIGIN
  }

  return async (request: Request): Promise<{ access: Access; bytes: Uint8Array } | { answer: Response }> => {
    const no = (refusal: Refusal, headers?: Record<string, string>) => ({
      answer: refusalError(request, refusal, headers),
    })
    const stranger = findStranger(request)
    if (stranger) return no(stranger)
    if (isPreflight(request) && deps.origins.includes(request.headers.get('origin') ?? ''))
      return { answer: new Response(null, { status: 204, headers: PREFLIGHT }) }
    if (request.method !== 'POST') return no(refuse('method_not_allowed'), { Allow: 'POST' })
    const found = deps.access.find(readBearer(request.headers.get('authorization')))
    // no promise for a known key, as in the API
    const access = found instanceof Promise ? await found : found
    if (!access) return no(deps.abuseLimits.checkAddress(factsOf(request).address()) ?? WRONG_KEY)
    const refusal = (await admit(deps, request, access)) ?? checkHeaders(request)
    if (refusal) return no(refusal)
    const bytes = await readBytes(request, MESSAGE_BYTES)
    return bytes === null ? no(TOO_LARGE) : { access, bytes }
  }
}

/** 429 for abuse on any endpoint or too many MCP requests; then the scope. */
async function admit(deps: GuardDependencies, request: Request, access: Access): Promise<Refusal | null> {
  const facts = factsOf(request)
  facts.access = access
  deps.access.noteUse(access, request.headers.has('origin') || request.headers.get('sec-fetch-site') === 'cross-site')
  const { key, keyLimits } = access
  const abuse = deps.abuseLimits.checkKey(key)
  if (abuse) return abuse
  const { bucket, limit } = keyLimits.mcpCalls
  const { allowed, retryAfterSeconds: retryAfter } = await deps.limits.takeAlone(bucket, limit)
  if (allowed === 0) {
    const at = deps.clock.now()
    return refuseLimited({ name: 'mcp_calls_per_minute', key, limit: limit.max, retryAfter, at })
  }
  return access.key.scope === 'ingest' ? INGEST : null
}

function checkHeaders({ headers }: Request): Refusal | null {
  const encoding = headers.get('content-encoding')
  if (!isJsonContentType(headers.get('content-type'))) return NO_JSON
  if (encoding !== null && encoding.toLowerCase() !== 'identity') return COMPRESSED
  return takesJson(headers.get('accept')) ? null : NOT_ACCEPTABLE
}
