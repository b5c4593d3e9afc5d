import type { Clock } from '../core/clock.ts'
import type { FloodGuard } from './flood.ts'
import type { Access, AppRow, KeyAccess } from '../accounts/access.ts'
import { findApp, findNamedApp } from '../accounts/apps.ts'
import { readBearer } from '../accounts/api-keys.ts'
import type { Reading } from '../core/field-readers.ts'
import { decodeText, findRepeatedKeys, parseJsonText, joinWarnings, warnOfRepeated } from '../core/json.ts'
import { type Refusal, refuse, refuseFields, type Warning } from '../core/refusals.ts'
import { factsOf } from './request-facts.ts'
import { BODY_BYTES, startReading } from './body.ts'
import { findKeyFault } from './idempotency.ts'

type Parts = { access: KeyAccess; flood: FloodGuard; clock: Clock }

export type Call<T> = { access: Access; app: AppRow; input: T; warnings: Warning[]; body: Record<string, unknown> }
/** `read`: the body and its owner, when only fields were refused. */
export type Refused = { refused: Refusal; read?: { access: Access; body: Record<string, unknown> } }

/** Keys of scope `ingest` may only write. */
type Need = 'read' | 'write' | 'erase'

/** 401, then the abuse limit, then the scope. */
export function authenticate(parts: Parts, request: Request, need: Need): Admission | Promise<Admission> {
  const found = parts.access.find(readBearer(request.headers.get('authorization')))
  // no promise for a known key: each costs a turn of the queue on every request
  return found instanceof Promise
    ? found.then((access) => admit(parts, request, need, access))
    : admit(parts, request, need, found)
}

type Admission = { access: Access } | Refused

function admit(parts: Parts, request: Request, need: Need, access: Access | null): Admission {
  const facts = factsOf(request)
  if (!access) return { refused: parts.flood.checkAddress(facts.address()) ?? refuse('invalid_api_key') }
  facts.access = access
  facts.isWrite = need !== 'read'
  parts.access.noteUse(access, isFromBrowser(request.headers))
  const flooded = parts.flood.checkKey(access.key)
  if (flooded) return { refused: flooded }
  if (need !== 'write' && access.key.scope === 'ingest') return { refused: refuse('insufficient_scope') }
  return { access }
}

/** Only browsers send these headers; servers with a key don't. */
const isFromBrowser = (headers: Headers): boolean =>
  headers.has('origin') || headers.get('sec-fetch-site') === 'cross-site'

/** An authenticated request with its unread body. */
export type Arrived = { access: Access; bytes: Uint8Array }

/** 401, 415 or 413, in this order. */
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

/** 400, then 404 for the app. */
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

/** 401, 415 or 413, 400, 404 for the app. */
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
