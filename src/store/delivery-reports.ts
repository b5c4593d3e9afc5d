import type { Sql } from './engine/sql.ts'
import { DAY_MS } from '../core/clock.ts'
import { publicId } from '../core/ids.ts'
import { type Done, DONE } from './audit.ts'
import { createChangeNote } from './contact-changes.ts'
import type { DeliveryEnds } from './delivery-ends.ts'
import { isKeyFree, USES_DEDUPE_KEY, WAS_SENT } from './delivery-states.ts'
import type { FollowUps } from './follow-ups.ts'
import type { Brakes } from './brakes.ts'
import type { Bounce, DeliveryRow, DeliveryState, SuppressionReason } from './message-types.ts'
import type { Cause, Failure } from './suppression-causes.ts'
import type { SuppressPerson } from './suppressions.ts'
import type { ContactStatus, Refused } from './types.ts'

/**
 * `bounced`: for good. `softBounced`: the address may work later. `blocked`: for what the email is. `delayed`: the provider
 * goes on trying.
 */
export const REPORT_KINDS = ['delivered', 'delayed', 'bounced', 'softBounced', 'blocked', 'complained'] as const
export type ReportKind = (typeof REPORT_KINDS)[number]

/** `at`: when it arrived (ms UTC). */
export type DeliveryReport = { kind: ReportKind; reason: string; at: number }

export type ReportedDelivery = Pick<DeliveryRow, 'state' | 'deliveredAt' | 'delayedAt' | 'bounce' | 'record'>

/**
 * Absent fields stay unchanged. `suppresses`: the person, for this reason. `suppressesIfOften`: the person, as bounced,
 * after so many soft bounces in this time.
 */
export type ReportPlan = {
  state?: 'sent' | 'bounced' | 'complained'
  reason?: string | null
  deliveredAt?: number
  delayedAt?: number
  bounce?: { kind: Bounce; at: number } | null
  suppresses?: SuppressionReason
  suppressesIfOften?: { most: number; withinMs: number }
}

/** Null: nothing changes. */
export type PlanReport = (delivery: ReportedDelivery, report: DeliveryReport) => ReportPlan | null

export type ReportRules = { planReport: PlanReport }

/** `provider`: null for the customer's own reports, which are not counted. */
type Reporting = {
  appId: number
  provider: string | null
  at: number
  reports: { deliveryId: number; kind: ReportKind; reason: string }[]
  /** of test emails, which have no delivery */
  tests?: number
}

/** By the customer, who names no delivery. */
type ReportingAddress = {
  appId: number
  email: string
  kind: SuppressionReason & ReportKind
  reason: string
  at: number
}

/** The last webhook of a kind; `test`: about a test email. */
export type LastReport = { provider: string; kind: ReportKind | TestKind; reports: number; lastAt: number }
export type TestKind = 'testSent' | 'testCame'

export const createReportedReads = (db: Sql) => {
  const select = db.prepare<LastReport, [number]>(
    'SELECT provider, kind, reports, last_at AS "lastAt" FROM provider_reports WHERE app_id = ?',
  )
  const countSoft = prepareSoftBounces(db)
  return {
    listLastReports: async (appId: number): Promise<LastReport[]> => await select.all(appId),

    /** Of a person, after a time (ms UTC). */
    countSoftBounces: async (contactId: number, after: number): Promise<number> =>
      (await countSoft.get(contactId, after))?.count ?? 0,
  }
}

const prepareSoftBounces = (db: Sql) =>
  db.prepare<{ count: number }, [number, number]>(
    "SELECT count(*) AS count FROM deliveries WHERE contact_id = ? AND bounce = 'soft' AND bounced_at > ?",
  )

type Person = { appId: number; email: string; at: number }
type Found = ReportedDelivery & { appId: number; messageId: number; contactId: number; email: string }
type Parts = {
  db: Sql
  ends: DeliveryEnds
  follow: FollowUps
  suppressPerson: SuppressPerson
  brakes: Brakes
  rules: ReportRules
}

/** Emails in these states have triggered other messages already. */
const HAS_FOLLOWED: readonly DeliveryState[] = ['unknown', 'bounced']

const isFailure = (kind: ReportKind): kind is Failure => kind !== 'delivered' && kind !== 'delayed'

const aboutOf = (deliveryId: number | null, kind: ReportKind, reason: string) => ({
  ...(deliveryId === null ? {} : { delivery: publicId('dlv', deliveryId) }),
  ...(reason === kind ? {} : { text: reason }),
})

export function createReportWrites({ db, ends, follow, suppressPerson, brakes, rules }: Parts) {
  const { dialect } = db
  const find = db.prepare<Found, [number, number]>(
    `SELECT state, delivered_at AS "deliveredAt", delayed_at AS "delayedAt", bounce, record,
       deliveries.app_id AS "appId", message_id AS "messageId", contact_id AS "contactId", contacts.email
     FROM deliveries JOIN contacts ON contacts.id = contact_id WHERE deliveries.id = ? AND deliveries.app_id = ?${dialect.lock('deliveries')}`,
  )
  // a newer delivery may have taken the deduplication key of a failed one
  const end = db.prepare<{ id: number }, [string, string | null, number, number]>(
    `UPDATE deliveries SET state = ?1, reason = ?2, sent_at = coalesce(sent_at, ?3), claimed_by = NULL,
       claimed_until = NULL, updated_at = ?3 WHERE id = ?4 AND ${isKeyFree('deliveries.once_key')} RETURNING id`,
  )
  // an earlier attempt arrived, and no other was made
  const confirm = db.prepare(
    `UPDATE deliveries SET resent = 0, record = ${dialect.jsonWithout('record', 'unconfirmedAt')}
     WHERE id = ? AND state IN ('waiting', 'deferred', 'claimed')`,
  )
  const note = db.prepare(
    `UPDATE deliveries SET delivered_at = coalesce(?1, delivered_at), delayed_at = coalesce(?2, delayed_at),
       (bounce, bounced_at) = (SELECT CASE WHEN ?3 = 1 THEN ?4 ELSE bounce END, CASE WHEN ?3 = 1 THEN ?5 ELSE bounced_at END), updated_at = ?6 WHERE id = ?7`,
  )
  const findNewest = db.prepare<{ id: number; status: ContactStatus }, [number, string]>(
    `SELECT deliveries.id, status FROM deliveries JOIN contacts ON contacts.id = contact_id
     WHERE deliveries.app_id = ?1 AND ${USES_DEDUPE_KEY} AND ${WAS_SENT}
       AND contact_id = (SELECT id FROM contacts WHERE app_id = ?1 AND email = ?2)
     ORDER BY handed_at DESC, deliveries.id DESC LIMIT 1`,
  )
  // also one whose outcome is not known yet, or that failed after it may have left
  const anySent = db.prepare<object, [number, string]>(
    `SELECT 1 FROM deliveries WHERE app_id = ?1 AND ${USES_DEDUPE_KEY} AND handed_at IS NOT NULL AND state <> 'kept'
       AND contact_id = (SELECT id FROM contacts WHERE app_id = ?1 AND email = ?2) LIMIT 1`,
  )
  const countFailure = db.prepare(dialect.addCounts('mail_days'))
  const softBounces = prepareSoftBounces(db)
  const noteChange = createChangeNote(db)
  const noted = db.prepare<object, [number, string, Failure]>(
    `SELECT 1 FROM contact_changes
     WHERE contact_id = ? AND ${dialect.jsonMember('change', 'cause.delivery')} = ?
       AND ${dialect.jsonMember('change', 'cause.kind')} = ? LIMIT 1`,
  )
  const count = db.prepare(
    `INSERT INTO provider_reports (app_id, provider, kind, reports, last_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (app_id, provider, kind) DO UPDATE SET reports = provider_reports.reports + excluded.reports,
       last_at = excluded.last_at`,
  )

  /** False if the email's state stays. */
  const endBy = async (
    id: number,
    found: Found,
    { state, reason = null }: ReportPlan,
    at: number,
  ): Promise<boolean> => {
    if (state === undefined) return false
    await confirm.run(id)
    const isEnded = (await end.get(state, reason, at, id)) !== null
    if (isEnded) await ends.releaseTimedKey(id)
    if (state === 'sent' && !HAS_FOLLOWED.includes(found.state)) await follow(id, found, at)
    return isEnded
  }

  const noteReport = async (id: number, plan: ReportPlan, at: number): Promise<void> => {
    const { deliveredAt = null, delayedAt = null, bounce } = plan
    const bounced = [Number(bounce !== undefined), bounce?.kind ?? null, bounce?.at ?? null]
    await note.run(deliveredAt, delayedAt, ...bounced, at, id)
  }

  const suppressOften = async (
    found: Found,
    often: NonNullable<ReportPlan['suppressesIfOften']>,
    of: Person,
  ): Promise<void> => {
    const { most, withinMs } = often
    if (((await softBounces.get(found.contactId, of.at - withinMs))?.count ?? 0) < most) return
    await suppressPerson({
      ...of,
      reason: 'bounced',
      cause: { by: 'softBounces', count: most, days: withinMs / DAY_MS },
    })
  }

  /** Each failure is in the person's changes, once: as the cause of a new status, or alone. */
  const noteFailure = async (found: Found, plan: ReportPlan, cause: Cause, of: Person): Promise<void> => {
    const { suppresses, suppressesIfOften } = plan
    const isNoted = suppresses !== undefined && (await suppressPerson({ ...of, reason: suppresses, cause })).isChanged
    if (!isNoted) await noteChange({ appId: of.appId, contactId: found.contactId, at: of.at, actor: null, cause })
    if (suppressesIfOften) await suppressOften(found, suppressesIfOften, of)
  }

  return {
    /** `known`: how many are about deliveries of this app. Repeated reports change nothing. */
    async reportDeliveries({
      appId,
      provider,
      at,
      reports,
      tests = 0,
    }: Reporting): Promise<{ known: number } | Refused> {
      let [known, failures] = [0, 0]
      const kinds = new Map<string, number>(tests > 0 ? [['testCame', tests]] : [])
      for (const { deliveryId, kind, reason } of reports) {
        const found = await find.get(deliveryId, appId)
        if (!found) continue
        known += 1
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
        const plan = rules.planReport(found, { kind, reason, at })
        if (plan === null) continue
        const isEnded = await endBy(deliveryId, found, plan, at)
        // the state of an email that can't end doesn't tell whether the report is a repeated one
        if (!isEnded && isFailure(kind) && (await noted.get(found.contactId, publicId('dlv', deliveryId), kind)))
          continue
        await noteReport(deliveryId, plan, at)
        if (!isFailure(kind)) continue
        failures += 1
        const cause: Cause = { by: 'report', kind, provider, ...aboutOf(deliveryId, kind, reason) }
        await noteFailure(found, plan, cause, { appId, email: found.email, at })
      }
      if (failures > 0) await brakes.check(appId, at)
      if (provider !== null) for (const [kind, more] of kinds) await count.run(appId, provider, kind, more, at)
      return { known }
    },

    /**
     * Suppresses the address. The report is about the newest email that was sent to it. If that one's outcome is unknown,
     * the report counts on its own day; `wasSent` false: it doesn't count. Repeated reports change nothing.
     */
    async reportAddress({ appId, email, kind, reason, at }: ReportingAddress): Promise<{ wasSent: boolean }> {
      const newest = await findNewest.get(appId, email)
      const cause: Cause = { by: 'report', kind, provider: null, ...aboutOf(newest?.id ?? null, kind, reason) }
      const { isNew, isChanged } = await suppressPerson({ appId, email, reason: kind, at, cause })
      const found = newest && (await find.get(newest.id, appId))
      if (newest && found) {
        // an earlier report may have been about an earlier email
        const plan = newest.status === kind ? null : rules.planReport(found, { kind, reason, at })
        if (plan === null) return { wasSent: true }
        await endBy(newest.id, found, plan, at)
        await noteReport(newest.id, plan, at)
      } else {
        if ((await anySent.get(appId, email)) === null) return { wasSent: false }
        if (!isNew && !isChanged) return { wasSent: true }
        const counted = [Number(kind === 'bounced'), Number(kind === 'complained')]
        await countFailure.run(appId, Math.floor(at / DAY_MS), 0, ...counted)
      }
      await brakes.check(appId, at)
      return { wasSent: true }
    },

    async noteTestSent({ appId, provider, at }: { appId: number; provider: string; at: number }): Promise<Done> {
      await count.run(appId, provider, 'testSent', 1, at)
      return DONE
    },
  }
}
