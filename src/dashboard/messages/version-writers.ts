import { describeActor } from '../../accounts/audit.ts'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'

/** `writer`: null if the version is from a release that didn't store it. */
export type ShownVersion = { version: number; createdAt: number; writer: string | null }

type Versions = { messageId: number; before: number | null; limit: number }

/** Versions with the names of who wrote them, newest first. */
export async function listShownVersions(
  { store }: Pick<PageDependencies, 'store'>,
  { account }: Pick<Viewer, 'account'>,
  { messageId, ...page }: Versions,
): Promise<ShownVersion[]> {
  const [versions, members, keys] = await Promise.all([
    store.listVersions(messageId, page),
    store.listMembers(account.id),
    store.listKeys(account.id),
  ])
  return versions.map(({ version, createdAt, actor }) => ({
    version,
    createdAt,
    writer: actor === null ? null : describeActor({ actor }, { members, keys }),
  }))
}
