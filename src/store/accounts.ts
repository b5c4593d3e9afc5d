import type { Database } from 'bun:sqlite'
import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { type AppWrites, createAppReads, type NewApp } from './apps.ts'
import { type Change, createAudit, type Done, DONE } from './audit.ts'
import type { Sealer } from './engine/sealing.ts'
import { createKeyReads, createKeySteps } from './keys.ts'
import { createLinks } from './links.ts'
import { createMemberships } from './members.ts'
import { accounts, members } from './schema.ts'
import type { SenderDomainWrites } from './sender-domains.ts'
import type { Access, NewKey, NewLink, Plan, Refused, Site } from './types.ts'

type Account = { id: string; name: string; plan: Plan }
type AccountRow = typeof accounts.$inferSelect
type Parts = { db: Database; addApp: AppWrites['addApp']; senderDomains: SenderDomainWrites; sealer: Sealer }

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

const toPlan = (account: AccountRow): Plan => ({
  newPeoplePerMonth: account.newPeoplePerMonth,
  eventsPerHour: account.eventsPerHour,
  addsPerHour: account.addsPerHour,
  updatesPerHour: account.updatesPerHour,
  mcpCallsPerMinute: account.mcpCallsPerMinute,
  snippetLimits: account.snippetLimits,
})

/** Accounts, and what a key or a site ID of one stands for. */
export function createAccountReads(db: Database, sealer: Sealer) {
  const orm = drizzle(db)
  const { listApps, findAppBySiteId, snippetSettings } = createAppReads(db)
  const { findKey, listSecrets } = createKeyReads(db, sealer)
  const inOrder = () => orm.select().from(accounts).orderBy(asc(accounts.createdAt), asc(accounts.id)).limit(1)
  const first = inOrder().prepare()
  const byId = orm
    .select()
    .from(accounts)
    .where(eq(accounts.id, sql.placeholder('id')))
    .prepare()

  /** The account with this id, or without one the first that was made. */
  const findAccount = (id: string | null): Account | null => {
    const account = id === null ? first.get() : byId.get({ id })
    return account ? { id: account.id, name: account.name, plan: toPlan(account) } : null
  }

  return {
    findAccount,
    isSetUp: (): boolean => first.get() !== undefined,

    /** The first made first. */
    listAccounts: (): { id: string; name: string; createdAt: number }[] =>
      orm
        .select({ id: accounts.id, name: accounts.name, createdAt: accounts.createdAt })
        .from(accounts)
        .orderBy(asc(accounts.createdAt), asc(accounts.id))
        .all(),

    /** What a key that is not revoked may do; null for a wrong or a revoked one. */
    findAccess(keyHash: string): Access | null {
      const key = findKey(keyHash)
      const account = key && findAccount(key.accountId)
      return account ? { key, plan: account.plan, apps: listApps(account.id) } : null
    },

    /** The app of a site ID, with its account's plan and the secrets that were retired after `retiredAfter` (ms UTC). */
    findSite(siteId: string, retiredAfter: number): Site | null {
      const app = findAppBySiteId(siteId)
      const account = app && findAccount(app.accountId)
      if (!account) return null
      const secrets = listSecrets(account.id, retiredAfter)
      return { app, plan: account.plan, secrets, settings: snippetSettings(app.id) }
    },
  }
}

export function createAccountWrites({ db, addApp, senderDomains, sealer }: Parts) {
  const orm = drizzle(db)
  const { addKey, addSecret } = createKeySteps(db, sealer)
  const audit = createAudit(db)
  const { addLink, useLink, dropOwnersLinks, dropPasswordLinks } = createLinks(db)
  const { ensurePerson, add: addMembership } = createMemberships(db)

  /** A person who is known is made an owner by their own password or by the link, and keeps the password they have. */
  const isTaken = ({ email, passwordHash }: NewAccount['member']): boolean => {
    const known = orm.select().from(members).where(eq(members.email, email)).get()
    return passwordHash !== null && Boolean(known?.passwordHash) && passwordHash !== known?.passwordHash
  }

  /**
   * The first password of somebody who is invited elsewhere. Without one nobody is in any account, so it opens none but the
   * one being made: the invitations stay, to be accepted with it, and a link for a password that somebody holds is void.
   */
  const setFirstPassword = (memberId: string, passwordHash: string): void => {
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
    /** Everything an account starts with. With `setupToken` only the holder of the printed link may, and only once. */
    createAccount(account: NewAccount): Done | Refused {
      const { id, at, app, key, secret } = account
      const earlier = orm.select({ id: accounts.id }).from(accounts).limit(2).all().length
      const isFirst = earlier === 0
      if (account.onlyFirst && !isFirst) return { refusal: 'already_set_up' }
      if (isTaken(account.member)) return { refusal: 'email_taken' }
      if (account.setupToken !== null && !useLink(account.setupToken, 'setup', at)) return { refusal: 'not_found' }
      if (earlier === 1) senderDomains.bindExisting(at)
      orm.insert(accounts).values({ id, name: account.name, snippetLimits: true, createdAt: at }).run()
      addOwner(account)
      // owners make none where there are several accounts
      dropOwnersLinks()
      addApp({ accountId: id, actor: account.actor, at }, app)
      addKey(id, key, at)
      addSecret(id, secret, at)
      audit({ accountId: id, actor: account.actor, at }, 'account.create', id)
      return DONE
    },

    renameAccount({ name, ...change }: Change & { name: string }): Done {
      orm.update(accounts).set({ name }).where(eq(accounts.id, change.accountId)).run()
      audit(change, 'account.rename', change.accountId)
      return DONE
    },

    /** Whether all members need two-step sign-in to open the account. */
    requireTwoStep({ isRequired, ...change }: Change & { isRequired: boolean }): Done {
      const set = { requiresTwoStep: isRequired }
      orm.update(accounts).set(set).where(eq(accounts.id, change.accountId)).run()
      audit(change, isRequired ? 'account.require_two_step' : 'account.allow_one_step', change.accountId)
      return DONE
    },

    setPlan({ plan, ...change }: Change & { plan: Partial<Plan> }): Done {
      if (Object.keys(plan).length === 0) return DONE
      orm.update(accounts).set(plan).where(eq(accounts.id, change.accountId)).run()
      audit(change, 'plan.set', Object.keys(plan).join(','))
      return DONE
    },
  }
}
