import type { Clock } from '../core/clock.ts'
import type { AbuseLimits } from './abuse-limits.ts'
import type { Access, AppRow, KeyAccess } from '../accounts/access.ts'
import { findApp, findNamedApp } from '../accounts/apps.ts'
import { readBearer } from '../accounts/api-keys.ts'
import type { Reading } from '../core/inputs.ts'
import {
  decodeText,
  findRepeatedKeys,
  joinWarnings,
  type ParsedList,
  parseJsonList,
  parseJsonText,
  warnOfRepeated,
} from '../core/json.ts'
import { type Refusal, refuse, refuseApp, refuseFields, type Warning } from '../core/refusals.ts'
import { factsOf } from './request-facts.ts'
import { findRequestKeyFault } from './idempotency.ts'

type Dependencies = { access: KeyAccess; abuseLimits: AbuseLimits; clock: Clock }

/** An authenticated request with valid input. */
export type RequestInput<T> = {
  access: Access
  app: AppRow
  input: T
  warnings: Warning[]
  body: Record<string, unknown>
}
export type Refused = { refused: Refusal }

/** Keys with scope `ingest` only write. */
type Need = 'read' | 'write' | 'erase' | 'send' | 'manage'

/** Checks the key (401), then the abuse limit, then the scope. */
export function authenticate(deps: Dependencies, request: Request, need: Need): Admission | Promise<Admission> {
  const found = deps.access.find(readBearer(request.headers.get('authorization')))
  // synchronous for cached keys: a promise costs every request a microtask
  return found instanceof Promise
    ? found.then((access) => admit(deps, request, need, access))
    : admit(deps, request, need, found)
}

type Admission = { access: Access } | Refused

function admit(deps: Dependencies, request: Request, need: Need, access: Access | null): Admission {
  const facts = factsOf(request)
  if (!access) return { refused: deps.abuseLimits.checkAddress(facts.address()) ?? WRONG_KEY }
  facts.access = access
  facts.isWrite = need !== 'read' && need !== 'manage'
  deps.access.noteUse(access, isFromBrowser(request.headers))
  const abuse = deps.abuseLimits.checkKey(access.key)
  if (abuse) return { refused: abuse }
  if (need === 'manage' && access.key.scope !== 'manage') return { refused: NOT_MANAGING }
  if (need !== 'write' && access.key.scope === 'ingest') return { refused: refuse('insufficient_scope') }
  return { access }
}

export const NOT_MANAGING = refuse('insufficient_scope', {
  message: 'This call requires a key with scope `manage`. Create one on the API keys page.',
})

export const KEY_HINT =
  'Send `Authorization: Bearer` and one complete API key. API keys start with `mc_`; identity secrets, app IDs and site IDs are not API keys. Create an API key on the API keys page.'

/** The same for every missing, malformed, wrong and revoked key. */
export const WRONG_KEY = refuse('invalid_api_key', { hint: KEY_HINT })

/** Only browsers send these headers. */
const isFromBrowser = (headers: Headers): boolean =>
  headers.has('origin') || headers.get('sec-fetch-site') === 'cross-site'

/** An authenticated request with its unparsed body. */
type Received = { access: Access; text: string }

/** Refuses with 401, 415, 413, or 400 for invalid UTF-8, in this order. */
export function receiveBody(
  deps: Dependencies,
  request: Request,
  need: Need = 'write',
): Refused | Promise<Received | Refused> {
  const admission = authenticate(deps, request, need)
  return admission instanceof Promise
    ? admission.then((admitted) => startReceiving(request, admitted))
    : startReceiving(request, admission)
}

function startReceiving(request: Request, admission: Admission): Refused | Promise<Received | Refused> {
  if ('refused' in admission) return admission
  const { access } = admission
  const reading = startReading(request, BODY_BYTES)
  if ('refused' in reading) return reading
  return reading.then((bytes) => {
    if (bytes === null) return { refused: refuse('too_large') }
    const text = decodeText(bytes)
    return text === null ? { refused: refuse('invalid_json') } : { access, text }
  })
}

type Reader<T> = (body: Record<string, unknown>, now: number) => Reading<T>

/** Refuses with 401, 415 or 413, 400, 404 for the app, in this order. */
export async function readRequest<T extends { app: string }>(
  deps: Dependencies,
  request: Request,
  read: Reader<T>,
  need: Need = 'write',
): Promise<RequestInput<T> | Refused> {
  const received = await receiveBody(deps, request, need)
  if ('refused' in received) return received
  const { access, text } = received
  const body = parseJsonText(text)
  if ('refused' in body) return body
  const fault = findRequestKeyFault(request)
  if (fault) return { refused: fault }
  const { object } = body
  factsOf(request).app = findNamedApp(access, object)
  const reading = read(object, deps.clock.now())
  if ('errors' in reading) return { refused: refuseFields(reading.errors) }
  const { input } = reading
  const found = await findNamed(deps, access, input.app)
  if (!found) return { refused: refuseApp(input.app) }
  factsOf(request).app = found.app
  const warnings = joinWarnings(warnOfRepeated(findRepeatedKeys(text, object)), reading.warnings)
  return { ...found, input, warnings, body: object }
}

/** Looks in the store for an app that isn't known yet. */
export async function findNamed(
  deps: { access: Pick<KeyAccess, 'findWithNewApps'> },
  access: Access,
  publicId: string,
): Promise<{ access: Access; app: AppRow } | null> {
  const known = findApp(access, publicId)
  if (known) return { access, app: known }
  const current = await deps.access.findWithNewApps(access)
  const app = current && findApp(current, publicId)
  return app && { access: current, app }
}

export const BODY_BYTES = 64 * 1024
export const BATCH_BYTES = 256 * 1024

/** Parameters other than the charset mean nothing to JSON. */
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i
const JSON_IN_UTF8 =
  /^application\/(?:[\w.+-]+\+)?json\s*(?:;(?!.*\bcharset\s*=)|;.*\bcharset\s*=\s*"?utf-?8"?\s*(?:;|$)|$)/i

export const COMPRESSED = refuse('unsupported_media_type', {
  message: 'The body is compressed. Send it uncompressed, without the header Content-Encoding.',
})
const NOT_UTF8 = refuse('unsupported_media_type', {
  message: 'Encode the body as UTF-8, with the header Content-Type: application/json.',
})

/** Refusals: unsupported_media_type, too_large (without reading the rest), invalid_json. Items are not checked. */
export async function readJsonList(request: Request, name: string, maxBytes: number): Promise<ParsedList> {
  const bytes = startReading(request, maxBytes)
  if ('refused' in bytes) return bytes
  const body = await bytes
  return body === null ? { refused: refuse('too_large') } : parseJsonList(body, name)
}

function startReading(request: Request, maxBytes: number): Promise<Uint8Array | null> | { refused: Refusal } {
  const { headers } = request
  const type = headers.get('content-type') ?? ''
  if (type !== 'application/json' && !JSON_IN_UTF8.test(type))
    return { refused: JSON_TYPE.test(type) ? NOT_UTF8 : refuse('unsupported_media_type') }
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') return { refused: COMPRESSED }
  return readBytes(request, maxBytes) ?? { refused: refuse('too_large') }
}

export function readBytes(request: Request, maxBytes: number): Promise<Uint8Array | null> | null {
  const announced = request.headers.get('content-length')
  if (announced === null) return readChunks(request, maxBytes)
  return Number(announced) > maxBytes ? null : request.bytes()
}

/** Without a Content-Length. null: too large; the rest isn't read. */
async function readChunks(request: Request, maxBytes: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
