/** @jsxImportSource preact */
import type { KeyRow } from '../../accounts/accounts.ts'
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
  [KEYLESS.bounces, 'Bounce report'],
])

export const KEYLESS_OPTIONS = Array.from(KEYLESS_NAMES, ([value, label]) => ({ value, label }))

export function describeCaller(caller: string, { keys }: RequestNames): string {
  const key = keys.find(({ id }) => id === caller)
  if (key) return key.revokedAt === null ? key.name : `${key.name} (revoked)`
  return KEYLESS_NAMES.get(caller) ?? caller
}

export const appOf = (appId: number | null, { apps }: RequestNames) => apps.find(({ id }) => id === appId)

function moodOf(status: number): Mood {
  if (status < 400) return 'good'
  return status === 429 || status >= 500 ? 'caution' : 'bad'
}

export const StatusBadge = ({ status }: { status: number }) => <Badge mood={moodOf(status)}>{String(status)}</Badge>

export const describeCall = ({ method, path }: Pick<NewRequest, 'method' | 'path'>): string => `${method} ${path}`

/** The page on which to fix the cause of an error. */
export function remedyOf(code: string, appId: string): { href: string; label: string } | null {
  const remedy = REMEDIES.get(code)
  return remedy ? { href: pathOf(appId, remedy.page) + remedy.part, label: remedy.label } : null
}

const ACTIVATION = { page: 'activation', part: '', label: 'Open Activation' } as const
const REMEDIES = new Map<string, { page: 'activation' | 'keys' | 'settings'; part: string; label: string }>([
  ['invalid_api_key', { page: 'keys', part: '', label: 'Open API keys' }],
  ['insufficient_scope', { page: 'keys', part: '', label: 'Open API keys' }],
  ['tool_not_open', { page: 'keys', part: '', label: 'Open API keys' }],
  ['invalid_signature', { page: 'activation', part: '#check', label: 'Check a signature' }],
  ['origin_not_allowed', { page: 'settings', part: '', label: 'Open Settings' }],
  ['app_not_found', ACTIVATION],
  ['site_not_found', ACTIVATION],
])
