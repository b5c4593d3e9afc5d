import type { KeyRow } from '../../accounts/accounts.ts'
import { findLastViewer } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'

/** A member, whose own IDs and key name the documentation shows. Never a key. */
export type Reader = { viewer: Viewer; keyName: string | null }

/** null if nobody is signed in, or if they can't open their app. */
export async function findReader(deps: PageDependencies, request: Request): Promise<Reader | null> {
  const viewer = await findLastViewer(deps, request)
  return viewer && { viewer, keyName: nameOf(await deps.store.listKeys(viewer.account.id)) }
}

/** The newest key whose scope allows the calls in the samples. */
function nameOf(keys: KeyRow[]): string | null {
  const working = keys.filter(({ revokedAt }) => revokedAt === null)
  return (working.find(({ scope }) => scope === 'standard') ?? working[0])?.name ?? null
}
