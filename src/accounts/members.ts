import { DAY_MS } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { MemberEntry, MemberLink, AppAccess } from '../store/members.ts'
import type { NewLink, Refused, Role } from '../store/types.ts'
import type { PasswordContext } from './passwords.ts'
import { makeTextId } from '../core/ids.ts'
import { hashToken, makeToken } from './tokens.ts'

export type { MemberEntry, MemberLink, AppAccess, Role }

type Maker = { store: Store; now: number; actor: string }

/** The set-up link is renewed at every start, so a day is enough. */
const LINK_MS = DAY_MS

/** Owners can do everything, editors change messages and recipients, viewers read. */
export const ROLES = ['owner', 'editor', 'viewer'] as const satisfies readonly Role[]

export const ROLE_NAMES: Record<Role, string> = { owner: 'Owner', editor: 'Editor', viewer: 'Viewer' }

/** With the article, as in "You are an owner". */
export const ROLE_PHRASES: Record<Role, string> = { owner: 'an owner', editor: 'an editor', viewer: 'a viewer' }

export const isRole = (text: string): text is Role => (ROLES as readonly string[]).includes(text)

export const hasRole = (role: Role, needed: Role): boolean => ROLES.indexOf(role) <= ROLES.indexOf(needed)

/** Of an invitation, only its account's names: a refusal must not reveal the person's other accounts. */
export async function findPasswordContext(
  store: Store,
  { id, email }: { id: string; email: string },
  invited: MemberLink['invited'] = null,
): Promise<PasswordContext> {
  if (!invited) {
    const memberships = await store.listAppAccess(id)
    return { email, names: memberships.flatMap(({ accountName, appName }) => [accountName, appName]) }
  }
  const apps = await store.listApps(invited.accountId)
  return { email, names: [invited.accountName, ...apps.map(({ name }) => name)] }
}

export function makeLink(purpose: NewLink['purpose'], now: number): { token: string; row: NewLink } {
  const token = makeToken()
  return { token, row: { tokenHash: hashToken(token), purpose, expiresAt: now + LINK_MS } }
}

export const hasSetupLink = ({ store, now }: Omit<Maker, 'actor'>, token: string) =>
  store.hasLink(hashToken(token), 'setup', now)

/** Uses up the link and ends all sessions of the member. Refusals: not_found. */
export const setPasswordByLink = ({ store, now }: Omit<Maker, 'actor'>, token: string, passwordHash: string) =>
  store.setPasswordByLink({ tokenHash: hashToken(token), passwordHash, at: now })

/**
 * Invites a person; the inviter never learns whether they exist on this server. Inviting again replaces the link and
 * keeps `role` unless given. Refusals: email_taken, last_owner.
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

/** Recipients for test emails. Invited people haven't agreed to any yet. */
export const listRecipients = async (store: Store, accountId: string): Promise<string[]> =>
  (await store.listMembers(accountId)).filter(({ isInvited }) => !isInvited).map(({ email }) => email)

/** Replaces the link of a member who hasn't accepted. Refusals: not_found. */
export async function inviteAgain(
  { store, now, actor }: Maker,
  accountId: string,
  memberId: string,
): Promise<{ inviteToken: string } | Refused> {
  const { token, row } = makeLink('invite', now)
  const outcome = await store.inviteAgain({ accountId, actor, at: now, membershipId: memberId, link: row })
  return 'refusal' in outcome ? outcome : { inviteToken: token }
}

export const findMemberLink = ({ store, now }: Omit<Maker, 'actor'>, token: string): Promise<MemberLink | null> =>
  store.findMemberLink(hashToken(token), now)

/** Notes in the account that an invited person who has a password chose another. */
export const noteRefusedPassword = ({ store, now }: Omit<Maker, 'actor'>, token: string) =>
  store.noteRefusedPassword({ tokenHash: hashToken(token), at: now })

/** For people who have a password; `passwordHash` is what theirs was compared with. Refusals: not_found. */
export const acceptInvitation = (
  { store, now }: Omit<Maker, 'actor'>,
  token: string,
  { memberId, passwordHash }: { memberId: string; passwordHash: string },
) => store.acceptInvitation({ tokenHash: hashToken(token), memberId, passwordHash, at: now })

/**
 * Creates a password link, which replaces earlier ones. `accountId`: the asking owner's, null for the operator.
 * `endsTwoStep`: also turns off two-step sign-in. Refusals: not_found, reset_elsewhere.
 */
export async function resetPassword(
  { store, now, actor }: Maker,
  reset: { email: string; accountId: string | null; endsTwoStep?: boolean },
): Promise<{ passwordToken: string } | Refused> {
  const { token, row } = makeLink('password', now)
  const outcome = await store.makePasswordLink({ ...reset, actor, at: now, link: row })
  return 'refusal' in outcome ? outcome : { passwordToken: token }
}

/** Who did something, by id. */
export function createMemberNames(members: readonly Pick<MemberEntry, 'personId' | 'email'>[]) {
  const emails = new Map(members.map(({ personId, email }) => [personId, email]))
  return (actor: string): string => emails.get(actor) ?? 'a former member'
}
