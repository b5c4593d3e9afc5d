import type { Clock } from '../core/clock.ts'
import type { AbuseLimits } from './abuse-limits.ts'
import type { Access, AppRow, KeyAccess } from '../accounts/access.ts'
import { findApp, findNamedApp } from '../accounts/apps.ts'
import { readBearer } from '../accounts/api-keys.ts'
import type { Reading } from '../core/inputs.ts'
import { decodeText, findRepeatedKeys, parseJsonText, joinWarnings, warnOfRepeated } from '../core/json.ts'
import { type Refusal, refuse, refuseFields, type Warning } from '../core/refusals.ts'
import { factsOf } from './request-facts.ts'
import { BODY_BYTES, startReading } from './body.ts'
import { findKeyFault } from './idempotency.ts'

/** What these functions need. */
type Parts = { access: KeyAccess; abuseLimits: AbuseLimits; clock: Clock }

/** A call that was let in and understood. */
export type Call<T> = { access: Access; app: AppRow; input: T; warnings: Warning[]; body: Record<string, unknown> }
/** `read`: what was in the body, and whose it was, where only its fields were refused. */
export type Refused = { refused: Refusal; read?: { access: Access; body: Record<string, unknown> } }

/** What a call does. A key of scope `ingest` only writes. */
type Need = 'read' | 'write' | 'erase'

/** The key's access, or 401; then the flood guard; then the scope. */
export function authenticate(parts: Parts, request: Request, need: Need): Admission | Promise<Admission> {
  const found = parts.access.find(readBearer(request.headers.get('authorization')))
  // no promise for a known key: each costs a turn of the queue, and this is every request's way
  return found instanceof Promise
    ? found.then((access) => admit(parts, request, need, access))
    : admit(parts, request, need, found)
}

type Admission = { access: Access } | Refused

function admit(parts: Parts, request: Request, need: Need, access: Access | null): Admission {
  const facts = factsOf(request)
  if (!access) return { refused: parts.abuseLimits.checkAddress(facts.address()) ?? refuse('invalid_api_key') }
  facts.access = access
  facts.isWrite = need !== 'read'
  parts.access.noteUse(access, isFromBrowser(request.headers))
  const abuse = parts.abuseLimits.checkKey(access.key)
  if (abuse) return { refused: abuse }
  if (need !== 'write' && access.key.scope === 'ingest') return { refused: refuse('insufficient_scope') }
  return { access }
}

/** Only a browser sends these; a server that holds a key has no reason to. */
const isFromBrowser = (headers: Headers): boolean =>
  headers.has('origin') || headers.get('sec-fetch-site') === 'cross-site'

/** A call that was let in, with its body, which nobody has read yet. */
export type Arrived = { access: Access; bytes: Uint8Array }

/** Lets a call with a body in: 401, 415 or 413, in this order. */
export function receiveCall(
  parts: Parts,
  request: Request,
  need: Need = 'write',
): Refused | Promise<Arrived | Refused> {
  const admission = authenticate(parts, request, need)
  return admission instanceof Promise
    ? admission.then((admitted) => receiveBody(request, admitted))
    : receiveBody(request, admission)
}

function receiveBody(request: Request, admission: Admission): Refused | Promise<Arrived | Refused> {
  if ('refused' in admission) return admission
  const { access } = admission
  const reading = startReading(request, BODY_BYTES)
  if ('refused' in reading) return reading
  return reading.then((bytes) => (bytes === null ? { refused: refuse('too_large') } : { access, bytes }))
}

type Reader<T> = (body: Record<string, unknown>, now: number) => Reading<T>

/** Reads a call about one app that was let in: 400, 404 for the app, in this order. */
export function readArrived<T extends { app: string }>(
  parts: Parts,
  request: Request,
  read: Reader<T>,
  { access, bytes }: Arrived,
): Call<T> | Refused {
  const text = decodeText(bytes)
  if (text === null) return { refused: refuse('invalid_json') }
  const body = parseJsonText(text)
  if ('refused' in body) return body
  const fault = findKeyFault(request)
  if (fault) return { refused: fault }
  factsOf(request).app = findNamedApp(access, body.object)
  const call = readItem(access, read(body.object, parts.clock.now()), body.object)
  if ('refused' in call) return call
  return { ...call, warnings: joinWarnings(warnOfRepeated(findRepeatedKeys(text, body.object)), call.warnings) }
}

/** A call with a body about one app: 401, 415 or 413, 400, 404 for the app, in this order. */
export function readCall<T extends { app: string }>(
  parts: Parts,
  request: Request,
  read: Reader<T>,
  need: Need = 'write',
): Call<T> | Refused | Promise<Call<T> | Refused> {
  const arriving = receiveCall(parts, request, need)
  const readOn = (arrived: Arrived | Refused): Call<T> | Refused =>
    'refused' in arrived ? arrived : readArrived(parts, request, read, arrived)
  return arriving instanceof Promise ? arriving.then(readOn) : readOn(arriving)
}

/** What was read, with the app it is about: 400, then 404 for the app. */
export function readItem<T extends { app: string }>(
  access: Access,
  reading: Reading<T>,
  body: Record<string, unknown>,
): Call<T> | Refused {
  if ('errors' in reading) return { refused: refuseFields(reading.errors), read: { access, body } }
  const app = findApp(access, reading.input.app)
  if (!app) return { refused: refuse('app_not_found') }
  return { access, app, input: reading.input, warnings: reading.warnings, body }
}
