import type { MemberRow } from './types.ts'

export type SessionRow = {
  id: string
  memberId: string
  /** in words of our own */
  browser: string
  createdAt: number
  lastSeenAt: number
  /** when the password was last typed */
  confirmedAt: number
}

/** A session with whose it is: all that a page needs to be shown. */
export type SignedIn = { session: SessionRow; member: MemberRow; accountName: string }

export type NewSession = { id: string; tokenHash: string; memberId: string; browser: string }

/** A member as the list of members shows them; `isInvited`: their link has set no password yet. */
export type MemberEntry = Pick<MemberRow, 'id' | 'email' | 'role'> & { isInvited: boolean; createdAt: number }
