/** How many emails of an app bounced or were reported as spam. Times are ms UTC. */
import type { Dialect, Sql } from './engine/sql.ts'
import type { Brake, MailDay } from './brake-rules.ts'

/** Of a delivery's app, as JSON. */
export const brakeOf = ({ jsonObject }: Dialect): string => `
  (SELECT ${jsonObject({ kind: 'kind', failures: 'failures', emails: 'emails', since: 'since' })} FROM mail_brakes
   WHERE mail_brakes.app_id = deliveries.app_id AND since IS NOT NULL)`

export const prepareDays = (db: Sql) =>
  db.prepare<MailDay, [number, number]>(
    'SELECT day, sent, bounced, complained FROM mail_days WHERE app_id = ? AND day >= ? ORDER BY day',
  )

export function createMailRateReads(db: Sql) {
  const days = prepareDays(db)
  const brake = db.prepare<Brake, [number]>(
    'SELECT kind, failures, emails, since FROM mail_brakes WHERE app_id = ? AND since IS NOT NULL',
  )
  const released = db.prepare<{ at: number | null }, [number]>(
    'SELECT released_at AS at FROM mail_brakes WHERE app_id = ?',
  )
  return {
    /** Without days on which nothing was sent or reported. */
    listMailDays: async (appId: number, from: number): Promise<MailDay[]> => await days.all(appId, from),

    findBrake: async (appId: number): Promise<Brake | null> => await brake.get(appId),

    /** When a member released the brake last. */
    findBrakeRelease: async (appId: number): Promise<number | null> => (await released.get(appId))?.at ?? null,
  }
}
