import { createAppWrites, type NewApp } from './app-writes.ts'
import type { Database } from 'bun:sqlite'
import { and, eq, inArray, isNotNull, isNull } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { type Change, createAudit, type Done, DONE } from './audit.ts'
import { createLinks } from './links.ts'
import { createMemberships } from './memberships.ts'
import type { MessageWrites } from './message-writes.ts'
import { createSentForms } from './sent-forms.ts'
import type { SenderDomainWrites } from './sender-domains.ts'
import { secretPlace } from './engine/sealed-columns.ts'
import type { Sealer } from './engine/sealing.ts'
import * as tables from './schema.ts'
import type { NewKey, NewLink, Plan, Refused } from './types.ts'

type Parts = { db: Database; messages: MessageWrites; senderDomains: SenderDomainWrites; sealer: Sealer }
type Rotation = Change & { secret: { id: string; secret: string }; replaces: string | null }

/** The quiet writes: accounts, apps, keys, secrets, plans and the set-up link. */
export function createAccountWrites({ db, messages, senderDomains, sealer }: Parts) {
  const orm = drizzle(db)
  const { addApp, writes: appWrites } = createAppWrites({ db, messages })

  const audit = createAudit(db)
  const { addLink, useLink, dropOwnersLinks, dropPasswordLinks } = createLinks(db)
  const { ensurePerson, add: addMembership } = createMemberships(db)

  const addKey = (accountId: string, key: NewKey, at: number): void => {
    orm
      .insert(tables.apiKeys)
      .values({ ...key, accountId, createdAt: at })
      .run()
  }

  const addSecret = (accountId: string, { id, secret }: { id: string; secret: string }, at: number): void => {
    orm
      .insert(tables.identitySecrets)
      .values({ id, secret: sealer.seal(secret, secretPlace(id)), accountId, createdAt: at })
      .run()
  }

  /** Signatures are counted from here on: those of the secret that is the previous one now. */
  const forgetOldSecretUse = (accountId: string): void => {
    const { activationNotes: notes, apps } = tables
    const own = orm.select({ id: apps.id }).from(apps).where(eq(apps.accountId, accountId))
    orm
      .delete(notes)
      .where(and(eq(notes.kind, 'old_secret'), inArray(notes.appId, own)))
      .run()
  }

  const sentForms = createSentForms(db)

  /** A person who is known is made an owner by their own password or by the link, and keeps the password they have. */
  const isTaken = ({ email, passwordHash }: NewAccount['member']): boolean => {
    const known = orm.select().from(tables.members).where(eq(tables.members.email, email)).get()
    return passwordHash !== null && Boolean(known?.passwordHash) && passwordHash !== known?.passwordHash
  }

  /**
   * The first password of somebody who is invited elsewhere. Without one nobody is in any account, so it opens none but the
   * one being made: the invitations stay, to be accepted with it, and a link for a password that somebody holds is void.
   */
  const setFirstPassword = (memberId: string, passwordHash: string): void => {
    const { members } = tables
    const isWithout = and(eq(members.id, memberId), isNull(members.passwordHash))
    if (orm.update(members).set({ passwordHash }).where(isWithout).returning().get()) dropPasswordLinks(memberId)
  }

  const addOwner = ({ id, at, member, inviteLink }: NewAccount): void => {
    const memberId = ensurePerson(member, at)
    if (member.passwordHash !== null) setFirstPassword(memberId, member.passwordHash)
    const isAccepted = member.passwordHash !== null
    addMembership({ id: member.membershipId, accountId: id, memberId, role: 'owner', isAccepted, at })
    if (inviteLink) addLink(inviteLink, { memberId, accountId: id }, at)
  }

  return {
    ...appWrites,

    /** Everything an account starts with. With `setupToken` only the holder of the printed link may, and only once. */
    createAccount(account: NewAccount): Done | Refused {
      const { id, at, app, key, secret } = account
      const earlier = orm.select({ id: tables.accounts.id }).from(tables.accounts).limit(2).all().length
      const isFirst = earlier === 0
      if (account.onlyFirst && !isFirst) return { refusal: 'already_set_up' }
      if (isTaken(account.member)) return { refusal: 'email_taken' }
      if (account.setupToken !== null && !useLink(account.setupToken, 'setup', at)) return { refusal: 'not_found' }
      if (earlier === 1) senderDomains.bindExisting(at)
      orm.insert(tables.accounts).values({ id, name: account.name, snippetLimits: true, createdAt: at }).run()
      addOwner(account)
      // owners make none where there are several accounts
      dropOwnersLinks()
      addApp({ accountId: id, actor: account.actor, at }, app)
      addKey(id, key, at)
      addSecret(id, secret, at)
      audit({ accountId: id, actor: account.actor, at }, 'account.create', id)
      return DONE
    },

    /** `form` is that of the page where it was asked for; sent twice, it makes one key. */
    createKey({ key, form, ...change }: Change & { key: NewKey; form: string | null }): Done | Refused {
      if (form !== null && !sentForms.take(form, change.at)) return { refusal: 'already_done' }
      addKey(change.accountId, key, change.at)
      audit(change, 'key.create', key.id)
      return DONE
    },

    /** A key that is already revoked stays as it is; one of another account does not exist. */
    revokeKey({ keyId, ...change }: Change & { keyId: string }): Done | Refused {
      const keys = tables.apiKeys
      const own = and(eq(keys.id, keyId), eq(keys.accountId, change.accountId))
      if (!orm.select({ id: keys.id }).from(keys).where(own).get()) return { refusal: 'not_found' }
      orm
        .update(keys)
        .set({ revokedAt: change.at })
        .where(and(own, isNull(keys.revokedAt)))
        .run()
      audit(change, 'key.revoke', keyId)
      return DONE
    },

    /** Notes the use of keys, gathered over some time. */
    noteKeyUse(uses: { keyId: string; lastUsedAt: number; seenInBrowserAt: number | null }[]): Done {
      for (const { keyId, lastUsedAt, seenInBrowserAt } of uses) {
        orm
          .update(tables.apiKeys)
          .set({ lastUsedAt, ...(seenInBrowserAt === null ? {} : { seenInBrowserAt }) })
          .where(eq(tables.apiKeys.id, keyId))
          .run()
      }
      return DONE
    },

    /**
     * The current secret becomes the previous one. `replaces` is the id of the one that is to be replaced,
     * so that asking twice rotates once; null replaces whichever is current.
     */
    rotateSecret({ secret, replaces, ...change }: Rotation): Done | Refused {
      const secrets = tables.identitySecrets
      const own = and(eq(secrets.accountId, change.accountId), isNull(secrets.retiredAt))
      const wanted = replaces === null ? own : and(own, eq(secrets.id, replaces))
      if (orm.update(secrets).set({ retiredAt: change.at }).where(wanted).returning().all().length === 0) {
        return { refusal: 'already_done' }
      }
      addSecret(change.accountId, secret, change.at)
      forgetOldSecretUse(change.accountId)
      audit(change, 'secret.rotate', secret.id)
      return DONE
    },

    /** Secrets that were rotated out stop working now, and are gone. */
    revokeOldSecrets(change: Change): Done {
      const secrets = tables.identitySecrets
      const old = orm
        .delete(secrets)
        .where(and(eq(secrets.accountId, change.accountId), isNotNull(secrets.retiredAt)))
        .returning({ id: secrets.id })
        .all()
      for (const { id } of old) audit(change, 'secret.revoke', id)
      return DONE
    },

    renameAccount({ name, ...change }: Change & { name: string }): Done {
      orm.update(tables.accounts).set({ name }).where(eq(tables.accounts.id, change.accountId)).run()
      audit(change, 'account.rename', change.accountId)
      return DONE
    },

    /** Whether all members need two-step sign-in to open the account. */
    requireTwoStep({ isRequired, ...change }: Change & { isRequired: boolean }): Done {
      const set = { requiresTwoStep: isRequired }
      orm.update(tables.accounts).set(set).where(eq(tables.accounts.id, change.accountId)).run()
      audit(change, isRequired ? 'account.require_two_step' : 'account.allow_one_step', change.accountId)
      return DONE
    },

    setPlan({ plan, ...change }: Change & { plan: Partial<Plan> }): Done {
      if (Object.keys(plan).length === 0) return DONE
      orm.update(tables.accounts).set(plan).where(eq(tables.accounts.id, change.accountId)).run()
      audit(change, 'plan.set', Object.keys(plan).join(','))
      return DONE
    },

    /** Replaces the set-up link: only the one printed last works. */
    makeSetupLink({ link, at }: { link: NewLink; at: number }): Done {
      orm.delete(tables.oneTimeLinks).where(eq(tables.oneTimeLinks.purpose, 'setup')).run()
      addLink(link, { memberId: null, accountId: null }, at)
      return DONE
    },
  }
}

export type NewAccount = {
  id: string
  name: string
  at: number
  actor: string
  /** refuse when an account exists already */
  onlyFirst: boolean
  /** the set-up link that is used up with it */
  setupToken: string | null
  /** the owner; whoever is known by the email stays who they are, keeps a password, and without a hash waits for the link */
  member: { id: string; membershipId: string; email: string; passwordHash: string | null }
  inviteLink: NewLink | null
  app: NewApp
  key: NewKey
  secret: { id: string; secret: string }
}
