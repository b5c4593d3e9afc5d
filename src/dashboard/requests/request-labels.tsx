/** @jsxImportSource preact */
import type { KeyRow } from '../../accounts/accounts.ts'
import { NOT_ASCII } from '../../core/email.ts'
import { APP, EMAIL, EVENT, NEWSLETTER } from '../../core/field-schemas.ts'
import { faultOf } from '../../core/inputs.ts'
import { KEY_HINT } from '../../http/request-input.ts'
import { KEYLESS } from '../../http/request-log.ts'
import type { NewRequest } from '../../store/requests.ts'
import { pathOf } from '../layout/frame.tsx'
import { Badge, type Mood } from '../ui/badge.tsx'

/** Names of the callers and apps of requests. */
export type RequestNames = { keys: KeyRow[]; apps: { id: number; publicId: string; name: string }[] }

const KEYLESS_NAMES = new Map<string, string>([
  [KEYLESS.unknown, 'Unknown key'],
  [KEYLESS.none, 'No key'],
  [KEYLESS.browser, 'Browser script'],
  [KEYLESS.bounces, 'Bounce report or webhook'],
])

export const KEYLESS_OPTIONS = Array.from(KEYLESS_NAMES, ([value, label]) => ({ value, label }))

export function describeCaller(caller: string, { keys }: RequestNames): string {
  const key = keys.find(({ id }) => id === caller)
  if (key) return key.revokedAt === null ? key.name : `${key.name} (revoked)`
  return KEYLESS_NAMES.get(caller) ?? caller
}

export const appOf = (appId: number | null, { apps }: RequestNames) => apps.find(({ id }) => id === appId)

export const NO_KNOWN_APP = 'No known app'

export const describeApp = (row: AppFacts & Pick<NewRequest, 'appId'>, names: RequestNames): string =>
  appOf(row.appId, names)?.name ?? describeNoApp(row)

type AppFacts = Pick<NewRequest, 'code' | 'field'>

/** What a refused request sent as its app isn't logged. */
function describeNoApp({ code, field }: AppFacts): string {
  if (code === null) return 'None specified'
  if (code === 'invalid_api_key') return 'Unknown: the key was refused first'
  if (code === 'app_not_found' || code === 'site_not_found') return 'Not found'
  return field?.split(', ').some((name) => APP_FIELDS.has(name))
    ? 'Missing or invalid'
    : 'Unknown: the request was refused before its app was read'
}

const APP_FIELDS: ReadonlySet<string> = new Set(['app', 'newsletter', 'site'])

function moodOf(status: number): Mood {
  if (status < 400) return 'good'
  return status === 429 || status >= 500 ? 'caution' : 'bad'
}

export const StatusBadge = ({ status }: { status: number }) => <Badge mood={moodOf(status)}>{String(status)}</Badge>

export const describeCall = ({ method, path }: Pick<NewRequest, 'method' | 'path'>): string => `${method} ${path}`

/** Sentences of responses that hold whether the field is missing or invalid, because the log has only its name. */
const FIELD_FIXES = new Map([
  ['app', faultOf(APP, 'missing', undefined).message],
  ['newsletter', faultOf(NEWSLETTER, 'missing', undefined).message],
  ['email', `${faultOf(EMAIL, 'invalid', undefined).message} ${NOT_ASCII}`],
  ['event', `${faultOf(EVENT, 'missing', undefined).message} ${faultOf(EVENT, 'invalid', undefined).message}`],
])

/** What was wrong with the key, which the response doesn't say. Null for other errors, whose documented meaning is shown. */
export function describeMeaning({ code, caller }: Refused): string | null {
  if (code !== 'invalid_api_key') return null
  if (caller === KEYLESS.none) return 'The request had no `Authorization` header.'
  return caller === KEYLESS.unknown ? 'The `Authorization` header has no valid API key.' : 'This API key was revoked.'
}

/** What the response said about the key or invalid fields. Null: its sentences aren't known; tools have their own. */
export function describeFix({ code, field, tool }: Pick<NewRequest, 'code' | 'field' | 'tool'>): string | null {
  if (code === 'invalid_api_key') return KEY_HINT
  if (code !== 'invalid_field' || field === null || tool !== null) return null
  const fixes = field.split(', ').map((name) => FIELD_FIXES.get(name))
  return fixes.includes(undefined) ? null : fixes.join(' ')
}

/** The page on which to fix the cause of an error. */
export function remedyOf(row: Refused, appId: string): { href: string; label: string } | null {
  const remedy = findRemedy(row)
  return remedy ? { href: pathOf(appId, remedy.page) + remedy.part, label: remedy.label } : null
}

type Refused = Pick<NewRequest, 'code' | 'caller'>
type Remedy = { page: 'activation' | 'keys' | 'settings' | 'sender/server'; part: string; label: string }

/** Reports have secrets of their own, and origins of MCP clients are a setting of the server. */
function findRemedy({ code, caller }: Refused): Remedy | undefined {
  if (code === 'invalid_signature' && caller === KEYLESS.bounces) return REPORTS
  return code === 'origin_not_allowed' && caller !== KEYLESS.browser ? undefined : REMEDIES.get(code ?? '')
}

const REPORTS: Remedy = { page: 'sender/server', part: '', label: 'Open Mail server' }
const ACTIVATION: Remedy = { page: 'activation', part: '', label: 'Open Activation' }
const REMEDIES = new Map<string, Remedy>([
  ['invalid_api_key', { page: 'keys', part: '', label: 'Open API keys' }],
  ['insufficient_scope', { page: 'keys', part: '', label: 'Open API keys' }],
  ['tool_not_open', { page: 'keys', part: '', label: 'Open API keys' }],
  ['invalid_signature', { page: 'activation', part: '#check', label: 'Check a signature' }],
  ['origin_not_allowed', { page: 'settings', part: '', label: 'Open Settings' }],
  ['app_not_found', ACTIVATION],
  ['site_not_found', ACTIVATION],
])
