/** The brake for lifecycle emails (deliveries/brake.ts). Times are ms UTC. */
import type { Sql } from './engine/sql.ts'
import { DAY_MS } from '../core/clock.ts'
import { type Change, createAudit, type Done, DONE } from './audit.ts'
import type { BrakeCause, BrakeLimits, BrakeRules, MailDay } from './brake-rules.ts'
import type { DeliveryRetries } from './delivery-retries.ts'
import { createWaitSave } from './limit-waits.ts'
import { prepareDays } from './mail-rates.ts'

type StoredBrake = BrakeCause & {
  since: number | null
  releasedAt: number | null
  baseSent: number
  baseBounced: number
  baseComplained: number
}

type Parts = { db: Sql; retries: DeliveryRetries; rules: BrakeRules }
export type Brakes = ReturnType<typeof createBrakes>

export function createBrakes({ db, retries, rules }: Parts) {
  const [audit, saveWait] = [createAudit(db), createWaitSave(db, 'brake_waits')]
  const days = prepareDays(db)
  const find = db.prepare<StoredBrake, [number]>(
    `SELECT kind, failures, emails, since, released_at AS "releasedAt", base_sent AS "baseSent", base_bounced AS "baseBounced",
       base_complained AS "baseComplained"
     FROM mail_brakes WHERE app_id = ?${db.dialect.lock('mail_brakes')}`,
  )
  const limits = db.prepare<BrakeLimits, [number]>(
    'SELECT complaint_limit AS "complaintLimit", bounce_limit AS "bounceLimit" FROM app_mail_settings WHERE app_id = ?',
  )
  const pull = db.prepare(
    `INSERT INTO mail_brakes (app_id, since, kind, failures, emails) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (app_id) DO UPDATE SET since = coalesce(mail_brakes.since, excluded.since), kind = excluded.kind, failures = excluded.failures,
       emails = excluded.emails, is_waking = 0`,
  )
  const letGo = db.prepare('UPDATE mail_brakes SET since = NULL, is_waking = 1 WHERE app_id = ?')
  const release = db.prepare(
    `UPDATE mail_brakes SET released_at = CAST(?2 AS bigint),
       (base_sent, base_bounced, base_complained) =
         (SELECT coalesce(sum(sent), 0), coalesce(sum(bounced), 0), coalesce(sum(complained), 0)
          FROM mail_days WHERE app_id = ?1 AND day = CAST(?2 AS bigint) / ${DAY_MS})
     WHERE app_id = ?1`,
  )
  const woken = db.prepare('UPDATE mail_brakes SET is_waking = 0 WHERE app_id = ?')
  const pulled = db.prepare<{ appId: number }, []>('SELECT app_id AS "appId" FROM mail_brakes WHERE since IS NOT NULL')
  const waking = db.prepare<{ appId: number }, []>(
    'SELECT app_id AS "appId" FROM mail_brakes WHERE is_waking = 1 LIMIT 1',
  )
  const appOf = db.prepare<{ accountId: string; publicId: string }, [number]>(
    'SELECT account_id AS "accountId", public_id AS "publicId" FROM apps WHERE id = ?',
  )

  const note = async (appId: number, action: string, { actor, at }: Pick<Change, 'actor' | 'at'>): Promise<void> => {
    const app = await appOf.get(appId)
    if (app) await audit({ accountId: app.accountId, actor, at }, action, app.publicId)
  }

  /** Since the last release, if that is later. */
  const countedDays = async (appId: number, at: number, brake: StoredBrake | null): Promise<MailDay[]> => {
    const releasedAt = brake?.releasedAt ?? null
    const baseDay = releasedAt === null ? 0 : Math.floor(releasedAt / DAY_MS)
    const from = Math.max(rules.firstBrakeDay(at), baseDay)
    return (await days.all(appId, from)).map((one) =>
      brake && one.day === baseDay
        ? {
            day: one.day,
            sent: one.sent - brake.baseSent,
            bounced: Math.max(0, one.bounced - brake.baseBounced),
            complained: Math.max(0, one.complained - brake.baseComplained),
          }
        : one,
    )
  }

  /** The time doesn't count towards giving up lifecycle emails. */
  const noteWait = async (appId: number, { since }: Pick<StoredBrake, 'since'>, at: number): Promise<void> => {
    if (since !== null && since < at) await saveWait({ appId, from: since, until: at })
  }

  const wake = async (appId: number, at: number): Promise<void> => {
    if (await retries.wake(appId, at)) await woken.run(appId)
  }

  /** Its emails are still to be woken if it ends. */
  const look = async (appId: number, at: number): Promise<{ isOver: boolean }> => {
    const brake = await find.get(appId)
    const days = await countedDays(appId, at, brake)
    const cause = rules.findBrakeCause(days, (await limits.get(appId)) ?? { complaintLimit: null, bounceLimit: null })
    const isOn = brake !== null && brake.since !== null
    if (isOn) await noteWait(appId, brake, at)
    if (cause) {
      await pull.run(appId, at, cause.kind, cause.failures, cause.emails)
      if (!isOn) await note(appId, 'brake.pull', { actor: 'eventpost', at })
    } else if (isOn) {
      await letGo.run(appId)
      await note(appId, 'brake.end', { actor: 'eventpost', at })
    }
    return { isOver: isOn && !cause }
  }

  /** After an email bounced or was reported. */
  const check = async (appId: number, at: number): Promise<void> => {
    if ((await look(appId, at)).isOver) await wake(appId, at)
  }

  return {
    check,
    writes: {
      /** Regularly. `isMore`: emails that waited, for a brake or anything else, are still to be made due. */
      async checkBrakes({ at }: { at: number }): Promise<{ isMore: boolean }> {
        for (const { appId } of await pulled.all()) await look(appId, at)
        // one per write
        const next = await waking.get()
        if (next) await wake(next.appId, at)
        else await retries.goOn()
        return { isMore: (await waking.get()) !== null || (await retries.hasLeft()) }
      },

      /** Emails go on, and only those sent from now on count. */
      async releaseBrake({ appId, actor, at }: { appId: number } & Pick<Change, 'actor' | 'at'>): Promise<Done> {
        const brake = await find.get(appId)
        if (brake === null || brake.since === null) return DONE
        await noteWait(appId, brake, at)
        await release.run(appId, at)
        await letGo.run(appId)
        await note(appId, 'brake.release', { actor, at })
        await wake(appId, at)
        return DONE
      },
    },
  }
}
