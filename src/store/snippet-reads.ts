import type { Database } from 'bun:sqlite'
import { desc, eq, inArray } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { createAccountReads } from './account-reads.ts'
import { idAt } from '../core/ids.ts'
import type { Sealer } from './engine/sealing.ts'
import * as tables from './schema.ts'
import { type BatchSize, type NoteRow, PAGE_NAME, REPORT_CODES, type ReportRow, type Site } from './snippet-types.ts'
import { type SnippetSettings } from './types.ts'
import { BATCH_TYPES, selectIds } from './timeline/timeline-reads.ts'

const HOUR_MS = 3_600_000
const DEFAULTS: SnippetSettings = { hosts: [], addsPeople: false }

/** Reads about the browser script: sites, presence, and what the Activation screen shows. */
export const createSnippetReads = (db: Database, sealer: Sealer) => ({
  ...createSiteReads(db, sealer),
  ...createReportReads(db),
  ...createActivationReads(db),
})

function createSiteReads(db: Database, sealer: Sealer) {
  const orm = drizzle(db)
  const accounts = createAccountReads(db, sealer)
  const { appHosts, apps, snippetSettings } = tables

  const settingsOf = (appId: number): SnippetSettings => {
    const row = orm.select().from(snippetSettings).where(eq(snippetSettings.appId, appId)).get()
    return row ? { hosts: row.hosts ?? [], addsPeople: row.addsPeople } : DEFAULTS
  }

  return {
    snippetSettings: settingsOf,

    /** The app of a site ID, with its account's plan and the secrets that were retired after `retiredAfter` (ms UTC). */
    findSite(siteId: string, retiredAfter: number): Site | null {
      const found = orm.select({ accountId: apps.accountId }).from(apps).where(eq(apps.siteId, siteId)).get()
      const account = found && accounts.findAccount(found.accountId)
      const app = account && accounts.listApps(account.id).find((one) => one.siteId === siteId)
      if (!app) return null
      const secrets = accounts.listSecrets(account.id, retiredAfter)
      return { app, plan: account.plan, secrets, settings: settingsOf(app.id) }
    },

    /** The apps to which one of these hosts belongs. */
    findAppsByHost: (hosts: string[]): number[] =>
      orm
        .selectDistinct({ appId: appHosts.appId })
        .from(appHosts)
        .where(inArray(appHosts.host, hosts))
        .all()
        .map((row) => row.appId),
  }
}

function createReportReads(db: Database) {
  const limited = db.prepare<{ id: number }, []>(
    'SELECT apps.id FROM apps JOIN accounts ON accounts.id = apps.account_id WHERE accounts.snippet_limits = 1',
  )
  // up to 60,000 rows an app, so without the price of building each twice
  const sizes = db.prepare<BatchSize, [number, number, string]>(
    `SELECT b.app_id AS appId, c.email, b.received_at AS receivedAt, b.items
     FROM snippet_batches b JOIN contacts c ON c.id = b.contact_id
     WHERE b.id >= ? AND b.received_at > ? AND b.items > 0 AND b.app_id IN (SELECT value FROM json_each(?))
     ORDER BY b.received_at`,
  )

  const reports = db.prepare<StoredReport, [number, number, number]>(
    `SELECT page_load AS pageLoad, batch_number AS batchNumber, received_at AS receivedAt,
       received_at - ifnull(age, 0) AS reportedAt, ifnull(path, '') AS path, is_here AS code
     FROM snippet_batches WHERE app_id = ?1 AND received_at > ?3 AND id IN
       (${selectIds('snippet_batches', { contact: '?2', types: `>= ${BATCH_TYPES}` })})`,
  )

  return {
    /** What a person's page loads reported, of batches received after `receivedAfter` (ms UTC). */
    listReports: (appId: number, contactId: number, receivedAfter: number): ReportRow[] =>
      reports.all(appId, contactId, receivedAfter).map(toReport),

    /** What limits have counted since `receivedAfter` (ms UTC), to fill the buckets at start; oldest first. */
    listBatchSizes(receivedAfter: number): BatchSize[] {
      const apps = limited.all().map(({ id }) => id)
      // where none is limited, many may have come
      return apps.length === 0 ? [] : sizes.all(idAt(receivedAfter), receivedAfter, JSON.stringify(apps))
    },
  }
}

export type StoredReport = Omit<ReportRow, 'isHere' | 'isReturn'> & { code: number | null }

export const toReport = <R extends StoredReport>({ code, ...row }: R) => ({
  ...row,
  isHere: code === null ? null : code !== REPORT_CODES.leave,
  isReturn: code === REPORT_CODES.here,
})

function createActivationReads(db: Database) {
  const orm = drizzle(db)
  const { activationNotes, events } = tables
  const newestWhere = (isWanted: string) =>
    db.prepare<{ at: number }, [number, string]>(
      `SELECT ifnull(events.received_at, rollups.hour * ${HOUR_MS}) AS at FROM event_names AS names
       JOIN rollups ON rollups.app_id = names.app_id AND rollups.name_id = names.id AND rollups.hour =
         (SELECT max(hour) FROM rollups WHERE app_id = names.app_id AND name_id = names.id)
       LEFT JOIN events ON events.id = rollups.last_event_id
       WHERE names.app_id = ?1 AND names.name ${isWanted} ?2 ORDER BY at DESC LIMIT 1`,
    )
  const [newestNamed, newestView] = [newestWhere('<>'), newestWhere('=')]

  return {
    listNotes: (appId: number): NoteRow[] =>
      orm.select().from(activationNotes).where(eq(activationNotes.appId, appId)).all(),

    /**
     * When the newest event of any kind came, the newest that is no page view, and the newest page view; the latter two to
     * the hour where its person was erased (ms UTC, null: none).
     */
    firstSigns(appId: number): { lastEventAt: number | null; lastNamedAt: number | null; lastViewAt: number | null } {
      const newest = orm.select().from(events).where(eq(events.appId, appId)).orderBy(desc(events.id)).limit(1).get()
      const [lastNamedAt, lastViewAt] = [newestNamed, newestView].map((one) => one.get(appId, PAGE_NAME)?.at ?? null)
      return {
        lastEventAt: newest?.receivedAt ?? null,
        lastNamedAt: lastNamedAt ?? null,
        lastViewAt: lastViewAt ?? null,
      }
    },
  }
}
