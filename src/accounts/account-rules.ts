/** What may change in an account, its members, links and sessions. Pure; the store applies it. */
import { DAY_MS, HOUR_MS } from '../core/clock.ts'
import type { AccountMember, AccountRules } from '../store/account-rules.ts'
import type { Installation, Mail, MailSettings } from '../store/message-types.ts'
import type { Role } from '../store/types.ts'
import { PREVIOUS_SECRET_VALID_MS } from './identity.ts'
import { findFull } from './limits.ts'
import { RETENTION_RULES } from './retention.ts'

/** Per member; a new session ends the least recently used one. */
export const MOST_SESSIONS = 20
/** Retention of sign-ins in the audit log; changes are kept forever. */
export const SIGN_INS_KEPT_MS = 400 * DAY_MS
const CALLS_MS = 90 * DAY_MS
/** 100,000 refused ones in all. */
const MOST_REQUESTS = { refused: 90_000, unkeyed: 10_000, accepted: 50_000 }
/** Longer than every rate limit window. */
const USAGE_S = 3_600
/** Longer than a page with a form stays usable. */
const FORM_MS = 2 * DAY_MS
const TWO_STEP_SET_UP_MS = HOUR_MS
/** So that a clock that is a day off deletes nothing early. */
const CLOCK_ERROR_MS = DAY_MS
const SESSION_MS = 2 * DAY_MS + CLOCK_ERROR_MS
const SECRET_MS = PREVIOUS_SECRET_VALID_MS + CLOCK_ERROR_MS

/** Limit of lifecycle emails per person and day in a new app. */
const PER_PERSON_DAY = 1
const DEFAULT_ROLE: Role = 'editor'

const isLinkOpen: AccountRules['isLinkOpen'] = ({ expiresAt }, at) => expiresAt > at

/** A known owner must give their password. An owner without one joins by link. */
const planAccount: AccountRules['planAccount'] = ({ onlyFirst, accounts, passwordHash, storedHash, setup }) => {
  if (onlyFirst && accounts > 0) return { refusal: 'already_set_up' }
  if (passwordHash !== null && storedHash !== null && passwordHash !== storedHash) return { refusal: 'email_taken' }
  const isSetup = setup === null || (setup.link?.purpose === 'setup' && isLinkOpen(setup.link, setup.at))
  if (!isSetup) return { refusal: 'not_found' }
  return {
    setsPassword: passwordHash !== null && storedHash === null,
    joins: passwordHash !== null,
    bindsDomains: accounts === 1,
    snippetLimits: true,
  }
}

/** An account keeps an owner who has joined. */
const refuseRole: AccountRules['refuseRole'] = (members, { memberId, role }) =>
  role === 'owner' || members.some((one) => one.memberId !== memberId && isJoinedOwner(one))
    ? null
    : { refusal: 'last_owner' }

const isJoinedOwner = ({ role, isJoined }: AccountMember): boolean => role === 'owner' && isJoined

/** Someone who is invited again keeps their role unless another is given. */
const planInvite: AccountRules['planInvite'] = (members, { memberId, role: wanted }) => {
  const known = members.find((one) => one.memberId === memberId)
  if (known?.isJoined) return { refusal: 'email_taken' }
  const role = wanted ?? known?.role ?? DEFAULT_ROLE
  if (!known) return { role, change: 'add' }
  if (role === known.role) return { role, change: 'none' }
  return refuseRole(members, { memberId, role }) ?? { role, change: 'setRole' }
}

const refuseAcceptance: AccountRules['refuseAcceptance'] = ({ link, at, memberId, isProven }) =>
  link?.purpose === 'invite' &&
  link.accountId !== null &&
  link.memberId === memberId &&
  isProven &&
  isLinkOpen(link, at)
    ? null
    : { refusal: 'not_found' }

/** With several accounts, a password link would open the member's other accounts to the owner. */
const refuseReset: AccountRules['refuseReset'] = ({ isByOwner, isJoined, isOnlyAccount }) => {
  if (!isByOwner) return null
  if (!isJoined) return { refusal: 'not_found' }
  return isOnlyAccount() ? null : { refusal: 'reset_elsewhere' }
}

/**
 * A first password accepts the link's invitation, or all invitations if the operator made the link. An invitation can
 * only set a first password.
 */
const planPassword: AccountRules['planPassword'] = ({ link, at, member, invitedTo }) => {
  if (!link || !isLinkOpen(link, at)) return { refusal: 'not_found' }
  const isFirst = member.passwordHash === null
  if (link.purpose === 'invite' && !isFirst) return { refusal: 'not_found' }
  const { accountId, endsTwoStep } = link
  return { accepts: isFirst ? (accountId === null ? invitedTo() : [accountId]) : [], endsTwoStep }
}

const isSignInProven: AccountRules['isSignInProven'] = ({ isPasswordCurrent, isStepDone, hasTwoStep }) =>
  isPasswordCurrent && (isStepDone || !hasTwoStep)

const listEndedSessions: AccountRules['listEndedSessions'] = (others) =>
  others
    .toSorted((a, b) => b.lastSeenAt - a.lastSeenAt || (a.id < b.id ? 1 : -1))
    .slice(MOST_SESSIONS - 1)
    .map(({ id }) => id)

const refuseOneStep: AccountRules['refuseOneStep'] = (accounts) =>
  accounts.some(({ requiresTwoStep }) => requiresTwoStep) ? { refusal: 'two_step_required' } : null

/** No other account keeps a domain that the operator binds. */
const isExclusive: AccountRules['isExclusive'] = (proof) => proof === 'operator'

const expiriesAt: AccountRules['expiriesAt'] = (at) => ({
  usageSecond: Math.floor(at / 1000) - USAGE_S,
  callsAt: at - CALLS_MS,
  signInsAt: at - SIGN_INS_KEPT_MS,
  linksAt: at,
  formsAt: at - FORM_MS,
  sessionsAt: at - SESSION_MS,
  secretsAt: at - SECRET_MS,
  setUpsAt: at - TWO_STEP_SET_UP_MS,
})

/** `fallback`: the installation's sender. */
type Addresses = {
  mail: Pick<Mail, 'fromEmail'>
  settings: Pick<MailSettings, 'fromEmail'>
  fallback: Installation['from']
}

/** The message's sender address, else the app's, else the installation's. */
export const findAddress = ({ mail, settings, fallback }: Addresses): string | null =>
  mail.fromEmail ?? settings.fromEmail ?? fallback?.address ?? null

export const isCapturing: AccountRules['isCapturing'] = ({ message, settings }, { from, hasServer }) =>
  (settings.smtpUrl === null && !hasServer) ||
  findAddress({ mail: message.content.mail, settings, fallback: from }) === null

export const ACCOUNT_RULES: AccountRules = {
  ...RETENTION_RULES,
  perPersonDay: PER_PERSON_DAY,
  planAccount,
  planInvite,
  refuseRole,
  isLinkOpen,
  refuseAcceptance,
  refuseReset,
  planPassword,
  isSignInProven,
  listEndedSessions,
  refuseOneStep,
  findFull,
  isExclusive,
  expiriesAt,
  mostRequests: MOST_REQUESTS,
  isCapturing,
}
