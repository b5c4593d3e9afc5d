import { describeActor, writeActorFirst } from '../../accounts/audit.ts'
import { findChanger, type Wanted } from '../../accounts/settings-basis.ts'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'

/** `now`: the stored value; omitted if it is secret. */
export type ChangedField = { label: string; now?: string }

/** Says who changed which settings after a form had shown them. */
export async function describeConflict(
  { store }: Pick<PageDependencies, 'store'>,
  { account }: Viewer,
  { changed, ...wanted }: Wanted & { changed: ChangedField[] },
): Promise<string> {
  const entry = await findChanger(store, account.id, wanted)
  const members = await store.listMembers(account.id)
  return writeConflict(
    entry ? writeActorFirst(describeActor(entry, { members, keys: [] })) : 'Someone',
    'these settings',
    changed,
  )
}

export function writeConflict(who: string, what: string, changed: ChangedField[]): string {
  const fields = changed.map(({ label, now }) => `${label}${now === undefined ? '' : ` (now ${now || 'empty'})`}`)
  return `${who} changed ${what} while you were editing: ${fields.join('; ')}. Nothing was saved. Save again to overwrite these changes.`
}
