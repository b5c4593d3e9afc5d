import type { Store } from '../store/store.ts'
import { type AuditEntry, listAudit } from './audit.ts'

const MARK_CHARACTERS = 8

/** Keyed, because the mail server's URL holds a password. */
const markOf = (key: string, appId: string, name: string, value: unknown): string =>
  new Bun.CryptoHasher('sha256', key)
    .update(JSON.stringify(['settings', appId, name, value]))
    .digest('base64url')
    .slice(0, MARK_CHARACTERS)

type Marked = { key: string; appId: string; settings: object }

/** A mark of each setting that a form shows, so that saving finds those that changed in between. */
export const markSettings = ({ key, appId, settings }: Marked): string =>
  Object.entries(settings)
    .map(([name, value]) => markOf(key, appId, name, value))
    .join('')

/** Names of the settings that have changed since a form showed them; all of them when it sends no marks. */
export const listChanged = ({ key, appId, settings }: Marked, basedOn: string): string[] =>
  Object.entries(settings).flatMap(([name, value], index) => {
    const shown = basedOn.slice(index * MARK_CHARACTERS, (index + 1) * MARK_CHARACTERS)
    return shown === markOf(key, appId, name, value) ? [] : [name]
  })

const AUDIT_ROWS = 50

export type Wanted = {
  /** how the action begins */
  action: string
  isIt: (entry: AuditEntry) => boolean
}

/** Who made the newest change that fits; null if it isn't among the last 50 of its kind. */
export async function findChanger(
  store: Store,
  accountId: string,
  { action, isIt }: Wanted,
): Promise<AuditEntry | null> {
  const { entries } = await listAudit(store, accountId, { kind: 'changes', action, before: null, limit: AUDIT_ROWS })
  return entries.find(isIt) ?? null
}
