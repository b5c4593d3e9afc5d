/** How fast each app's emails may be sent, by all instances together and by the database's clock. */
import type { Sql } from '../engine/sql.ts'
import type { Pace, PaceRules } from '../pace-rules.ts'
import { DATABASE_NOW } from './instance.ts'
import { rowsAs } from './rows.ts'

type Found = { appId: number; perSecond: number | null; now: number; tokens: number | null; at: number | null }

export type OpenPace = { appId: number; pace: Pace; room: number }

export function createPaces(db: Sql, rules: PaceRules) {
  const { numbersOf } = db.dialect
  const addMissing = db.prepare<{ appId: number }, [string]>(
    `INSERT INTO mail_paces (app_id) SELECT value FROM ${numbersOf('?1', 'apps')}
     WHERE NOT EXISTS (SELECT 1 FROM mail_paces WHERE app_id = value) ORDER BY value
     ON CONFLICT (app_id) DO NOTHING RETURNING app_id AS "appId"`,
  )
  const lock = db.prepare<Found, [string]>(
    `WITH now AS MATERIALIZED (SELECT ${DATABASE_NOW} AS ms)
     SELECT paces.app_id AS "appId", settings.per_second AS "perSecond", now.ms AS now, paces.tokens, paces.refilled_at AS at
     FROM ${numbersOf('?1', 'apps')} CROSS JOIN now JOIN mail_paces AS paces ON paces.app_id = apps.value
     LEFT JOIN app_mail_settings AS settings ON settings.app_id = apps.value
     ORDER BY paces.app_id FOR UPDATE OF paces SKIP LOCKED`,
  )
  const save = db.prepare(
    `UPDATE mail_paces SET tokens = rows.tokens, refilled_at = rows.at
     FROM ${rowsAs({ app_id: 'bigint', tokens: 'double precision', at: 'bigint' })} WHERE mail_paces.app_id = rows.app_id`,
  )
  const lockFound = async (appIds: readonly number[]): Promise<Found[]> => lock.all(JSON.stringify(appIds))
  /** A row that isn't found is missing, or another instance has locked it. */
  const lockAll = async (appIds: readonly number[]): Promise<Found[]> => {
    const found = await lockFound(appIds)
    const others = appIds.filter((id) => found.every(({ appId }) => appId !== id))
    const added = others.length === 0 ? [] : await addMissing.all(JSON.stringify(others))
    return added.length === 0 ? found : [...found, ...(await lockFound(added.map(({ appId }) => appId)))]
  }

  return {
    /** Of the apps for which no other instance claims right now. */
    async lock(appIds: readonly number[]): Promise<OpenPace[]> {
      return (await lockAll(appIds)).map(({ appId, perSecond, now, tokens, at }) => {
        const stored = tokens === null || at === null ? rules.openPace(perSecond, now) : { tokens, at }
        const pace = rules.refillPace(stored, perSecond, now)
        return { appId, pace, room: rules.paceRoom(pace, perSecond) }
      })
    },
    async spend(paces: readonly OpenPace[], claimed: ReadonlyMap<number, number>): Promise<void> {
      const rows = paces
        .filter(({ appId }) => claimed.has(appId))
        .map(({ appId, pace: { tokens, at } }) => ({ app_id: appId, tokens: tokens - (claimed.get(appId) ?? 0), at }))
      if (rows.length > 0) await save.run(JSON.stringify(rows))
    },
  }
}
