/** The brake for lifecycle emails (deliveries/brake.ts). Times are ms UTC. */
import type { Database } from 'bun:sqlite'
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

type Parts = { db: Database; retries: DeliveryRetries; rules: BrakeRules }
export type Brakes = ReturnType<typeof createBrakes>

export function createBrakes({ db, retries, rules }: Parts) {
  const [audit, saveWait] = [createAudit(db), createWaitSave(db, 'brake_waits')]
  const days = prepareDays(db)
  const find = db.prepare<StoredBrake, [number]>(
    `SELECT kind, failures, emails, since, released_at AS releasedAt, base_sent AS baseSent, base_bounced AS baseBounced,
       base_complained AS baseComplained
     FROM mail_brakes WHERE app_id = ?`,
  )
  const limits = db.prepare<BrakeLimits, [number]>(
    'SELECT complaint_limit AS complaintLimit, bounce_limit AS bounceLimit FROM app_mail_settings WHERE app_id = ?',
  )
  const pull = db.prepare(
    `INSERT INTO mail_brakes (app_id, since, kind, failures, emails) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET since = ifnull(since, excluded.since), kind = excluded.kind, failures = excluded.failures,
       emails = excluded.emails, is_waking = 0`,
  )
  const letGo = db.prepare('UPDATE mail_brakes SET since = NULL, is_waking = 1 WHERE app_id = ?')
  const release = db.prepare(
    `UPDATE mail_brakes SET released_at = ?2,
       (base_sent, base_bounced, base_complained) =
         (SELECT ifnull(sum(sent), 0), ifnull(sum(bounced), 0), ifnull(sum(complained), 0)
          FROM mail_days WHERE app_id = ?1 AND day = ?2 / ${DAY_MS})
     WHERE app_id = ?1`,
  )
  const woken = db.prepare('UPDATE mail_brakes SET is_waking = 0 WHERE app_id = ?')
  const pulled = db.prepare<{ appId: number }, []>('SELECT app_id AS appId FROM mail_brakes WHERE since IS NOT NULL')
  const waking = db.prepare<{ appId: number }, []>('SELECT app_id AS appId FROM mail_brakes WHERE is_waking LIMIT 1')
  const appOf = db.prepare<{ accountId: string; publicId: string }, [number]>(
    'SELECT account_id AS accountId, public_id AS publicId FROM apps WHERE id = ?',
  )

  const note = (appId: number, action: string, { actor, at }: Pick<Change, 'actor' | 'at'>): void => {
    const app = appOf.get(appId)
    if (app) audit({ accountId: app.accountId, actor, at }, action, app.publicId)
  }

  /** Since the last release, if that is later. */
  const countedDays = (appId: number, at: number, brake: StoredBrake | null): MailDay[] => {
    const releasedAt = brake?.releasedAt ?? null
    const baseDay = releasedAt === null ? 0 : Math.floor(releasedAt / DAY_MS)
    const from = Math.max(rules.firstBrakeDay(at), baseDay)
    return days.all(appId, from).map((one) =>
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
  const noteWait = (appId: number, { since }: Pick<StoredBrake, 'since'>, at: number): void => {
    if (since !== null && since < at) saveWait({ appId, from: since, until: at })
  }

  const wake = (appId: number, at: number): void => {
    if (retries.wake(appId, at)) woken.run(appId)
  }

  /** Its emails are still to be woken if it ends. */
  const look = (appId: number, at: number): { isOver: boolean } => {
    const brake = find.get(appId)
    const days = countedDays(appId, at, brake)
    const cause = rules.findBrakeCause(days, limits.get(appId) ?? { complaintLimit: null, bounceLimit: null })
    const isOn = brake !== null && brake.since !== null
    if (isOn) noteWait(appId, brake, at)
    if (cause) {
      pull.run(appId, at, cause.kind, cause.failures, cause.emails)
      if (!isOn) note(appId, 'brake.pull', { actor: 'eventpost', at })
    } else if (isOn) {
      letGo.run(appId)
      note(appId, 'brake.end', { actor: 'eventpost', at })
    }
    return { isOver: isOn && !cause }
  }

  /** After an email bounced or was reported. */
  const check = (appId: number, at: number): void => {
    if (look(appId, at).isOver) wake(appId, at)
  }

  return {
    check,
    writes: {
      /** Regularly. `isMore`: emails that waited, for a brake or anything else, are still to be made due. */
      checkBrakes({ at }: { at: number }): { isMore: boolean } {
        for (const { appId } of pulled.all()) look(appId, at)
        // one per write
        const next = waking.get()
        if (next) wake(next.appId, at)
        else retries.goOn()
        return { isMore: waking.get() !== null || retries.hasLeft() }
      },

      /** Emails go on, and only those sent from now on count. */
      releaseBrake({ appId, actor, at }: { appId: number } & Pick<Change, 'actor' | 'at'>): Done {
        const brake = find.get(appId)
        if (brake === null || brake.since === null) return DONE
        noteWait(appId, brake, at)
        release.run(appId, at)
        letGo.run(appId)
        note(appId, 'brake.release', { actor, at })
        wake(appId, at)
        return DONE
      },
    },
  }
}
