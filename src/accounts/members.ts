import type { Store } from '../store/store.ts'
import type { MemberEntry, MemberLink, Place } from '../store/members.ts'
import type { NewLink, Refused, Role } from '../store/types.ts'
import type { PasswordContext } from './passwords.ts'
import { makeTextId } from '../core/ids.ts'
import { hashToken, makeToken } from '../core/tokens.ts'

export type { MemberEntry, MemberLink, Place, Role }

type Maker = { store: Store; now: number; actor: string }

/** How long a printed link works. The set-up link is made anew at every start, so a day is plenty. */
const LINK_MS = 24 * 3_600_000

/** What a member may do in an account: an owner everything, an editor what concerns messages and whom they go to, a viewer look. */
export const ROLES = ['owner', 'editor', 'viewer'] as const satisfies readonly Role[]

export const isRole = (text: string): text is Role => (ROLES as readonly string[]).includes(text)

/** Whether a role may do what `needed` may. */
export const hasRole = (role: Role, needed: Role): boolean => ROLES.indexOf(role) <= ROLES.indexOf(needed)

/**
 * What a member's password must not be made of. Of an invitation, only what its account tells: a fault must not show
 * which others the person is in.
 */
export async function findPasswordContext(
  store: Store,
  { id, email }: { id: string; email: string },
  invited: MemberLink['invited'] = null,
): Promise<PasswordContext> {
  if (!invited) {
    const places = await store.listPlaces(id)
    return { email, names: places.flatMap(({ accountName, appName }) => [accountName, appName]) }
  }
  const apps = await store.listApps(invited.accountId)
  return { email, names: [invited.accountName, ...apps.map(({ name }) => name)] }
}

/** A link that works once: its token for the address, and the row that knows its hash. */
export function makeLink(purpose: NewLink['purpose'], now: number): { token: string; row: NewLink } {
  const token = makeToken()
  return { token, row: { tokenHash: hashToken(token), purpose, expiresAt: now + LINK_MS } }
}

/** Whether the set-up link can be used. */
export const hasSetupLink = ({ store, now }: Omit<Maker, 'actor'>, token: string) =>
  store.hasLink(hashToken(token), 'setup', now)

/** Sets a password by a link, which is used up; all sessions of the member end. Refusals: not_found. */
export const setPasswordByLink = ({ store, now }: Omit<Maker, 'actor'>, token: string, passwordHash: string) =>
  store.setPasswordByLink({ tokenHash: hashToken(token), passwordHash, at: now })

/**
 * Invites a person to an account, known to the server or not: no page tells the account which, only the
 * attempt to choose a password for them, which is noted. They have no access until they accept by the link. Whoever is
 * still invited gets another link, the earlier one stops working, and `role`, by default editor, stays as it was where
 * none is given. Refusals: email_taken where they are in this account, last_owner.
 * @returns `memberId`: by which this account knows them, and no other
 */
export async function inviteMember(
  { store, now, actor }: Maker,
  accountId: string,
  { email, role = null }: { email: string; role?: Role | null },
): Promise<{ memberId: string; inviteToken: string } | Refused> {
  const { token, row } = makeLink('invite', now)
  const member = { id: makeTextId('mem', now), membershipId: makeTextId('mem', now), email, role }
  const outcome = await store.inviteMember({ accountId, actor, at: now, member, link: row })
  return 'refusal' in outcome ? outcome : { memberId: outcome.membershipId, inviteToken: token }
}

/** The emails to which a test mail may go: whoever is merely invited has agreed to nothing. */
export const listRecipients = async (store: Store, accountId: string): Promise<string[]> =>
  (await store.listMembers(accountId)).filter(({ isInvited }) => !isInvited).map(({ email }) => email)

/** Another link for a member (by `inviteMember`) who has not accepted; the earlier one stops working. Refusals: not_found. */
export async function inviteAgain(
  { store, now, actor }: Maker,
  accountId: string,
  memberId: string,
): Promise<{ inviteToken: string } | Refused> {
  const { token, row } = makeLink('invite', now)
  const outcome = await store.inviteAgain({ accountId, actor, at: now, membershipId: memberId, link: row })
  return 'refusal' in outcome ? outcome : { inviteToken: token }
}

/** What a one-time link of a member leads to; null where it does not work. */
export const findMemberLink = ({ store, now }: Omit<Maker, 'actor'>, token: string): Promise<MemberLink | null> =>
  store.findMemberLink(hashToken(token), now)

/** Notes in the account of an invitation that its holder chose a password for somebody who has one. */
export const noteRefusedPassword = ({ store, now }: Omit<Maker, 'actor'>, token: string) =>
  store.noteRefusedPassword({ tokenHash: hashToken(token), at: now })

/**
 * Accepts an invitation of somebody who has a password, which is used up; `passwordHash` is what theirs was compared with.
 * Refusals: not_found.
 */
export const acceptInvitation = (
  { store, now }: Omit<Maker, 'actor'>,
  token: string,
  { memberId, passwordHash }: { memberId: string; passwordHash: string },
) => store.acceptInvitation({ tokenHash: hashToken(token), memberId, passwordHash, at: now })

/**
 * A link that sets a new password, for all accounts of the person; links made before stop working. `accountId`: of the
 * owner who asks; null for who runs the server. `endsTwoStep`: using it turns the second step off, which stays on
 * otherwise. Refusals: not_found, reset_elsewhere.
 */
export async function resetPassword(
  { store, now, actor }: Maker,
  reset: { email: string; accountId: string | null; endsTwoStep?: boolean },
): Promise<{ passwordToken: string } | Refused> {
  const { token, row } = makeLink('password', now)
  const outcome = await store.makePasswordLink({ ...reset, actor, at: now, link: row })
  return 'refusal' in outcome ? outcome : { passwordToken: token }
}
