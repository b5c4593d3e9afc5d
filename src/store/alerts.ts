/** Alerts, with who was told about them. Times are ms UTC. */
import type { Sql } from './engine/sql.ts'
import { type Done, DONE } from './audit.ts'

/**
 * `route`: a member's id, or "webhook". `isOver`: about the end of the problem. `unknown`: a mail server took it without
 * an answer. `nextAt`: of the next try, if it is due.
 */
export type AlertNotice = {
  route: string
  isOver: boolean
  state: 'due' | 'sent' | 'unknown' | 'given_up' | 'left_out'
  tries: number
  nextAt: number
}

/** `accountId` null: of the installation. `path`: of the page about it. */
export type Alert = {
  id: string
  kind: string
  subject: string
  accountId: string | null
  title: string
  detail: string
  fix: string
  path: string
  openedAt: number
  resolvedAt: number | null
  notices: AlertNotice[]
}

export type OpenAlert = Pick<Alert, 'id' | 'title' | 'detail' | 'openedAt'>

type StoredAlert = Omit<Alert, 'notices'> & { notices: string }

/** Further ones that are over are deleted. */
const KEPT = 200

const COLUMNS = `id, kind, subject, account_id AS "accountId", title, detail, fix, path, opened_at AS "openedAt",
  resolved_at AS "resolvedAt", notices`

export function createAlertReads(db: Sql) {
  const recent = db.prepare<StoredAlert, [number]>(
    `SELECT ${COLUMNS} FROM alerts ORDER BY resolved_at IS NULL DESC, opened_at DESC, id DESC LIMIT ?`,
  )
  const open = db.prepare<OpenAlert, [string, string]>(
    `SELECT id, title, detail, opened_at AS "openedAt" FROM alerts
     WHERE kind = ? AND subject = ? AND resolved_at IS NULL`,
  )
  return {
    findOpenAlert: async (kind: string, subject: string): Promise<OpenAlert | null> => open.get(kind, subject),

    /** Those that are not over first, then the newest. */
    listAlerts: async (limit: number = KEPT): Promise<Alert[]> =>
      (await recent.all(limit)).map(({ notices, ...alert }) => ({
        ...alert,
        notices: JSON.parse(notices) as AlertNotice[],
      })),
  }
}

export function createAlertWrites(db: Sql) {
  const save = db.prepare(
    `INSERT INTO alerts (id, kind, subject, account_id, title, detail, fix, path, opened_at, resolved_at, notices)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET title = excluded.title, detail = excluded.detail, fix = excluded.fix,
       resolved_at = excluded.resolved_at, notices = excluded.notices`,
  )
  const forget = db.prepare(
    `DELETE FROM alerts WHERE resolved_at IS NOT NULL AND id NOT IN
       (SELECT id FROM alerts WHERE resolved_at IS NOT NULL ORDER BY opened_at DESC LIMIT ${KEPT})`,
  )
  return {
    /** `epoch`: from when the stored alerts were read (instances.ts). */
    async saveAlerts({ alerts }: { alerts: readonly Alert[]; epoch?: number }): Promise<Done> {
      for (const one of alerts.toSorted((a, b) => Number(a.resolvedAt === null) - Number(b.resolvedAt === null))) {
        const { id, kind, subject, accountId, title, detail, fix, path, openedAt, resolvedAt, notices } = one
        const text = JSON.stringify(notices)
        await save.run(id, kind, subject, accountId, title, detail, fix, path, openedAt, resolvedAt, text)
      }
      await forget.run()
      return DONE
    },
  }
}
