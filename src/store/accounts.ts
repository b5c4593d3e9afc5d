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
import { prepareLazily } from './engine/statements.ts'

type Account = { id: string; name: string; plan: Plan }
type AccountRow = typeof accounts.$inferSelect
type Parts = { db: Database; addApp: AppWrites['addApp']; senderDomains: SenderDomainWrites; sealer: Sealer }

export type NewAccount = {
  id: string
  name: string
  at: number
  actor: string
  onlyFirst: boolean
  setupToken: string | null
  /** the owner; an existing person keeps their id and password; a null hash means that they set a password by link */
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

export function createAccountReads(db: Database, sealer: Sealer) {
  const orm = drizzle(db)
  const { listApps, findAppBySiteId, snippetSettings } = createAppReads(db)
  const { findKey, listSecrets } = createKeyReads(db, sealer)
  const inOrder = () => orm.select().from(accounts).orderBy(asc(accounts.createdAt), asc(accounts.id)).limit(1)
  const first = prepareLazily(() => inOrder().prepare())
  const byId = prepareLazily(() =>
    orm
      .select()
      .from(accounts)
      .where(eq(accounts.id, sql.placeholder('id')))
      .prepare(),
  )

  const findAccount = (id: string | null): Account | null => {
    const account = id === null ? first.get() : byId.get({ id })
    return account ? { id: account.id, name: account.name, plan: toPlan(account) } : null
  }

  return {
    findAccount,
    isSetUp: (): boolean => first.get() !== undefined,

    listAccounts: (): { id: string; name: string; createdAt: number }[] =>
      orm
        .select({ id: accounts.id, name: accounts.name, createdAt: accounts.createdAt })
        .from(accounts)
        .orderBy(asc(accounts.createdAt), asc(accounts.id))
        .all(),

    findAccess(keyHash: string): Access | null {
      const key = findKey(keyHash)
      const account = key && findAccount(key.accountId)
      return account ? { key, plan: account.plan, apps: listApps(account.id) } : null
    },

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

  /** An existing password must match; without a hash, the person accepts by link. */
  const isTaken = ({ email, passwordHash }: NewAccount['member']): boolean => {
    const known = orm.select().from(members).where(eq(members.email, email)).get()
    return passwordHash !== null && Boolean(known?.passwordHash) && passwordHash !== known?.passwordHash
  }

  /**
   * Safe: a person without a password has joined no other account. Invitations stay; unused password links are
   * removed.
   */
  const setFirstPassword = (memberId: string, passwordHash: string): void => {
    const hasNoPassword = and(eq(members.id, memberId), isNull(members.passwordHash))
    if (orm.update(members).set({ passwordHash }).where(hasNoPassword).returning().get()) dropPasswordLinks(memberId)
  }

  const addOwner = ({ id, at, member, inviteLink }: NewAccount): void => {
    const memberId = ensurePerson(member, at)
    if (member.passwordHash !== null) setFirstPassword(memberId, member.passwordHash)
    const isAccepted = member.passwordHash !== null
    addMembership({ id: member.membershipId, accountId: id, memberId, role: 'owner', isAccepted, at })
    if (inviteLink) addLink(inviteLink, { memberId, accountId: id }, at)
  }

  return {
    /** With `setupToken`, works only while that link is unused and not expired. */
    createAccount(account: NewAccount): Done | Refused {
      const { id, at, app, key, secret } = account
      const existingCount = orm.select({ id: accounts.id }).from(accounts).limit(2).all().length
      const isFirst = existingCount === 0
      if (account.onlyFirst && !isFirst) return { refusal: 'already_set_up' }
      if (isTaken(account.member)) return { refusal: 'email_taken' }
      if (account.setupToken !== null && !useLink(account.setupToken, 'setup', at)) return { refusal: 'not_found' }
      if (existingCount === 1) senderDomains.bindExisting(at)
      orm.insert(accounts).values({ id, name: account.name, snippetLimits: true, createdAt: at }).run()
      addOwner(account)
      // owners may not create password links once there are several accounts
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
