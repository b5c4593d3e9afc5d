import type { AppRow } from '../core/access.ts'

export type Role = 'owner' | 'editor' | 'viewer'

/** Who looks at a page, and at which app of their account. */
export type Viewer = {
  member: { id: string; email: string; role: Role }
  account: { id: string; name: string }
  apps: AppRow[]
  app: AppRow
  /** what was just done */
  flash: string | null
}
