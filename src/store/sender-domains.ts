import type { Dialect, Sql } from './engine/sql.ts'
import { and, asc, eq, ne, sql } from 'drizzle-orm'
import type { AccountRules } from './account-rules.ts'
import { type Change, createAudit, type Done, DONE } from './audit.ts'
import type { DeliveryRetries } from './delivery-retries.ts'
import type { SenderProof } from './message-types.ts'
import { accounts, appMailSettings, apps, senderDomains } from './schema.ts'
import { prepareLazily } from './engine/statements.ts'

export type SenderDomain = { accountId: string; domain: string; proof: SenderProof; createdAt: number }

export type AppSenders = {
  accountId: string
  accountName: string
  appId: number
  publicId: string
  name: string
  emails: string[]
  hasOwnServer: boolean
}

export function createSenderDomainReads(db: Sql) {
  const { orm, dialect } = db
  const facts = prepareLazily(() =>
    orm
      .select({
        accounts: sql<number>`(SELECT count(*) FROM (SELECT 1 FROM accounts LIMIT 2) AS counted)`,
        domains: sql<string>`(SELECT ${sql.raw(dialect.jsonArrayOf('domain'))} FROM sender_domains WHERE account_id = ${accounts.id})`,
      })
      .from(accounts)
      .where(eq(accounts.id, sql.placeholder('accountId')))
      .prepare(),
  )

  return {
    /** A server's only account may send from any domain. */
    async senderFacts(accountId: string): Promise<{ isOnlyAccount: boolean; domains: string[] }> {
      const found = await facts.get({ accountId })
      return { isOnlyAccount: found?.accounts === 1, domains: JSON.parse(found?.domains ?? '[]') as string[] }
    },

    listSenderDomains: async (): Promise<SenderDomain[]> =>
      await orm.select().from(senderDomains).orderBy(asc(senderDomains.domain), asc(senderDomains.createdAt)).all(),

    listSenders: async (): Promise<AppSenders[]> =>
      (
        await orm
          .select({
            accountId: apps.accountId,
            accountName: accounts.name,
            appId: apps.id,
            publicId: apps.publicId,
            name: apps.name,
            fromEmail: appMailSettings.fromEmail,
            otherFromEmails: appMailSettings.otherFromEmails,
            smtpUrl: appMailSettings.smtpUrl,
          })
          .from(appMailSettings)
          .innerJoin(apps, eq(apps.id, appMailSettings.appId))
          .innerJoin(accounts, eq(accounts.id, apps.accountId))
          .orderBy(asc(accounts.createdAt), asc(accounts.id), asc(apps.id))
          .all()
      )
        .map(({ fromEmail, otherFromEmails, smtpUrl, ...app }) => ({
          ...app,
          emails: [...new Set([...(fromEmail === null ? [] : [fromEmail]), ...(otherFromEmails ?? [])])],
          hasOwnServer: smtpUrl !== null,
        }))
        .filter(({ emails }) => emails.length > 0),
  }
}

const addExisting = (
  { positionOf, textsOf }: Dialect,
  at: number,
) => sql`INSERT INTO sender_domains (account_id, domain, proof, created_at)
  SELECT DISTINCT account_id, substr(email, ${sql.raw(positionOf("'@'", 'email'))} + 1), 'existing', CAST(${at} AS bigint)
  FROM (
    SELECT app_id, from_email AS email FROM app_mail_settings WHERE from_email IS NOT NULL
    UNION
    SELECT app_id, others.value FROM app_mail_settings CROSS JOIN ${sql.raw(textsOf('other_from_emails', 'others'))}) AS used
  JOIN apps ON apps.id = app_id
  WHERE true
  ON CONFLICT DO NOTHING`

export type SenderDomainWrites = ReturnType<typeof createSenderDomainWrites>

type Parts = { db: Sql; retries: DeliveryRetries; rules: Pick<AccountRules, 'isExclusive'> }

export function createSenderDomainWrites({ db, retries, rules }: Parts) {
  const { orm, dialect } = db
  const audit = createAudit(db)

  return {
    /** Called when a second account is added: the first keeps the domains that it already uses. */
    async bindExisting(at: number): Promise<void> {
      await orm.run(addExisting(dialect, at))
    },

    writes: {
      async bindSenderDomain({ domain, proof, ...by }: Change & { domain: string; proof: SenderProof }): Promise<Done> {
        const row = { accountId: by.accountId, domain, proof, createdAt: by.at }
        if (rules.isExclusive(proof)) {
          const others = and(eq(senderDomains.domain, domain), ne(senderDomains.accountId, by.accountId))
          for (const { accountId } of await orm.delete(senderDomains).where(others).returning().all()) {
            await audit({ ...by, accountId }, 'sender_domain.unbind', domain)
          }
        }
        await orm
          .insert(senderDomains)
          .values(row)
          .onConflictDoUpdate({ target: [senderDomains.accountId, senderDomains.domain], set: row })
          .run()
        await retries.tryAllAgain(by.accountId, 'sender', by.at)
        await audit(by, `sender_domain.${proof}`, domain)
        return DONE
      },

      async unbindSenderDomain({ domain, ...by }: Change & { domain: string }): Promise<Done> {
        await orm
          .delete(senderDomains)
          .where(and(eq(senderDomains.domain, domain), eq(senderDomains.accountId, by.accountId)))
          .run()
        await audit(by, 'sender_domain.unbind', domain)
        return DONE
      },
    },
  }
}
