/** The store applies these rules of accounts, but does not contain them (accounts/account-rules.ts). Times are ms UTC. */
import type { CountedLimit, NewLink, Refused, Role } from './types.ts'
import type { RequestRules } from './requests.ts'
import type { RetentionRules } from './retention.ts'
import type { DeliveryWork, Installation, SenderProof } from './message-types.ts'

/** `isJoined`: has accepted the invitation. */
export type AccountMember = { memberId: string; role: Role; isJoined: boolean }

/** A one-time link. `accountId` is null for the operator's links. */
export type Link = {
  purpose: NewLink['purpose']
  memberId: string | null
  accountId: string | null
  endsTwoStep: boolean
  expiresAt: number
}

/** Null: unknown. */
export type LinkFacts = { link: Link | null; at: number }

/**
 * `accounts`: how many there are; at most 2 are counted. `passwordHash`: given for the owner; null if they set it by
 * link. `storedHash`: the owner's so far. `setup`: only if the account needs the set-up link.
 */
export type AccountFacts = {
  onlyFirst: boolean
  accounts: number
  passwordHash: string | null
  storedHash: string | null
  setup: LinkFacts | null
}

export type AccountPlan = {
  setsPassword: boolean
  joins: boolean
  /** the account that existed alone keeps the sender domains that it uses */
  bindsDomains: boolean
  snippetLimits: boolean
}

/** What was recorded before these times has expired. */
export type Expiries = {
  usageSecond: number
  callsAt: number
  signInsAt: number
  linksAt: number
  formsAt: number
  sessionsAt: number
  secretsAt: number
  setUpsAt: number
}

export type AccountRules = RetentionRules & {
  perPersonDay: number
  planAccount: (facts: AccountFacts) => AccountPlan | Refused
  /** `role` null: the default. */
  planInvite: (
    members: readonly AccountMember[],
    invited: { memberId: string; role: Role | null },
  ) => { role: Role; change: 'none' | 'add' | 'setRole' } | Refused
  /** `role` null: removed. */
  refuseRole: (members: readonly AccountMember[], change: { memberId: string; role: Role | null }) => Refused | null
  isLinkOpen: (link: Pick<Link, 'expiresAt'>, at: number) => boolean
  /** `isProven`: the person's password is still the one that was verified. */
  refuseAcceptance: (facts: LinkFacts & { memberId: string; isProven: boolean }) => Refused | null
  refuseReset: (facts: { isByOwner: boolean; isJoined: boolean; isOnlyAccount: () => boolean }) => Refused | null
  planPassword: (
    facts: LinkFacts & { member: { passwordHash: string | null }; invitedTo: () => string[] },
  ) => { accepts: string[]; endsTwoStep: boolean } | Refused
  isSignInProven: (facts: { isPasswordCurrent: boolean; isStepDone: boolean; hasTwoStep: boolean }) => boolean
  /** Ids of the sessions that a new one ends. */
  listEndedSessions: (others: readonly { id: string; lastSeenAt: number }[]) => string[]
  /** `accounts`: those that the member has joined. */
  refuseOneStep: (accounts: readonly { requiresTwoStep: boolean }[]) => Refused | null
  findFull: (
    limits: readonly CountedLimit[],
    usedOf: (bucket: string) => number | undefined,
    count: number,
  ) => CountedLimit | null
  isExclusive: (proof: SenderProof) => boolean
  expiriesAt: (at: number) => Expiries
  mostRequests: RequestRules['mostRequests']
  /** Whether nobody is emailed, because there is no mail server or no sender address. */
  isCapturing: (work: Pick<DeliveryWork, 'message' | 'settings'>, installation: Installation) => boolean
}
