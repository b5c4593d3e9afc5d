import type { Sql } from './engine/sql.ts'
import { asc, eq, sql } from 'drizzle-orm'
import type { AccountFacts, AccountPlan, AccountRules } from './account-rules.ts'
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
type Parts = {
  db: Sql
  addApp: AppWrites['addApp']
  senderDomains: SenderDomainWrites
  sealer: Sealer
  rules: Pick<AccountRules, 'planAccount'>
}

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

export function createAccountReads(db: Sql, sealer: Sealer) {
  const { orm } = db
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

  const findAccount = async (id: string | null): Promise<Account | null> => {
    const account = id === null ? await first.get() : await byId.get({ id })
    return account ? { id: account.id, name: account.name, plan: toPlan(account) } : null
  }

  return {
    findAccount,
    isSetUp: async (): Promise<boolean> => (await first.get()) !== undefined,

    listAccounts: async (): Promise<{ id: string; name: string; createdAt: number }[]> =>
      await orm
        .select({ id: accounts.id, name: accounts.name, createdAt: accounts.createdAt })
        .from(accounts)
        .orderBy(asc(accounts.createdAt), asc(accounts.id))
        .all(),

    async findAccess(keyHash: string): Promise<Access | null> {
      const key = await findKey(keyHash)
      const account = key && (await findAccount(key.accountId))
      return account ? { key, plan: account.plan, apps: await listApps(account.id) } : null
    },

    async findSite(siteId: string, retiredAfter: number): Promise<Site | null> {
      const app = await findAppBySiteId(siteId)
      const account = app && (await findAccount(app.accountId))
      if (!account) return null
      const secrets = await listSecrets(account.id, retiredAfter)
      return { app, plan: account.plan, secrets, settings: await snippetSettings(app.id) }
    },
  }
}

export function createAccountWrites({ db, addApp, senderDomains, sealer, rules }: Parts) {
  const { orm } = db
  const { addKey, addSecret } = createKeySteps(db, sealer)
  const audit = createAudit(db)
  const { addLink, findLink, dropLink, dropOwnersLinks, dropPasswordLinks } = createLinks(db)
  const { ensurePerson, add: addMembership } = createMemberships(db)

  const addOwner = async (
    { id, at, member, inviteLink }: NewAccount,
    { setsPassword, joins }: AccountPlan,
  ): Promise<void> => {
    const { passwordHash } = member
    const memberId = await ensurePerson(member, at)
    if (setsPassword) {
      // a person without a password has joined no other account
      await orm.update(members).set({ passwordHash }).where(eq(members.id, memberId)).run()
      await dropPasswordLinks(memberId)
    }
    await addMembership({ id: member.membershipId, accountId: id, memberId, role: 'owner', isAccepted: joins, at })
    if (inviteLink) await addLink(inviteLink, { memberId, accountId: id }, at)
  }

  const findFacts = async ({ onlyFirst, setupToken, member, at }: NewAccount): Promise<AccountFacts> => ({
    onlyFirst,
    accounts: (await orm.select({ id: accounts.id }).from(accounts).limit(2).all()).length,
    passwordHash: member.passwordHash,
    storedHash: (await orm.select().from(members).where(eq(members.email, member.email)).get())?.passwordHash ?? null,
    setup: setupToken === null ? null : { link: await findLink(setupToken), at },
  })

  return {
    /** Refusals: already_set_up, email_taken, not_found. */
    async createAccount(account: NewAccount): Promise<Done | Refused> {
      const { id, at, app, key, secret, setupToken } = account
      const planned = rules.planAccount(await findFacts(account))
      if ('refusal' in planned) return planned
      if (setupToken !== null) await dropLink(setupToken)
      if (planned.bindsDomains) await senderDomains.bindExisting(at)
      const { snippetLimits } = planned
      await orm.insert(accounts).values({ id, name: account.name, snippetLimits, createdAt: at }).run()
      await addOwner(account, planned)
      // owners may not create password links once there are several accounts
      await dropOwnersLinks()
      const change = { accountId: id, actor: account.actor, at }
      await audit(change, 'account.create', id)
      await addApp(change, app)
      await addKey(id, key, at)
      await addSecret(id, secret, at)
      await audit(change, 'key.create', key.id)
      return DONE
    },

    async renameAccount({ name, ...change }: Change & { name: string }): Promise<Done> {
      await orm.update(accounts).set({ name }).where(eq(accounts.id, change.accountId)).run()
      await audit(change, 'account.rename', change.accountId)
      return DONE
    },

    async requireTwoStep({ isRequired, ...change }: Change & { isRequired: boolean }): Promise<Done> {
      const set = { requiresTwoStep: isRequired }
      await orm.update(accounts).set(set).where(eq(accounts.id, change.accountId)).run()
      await audit(change, isRequired ? 'account.require_two_step' : 'account.allow_one_step', change.accountId)
      return DONE
    },

    async setPlan({ plan, ...change }: Change & { plan: Partial<Plan> }): Promise<Done> {
      if (Object.keys(plan).length === 0) return DONE
      await orm.update(accounts).set(plan).where(eq(accounts.id, change.accountId)).run()
      await audit(change, 'plan.set', Object.keys(plan).join(','))
      return DONE
    },
  }
}
