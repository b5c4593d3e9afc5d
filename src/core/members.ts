import type { Store } from '../store/store.ts'
import type { MemberEntry } from '../store/session-types.ts'
import type { NewLink, Refused, Role } from '../store/types.ts'
import { makeTextId } from './public-ids.ts'
import { hashToken, makeToken } from './tokens.ts'

export type { MemberEntry, Role }

type Maker = { store: Store; now: number; actor: string }

/** How long a printed link works. The set-up link is made anew at every start, so a day is plenty. */
const LINK_MS = 24 * 3_600_000

/** What a member may do: an owner everything, an editor what concerns people and messages, a viewer look. */
export const ROLES = ['owner', 'editor', 'viewer'] as const satisfies readonly Role[]

export const isRole = (text: string): text is Role => (ROLES as readonly string[]).includes(text)

/** Whether a role may do what `needed` may. */
export const hasRole = (role: Role, needed: Role): boolean => ROLES.indexOf(role) <= ROLES.indexOf(needed)

/** A link that works once: its token for the address, and the row that knows its hash. */
export function makeLink(purpose: NewLink['purpose'], now: number): { token: string; row: NewLink } {
  const token = makeToken()
  return { token, row: { tokenHash: hashToken(token), purpose, expiresAt: now + LINK_MS } }
}

/** Whether a one-time link can be used. */
export const hasLink = ({ store, now }: Omit<Maker, 'actor'>, purpose: NewLink['purpose'], token: string) =>
  store.hasLink(hashToken(token), purpose, now)

/** Sets a password by a link, which is used up; all sessions of the member end (promises 14). Refusals: not_found. */
export const setPasswordByLink = ({ store, now }: Omit<Maker, 'actor'>, token: string, passwordHash: string) =>
  store.setPasswordByLink({ tokenHash: hashToken(token), passwordHash, at: now })

/** Adds a member, who chooses a password through the link. Refusals: email_taken. */
export async function inviteMember(
  { store, now, actor }: Maker,
  accountId: string,
  { email, role }: { email: string; role: Role },
): Promise<{ memberId: string; passwordToken: string } | Refused> {
  const { token, row } = makeLink('password', now)
  const member = { id: makeTextId('mem', now), email, role }
  const outcome = await store.inviteMember({ accountId, actor, at: now, member, link: row })
  return 'refusal' in outcome ? outcome : { memberId: member.id, passwordToken: token }
}

/** A link that sets a new password; links made before stop working. Refusals: not_found. */
export async function resetPassword(
  { store, now, actor }: Maker,
  email: string,
): Promise<{ passwordToken: string } | Refused> {
  const { token, row } = makeLink('password', now)
  const outcome = await store.makePasswordLink({ email, actor, at: now, link: row })
  return 'refusal' in outcome ? outcome : { passwordToken: token }
}
