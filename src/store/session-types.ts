import type { MemberRow, Role } from './types.ts'

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

/** A session with whose it is. */
export type SignedIn = { session: SessionRow; member: MemberRow }

export type NewSession = { id: string; tokenHash: string; memberId: string; browser: string }

/**
 * A member as the list of an account shows them: by an id of this account alone, while `personId` is the same in all and is
 * not shown. `isInvited`: they have not accepted yet.
 */
export type MemberEntry = {
  id: string
  personId: string
  email: string
  role: Role
  isInvited: boolean
  createdAt: number
}

/** An app that a person may open, and what they may do there. */
export type Place = {
  accountId: string
  accountName: string
  role: Role
  /** whether the account asks all of its members for two-step sign-in */
  requiresTwoStep: boolean
  appId: string
  appName: string
}

/** Failed sign-ins of a member that are alike. `address` is a keyed hash, or 'several'. */
export type FailedSignIns = { memberId: string; action: string; address: string; count: number; at: number }

/**
 * A one-time link of a member that can still be used. `invited`: to which account, where it is an invitation.
 * `endsTwoStep`: choosing a password by it turns the second step off.
 */
export type MemberLink = {
  member: MemberRow
  endsTwoStep: boolean
  invited: { accountId: string; accountName: string; role: Role } | null
}

/** A member's second step of signing in. `startedAt` is when its secret was made, and tells it from one before. */
export type TwoStepRow = {
  memberId: string
  /** base32 */
  secret: string
  startedAt: number
  /** null while it is being set up, and asked of nobody */
  turnedOnAt: number | null
  /** the last 30 seconds, counted from 1970, of which a code was taken */
  lastStep: number
  codesMadeAt: number
  /** recovery codes that were not used yet */
  codesLeft: number
}
