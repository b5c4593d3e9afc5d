import type { AppRow } from '../core/access.ts'
import type { MemberRow, SignedIn } from '../core/sessions.ts'

/** Who looks at a page, and at which app of their account. */
export type Viewer = {
  member: Pick<MemberRow, 'id' | 'email' | 'role'>
  account: { id: string; name: string }
  apps: AppRow[]
  app: AppRow
  /** what was just done */
  flash: string | null
}

/** null where the app is not one of the account's. */
export function toViewer(
  { member, accountName }: Pick<SignedIn, 'member' | 'accountName'>,
  apps: AppRow[],
  appId: string,
  flash: string | null,
): Viewer | null {
  const app = apps.find(({ publicId }) => publicId === appId)
  return app ? { member, account: { id: member.accountId, name: accountName }, apps, app, flash } : null
}
