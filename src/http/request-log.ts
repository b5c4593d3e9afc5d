/** The log of refused requests, and of one accepted request a second and key. It holds no values of requests. */
import { readBearer } from '../accounts/api-keys.ts'
import type { AppRow, KeyAccess } from '../accounts/access.ts'
import type { Clock } from '../core/clock.ts'
import { createSharedTurns } from '../core/in-order.ts'
import { errorCode, type Refusal, refusedField, REFUSALS } from '../core/refusals.ts'
import { type NewRequest, NO_ACCOUNT } from '../store/requests.ts'
import type { Store } from '../store/store.ts'
import type { KeyRow } from '../store/types.ts'
import { COLLECT_PATH } from './answers.ts'
import type { RequestFacts } from './request-facts.ts'

/** Callers without a valid key. */
export const KEYLESS = { unknown: 'unknown_key', none: 'no_key', browser: 'browser', bounces: 'bounces' } as const

const SECOND_MS = 1_000
/** Identical refusals of a second that get a row each; the row of the last counts further ones. */
const SINGLE_REFUSALS = 10
const ROWS_PER_WRITE = 1_000
/** 3 MB. The oldest are dropped when nothing can be saved. */
const MOST_UNSAVED = 10_000

/** `route`: with the names of its parameters. `status`: as answered. */
type Call = { request: Request; facts: RequestFacts; route: string; status: number }

export type RequestLog = {
  add(call: Call): void
  save(): Promise<void>
}

type Dependencies = {
  store: Pick<Store, 'addRequests'>
  clock: Pick<Clock, 'now'>
  access: Pick<KeyAccess, 'find' | 'findRevoked'>
}

/** Collects rows, so that no request waits for them. */
export function createRequestLog({ store, clock, access }: Dependencies): RequestLog {
  let gathered: NewRequest[] = []
  const isSampled = createSampling()
  const repeats = createRepeats()

  const save = createSharedTurns(async () => {
    if (gathered.length === 0) return
    const written = gathered
    gathered = []
    repeats.close()
    const outcome = await store.addRequests(written)
    if ('refusal' in outcome) gathered = [...written, ...gathered].slice(-MOST_UNSAVED)
  })
  const addRow = (row: NewRequest): void => {
    gathered.push(row)
    if (gathered.length % ROWS_PER_WRITE === 0) void save()
  }
  const addRefusals = (call: Call, known: Caller | null, at: number): void => {
    for (const row of describeRefusals(call, known, at)) if (!repeats.merge(row)) addRow(row)
  }

  /** Of a refusal whose key is looked up: later ones wait for it, so that they stay in order. */
  let last: Promise<void> | null = null

  return {
    add(call) {
      const { facts, status } = call
      const at = clock.now()
      if (facts.refusal === null && facts.protocolError === undefined && facts.refusedItems === undefined) {
        // without a refusal, 4xx and 5xx are clients that left
        if (status < 400 && isSampled(facts, at)) addRow(describeAccepted(call, at))
        return
      }
      const found = facts.access ?? findCaller(access, call)
      if (last === null && !(found instanceof Promise)) return addRefusals(call, found, at)
      const turn = (last ?? Promise.resolve()).then(async () => addRefusals(call, await found, at)).catch(() => {})
      last = turn
      void turn.then(() => {
        if (last === turn) last = null
      })
    },
    async save() {
      await last
      await save()
    },
  }
}

/** One a second of each key, and of each app without keys. */
function createSampling() {
  const seen = new Set<string | number>()
  let second = 0
  return ({ access, app }: RequestFacts, at: number): boolean => {
    const source = access?.key.id ?? app?.id
    if (source === undefined) return false
    const now = Math.floor(at / SECOND_MS)
    if (now !== second) seen.clear()
    second = now
    if (seen.has(source)) return false
    seen.add(source)
    return true
  }
}

type Repeated = { times: number; row: NewRequest; isOpen: boolean }

/** Bounds what many refusals write. A saved row is closed: the next identical refusal gets a row again. */
function createRepeats() {
  const known = new Map<string, Repeated>()
  let second = 0
  return {
    merge(row: NewRequest): boolean {
      const now = Math.floor(row.at / SECOND_MS)
      if (now !== second) known.clear()
      second = now
      const { at, requestId, count: _, ...same } = row
      const name = Object.values(same).join('\n')
      const { times, row: last, isOpen } = known.get(name) ?? { times: 0, row, isOpen: false }
      if (times >= SINGLE_REFUSALS && isOpen) {
        Object.assign(last, { count: last.count + 1, at, requestId })
        return true
      }
      known.set(name, { times: times + 1, row, isOpen: true })
      return false
    },
    close(): void {
      for (const one of known.values()) one.isOpen = false
    },
  }
}

/** `isRevoked`: its key no longer works. */
type Caller = { key: Pick<KeyRow, 'id' | 'accountId'>; isRevoked?: true }

function findCaller(access: Dependencies['access'], call: Call): Caller | null | Promise<Caller | null> {
  if (mayHaveKey(call)) return access.find(bearerOf(call))
  const key = isKeyless(call.route) || call.facts.refusal === null ? null : bearerOf(call)
  const revoked = key === null ? null : access.findRevoked(key)
  return revoked && revoked.then((found) => found && { key: found, isRevoked: true })
}

/** A wrong address or method is refused before the key is read. */
const mayHaveKey = ({ facts, route }: Call): boolean =>
  !isKeyless(route) && facts.refusal !== null && facts.refusal.refusal !== 'invalid_api_key'

const bearerOf = ({ request }: Call): string | null => readBearer(request.headers.get('authorization'))

const isKeyless = (route: string): boolean => route === COLLECT_PATH || route.startsWith('/hooks/')

type Described = { status: number; code: string | null; field?: string; app?: AppRow }

function describeAccepted(call: Call, at: number): NewRequest {
  const { access, app } = call.facts
  const only = access?.apps.length === 1 ? access.apps[0] : undefined
  return toRow(call, access, at, { status: call.status, code: null, app: app ?? only })
}

function describeRefusals(call: Call, access: Caller | null, at: number): NewRequest[] {
  const { refusal, refusedItems = [], protocolError, app } = call.facts
  const refused = refusal === null ? refusedItems : [{ refusal, app }]
  const described = refused.map((one) => describeRefusal(one, call.status))
  if (protocolError !== undefined) described.push({ status: statusOf(call.status, 403), code: protocolError, app })
  return described.map((one) => toRow(call, access, at, one))
}

/** Items of a batch and MCP tools are refused in answers with a status of success. */
const statusOf = (answered: number, own: number): number => (answered < 400 ? own : answered)

function describeRefusal({ refusal, app }: { refusal: Refusal; app?: AppRow }, answered: number): Described {
  const status = statusOf(answered, REFUSALS[refusal.refusal].status)
  return { status, code: errorCode(refusal.refusal), field: knownFields(refusal), app }
}

function toRow({ request, facts, route }: Call, access: Caller | null, at: number, described: Described): NewRequest {
  // without a key, only these endpoints are addressed to an app
  const app = access || isKeyless(route) ? described.app : undefined
  return {
    pool: described.code === null ? 'accepted' : access && !access.isRevoked ? 'refused' : 'unkeyed',
    accountId: access?.key.accountId ?? app?.accountId ?? NO_ACCOUNT,
    appId: app?.id ?? null,
    caller: access?.key.id ?? describeKeyless(request, route),
    at,
    method: request.method,
    path: route,
    tool: facts.tool ?? null,
    status: described.status,
    code: described.code,
    field: described.field ?? null,
    requestId: facts.requestId,
    count: 1,
  }
}

function describeKeyless({ headers }: Request, route: string): string {
  if (route === COLLECT_PATH) return KEYLESS.browser
  if (isKeyless(route)) return KEYLESS.bounces
  return headers.has('authorization') ? KEYLESS.unknown : KEYLESS.none
}

/** Known names. Others are not logged, because callers make them up. */
export const LOGGED_FIELDS: ReadonlySet<string> = new Set(
  `app basedOn body consent createContact cursor days delivery deliveryId dryRun email event events field fields firstName fromEmail
  fromName html id Idempotency-Key ip kind language lastName limit message messageId moveWaiting newsletter occurredAt page preheader properties
  provider reason removeTags replyTo search several signature site source state status subject tag tags to token until updatedAfter v`.split(
    /\s+/,
  ),
)

const MOST_FIELDS = 5

/** The top-level names, such as `email, event` or `email, event, source, ip, page and 2 more`. */
function knownFields(refusal: Refusal): string | undefined {
  const fields = refusal.errors?.map(({ field }) => field) ?? [refusedField(refusal) ?? '']
  const names = new Set(
    fields.map((field) => field.split(/[.[]/, 1)[0] ?? '').filter((name) => LOGGED_FIELDS.has(name)),
  )
  if (names.size === 0) return undefined
  const more = names.size > MOST_FIELDS ? ` and ${names.size - MOST_FIELDS} more` : ''
  return [...names].slice(0, MOST_FIELDS).join(', ') + more
}
