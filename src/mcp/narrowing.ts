import type { Access, KeyAccess } from '../accounts/access.ts'
import { quoteName } from '../core/json.ts'
import { type FieldError, type Refusal, refuse, refuseFields } from '../core/refusals.ts'
import { findNamed } from '../http/request-input.ts'

/** How the URL narrows the key's access; null: not at all. */
export type Narrowing = { readOnly: boolean; app: string | null; tools: ReadonlySet<string> | null }

const ALL: Narrowing = { readOnly: false, app: null, tools: null }
const PARAMETERS = ['read_only', 'app', 'tools']

/** Reads `?read_only=true`, `?app=ID`, `?tools=a,b`. Refuses typos, which would narrow nothing. */
export function readNarrowing(url: string, known: ReadonlySet<string>): Narrowing | Refusal {
  const start = url.indexOf('?')
  if (start < 0) return ALL
  const query = new URLSearchParams(url.slice(start))
  const errors: FieldError[] = []
  const add = (field: string, code: string, message: string): void => void errors.push({ field, code, message })
  for (const name of new Set(query.keys())) {
    if (!PARAMETERS.includes(name)) add(quoteName(name), 'unknown', UNKNOWN)
  }
  const readOnly = query.get('read_only')
  if (readOnly !== null && readOnly !== 'true' && readOnly !== 'false')
    add('read_only', 'invalid', 'Send true or false.')
  const tools = query.get('tools')?.split(',') ?? null
  if (tools?.some((name) => !known.has(name))) add('tools', 'invalid', 'Send tool names, separated by commas.')
  if (errors.length > 0) return refuseFields(errors)
  return { readOnly: readOnly === 'true', app: query.get('app'), tools: tools && new Set(tools) }
}

const UNKNOWN = 'Unknown parameter. Known parameters: `read_only`, `app`, `tools`.'

export async function narrowAccess(
  deps: { access: Pick<KeyAccess, 'findWithNewApps'> },
  whole: Access,
  { app: publicId }: Narrowing,
): Promise<Access | Refusal> {
  if (publicId === null) return whole
  const found = await findNamed(deps, whole, publicId)
  if (!found) return refuse('app_not_found', { field: 'app' })
  const { access, app } = found
  // events are read by the sender alone
  const sender = { ...access.sender, apps: access.sender.apps.filter((one) => one.publicId === publicId) }
  return { ...access, apps: [app], sender }
}
