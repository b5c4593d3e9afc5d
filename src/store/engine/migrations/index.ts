import type { Database } from 'bun:sqlite'
import first from './0001_people_and_events.sql' with { type: 'text' }
import sessions from './0002_sessions.sql' with { type: 'text' }
import snippet from './0003_snippet.sql' with { type: 'text' }
import messages from './0004_messages.sql' with { type: 'text' }
import dailyRollups from './0005_daily_rollups.sql' with { type: 'text' }
import batchNumbers from './0006_batch_numbers.sql' with { type: 'text' }
import mcpCalls from './0007_mcp_calls.sql' with { type: 'text' }
import memberships from './0008_memberships.sql' with { type: 'text' }
import twoStep from './0009_two_step.sql' with { type: 'text' }
import keptMails from './0010_kept_mails.sql' with { type: 'text' }
import timeline from './0011_timeline.sql' with { type: 'text' }
import batchesInOrder from './0012_batches_in_order.sql' with { type: 'text' }
import timelineRuns from './0013_timeline_runs.sql' with { type: 'text' }
import signInAudit from './0014_sign_in_audit.sql' with { type: 'text' }
import senders from './0015_senders.sql' with { type: 'text' }
import locale from './0016_locale.sql' with { type: 'text' }
import joinedEvents from './0017_joined_events.sql' with { type: 'text' }
import idempotencyBodies from './0018_idempotency_bodies.sql' with { type: 'text' }
import capturedContent from './0019_captured_content.sql' with { type: 'text' }
import deliveriesByMessage from './0020_deliveries_by_message.sql' with { type: 'text' }
import suppressedAddresses from './0021_suppressed_addresses.sql' with { type: 'text' }
import peopleSearch from './0022_people_search.sql' with { type: 'text' }
import requests from './0023_requests.sql' with { type: 'text' }
import pageKeys from './0024_page_keys.sql' with { type: 'text' }
import versionActors from './0025_version_actors.sql' with { type: 'text' }
import contactChanges from './0026_contact_changes.sql' with { type: 'text' }
import messageResults from './0027_message_results.sql' with { type: 'text' }
import peopleDays from './0029_people_days.sql' with { type: 'text' }
import comparedPeople from './0030_compared_people.sql' with { type: 'text' }
import daysOfArrival from './0031_days_of_arrival.sql' with { type: 'text' }
import domainChecks from './0032_domain_checks.sql' with { type: 'text' }
import peopleResults from './0033_people_results.sql' with { type: 'text' }
import uncomparedPeople from './0034_uncompared_people.sql' with { type: 'text' }
import peopleByResults from './0035_people_by_results.sql' with { type: 'text' }
import peopleCountedLater from './0036_people_counted_later.sql' with { type: 'text' }
import providerReports from './0037_provider_reports.sql' with { type: 'text' }
import sends from './0038_sends.sql' with { type: 'text' }
import mailLimits from './0039_mail_limits.sql' with { type: 'text' }
import consents from './0040_consents.sql' with { type: 'text' }
import layouts from './0041_layouts.sql' with { type: 'text' }
import texts from './0042_texts.sql' with { type: 'text' }
import topics from './0043_topics.sql' with { type: 'text' }
import schedules from './0044_schedules.sql' with { type: 'text' }
import suppressionCauses from './0045_suppression_causes.sql' with { type: 'text' }
import mailRates from './0046_mail_rates.sql' with { type: 'text' }
import suppressionSyncs from './0047_suppression_syncs.sql' with { type: 'text' }
import domainsOfApps from './0048_domain_checks.sql' with { type: 'text' }
import unsubscribedBefore from './0049_unsubscribed_before.sql' with { type: 'text' }
import unfinishedRetries from './0050_unfinished_retries.sql' with { type: 'text' }
import failedDeliveries from './0051_failed_deliveries.sql' with { type: 'text' }
import backups from './0052_backups.sql' with { type: 'text' }
import alerts from './0053_alerts.sql' with { type: 'text' }
import weeklySummaries from './0054_weekly_summaries.sql' with { type: 'text' }
import retention from './0055_retention.sql' with { type: 'text' }
import moreRetention from './0056_more_retention.sql' with { type: 'text' }
import appsOfRows from './0057_apps_of_rows.sql' with { type: 'text' }
import suppressionKey from './0058_suppression_key.sql' with { type: 'text' }
import keyEndings from './0059_key_endings.sql' with { type: 'text' }
import { pageKeyOf, readPage, trimSlash } from '../../../core/urls.ts'
import deliveryFilters from './0028_delivery_filters.sql' with { type: 'text' }
import { domainToASCII } from 'node:url'

/** Append only; released migrations are never edited. Entry n migrates schema version n to n + 1 in one transaction. */
export const MIGRATIONS: readonly string[] = [
  first,
  sessions,
  snippet,
  messages,
  dailyRollups,
  batchNumbers,
  mcpCalls,
  memberships,
  twoStep,
  keptMails,
  timeline,
  batchesInOrder,
  timelineRuns,
  signInAudit,
  senders,
  locale,
  joinedEvents,
  idempotencyBodies,
  capturedContent,
  deliveriesByMessage,
  suppressedAddresses,
  peopleSearch,
  requests,
  pageKeys,
  versionActors,
  contactChanges,
  messageResults,
  deliveryFilters,
  peopleDays,
  comparedPeople,
  daysOfArrival,
  domainChecks,
  peopleResults,
  uncomparedPeople,
  peopleByResults,
  peopleCountedLater,
  providerReports,
  sends,
  mailLimits,
  consents,
  layouts,
  texts,
  topics,
  schedules,
  suppressionCauses,
  mailRates,
  suppressionSyncs,
  domainsOfApps,
  unsubscribedBefore,
  unfinishedRetries,
  failedDeliveries,
  backups,
  alerts,
  weeklySummaries,
  retention,
  moreRetention,
  appsOfRows,
  suppressionKey,
  keyEndings,
]

/** Steps that SQL cannot do, by target schema version. Each runs at the end of the migration's transaction. */
export const CODE_STEPS: ReadonlyMap<number, (db: Database) => void> = new Map([
  [MIGRATIONS.indexOf(senders) + 1, foldSenders],
  [MIGRATIONS.indexOf(suppressedAddresses) + 1, nameSuppressed],
  [MIGRATIONS.indexOf(pageKeys) + 1, respellPageKeys],
  [MIGRATIONS.indexOf(uncomparedPeople) + 1, noteReached],
])

export const SCHEMA_VERSION = MIGRATIONS.length

/** Suppressed addresses were stored as hashes only; those of people are known. */
function nameSuppressed(db: Database): void {
  const key = db.query<{ value: string }, []>(`SELECT value FROM install WHERE name = 'suppression_key'`).get()?.value
  if (key === undefined) return
  const people = db.query<{ appId: number; email: string }, []>(
    `SELECT app_id AS appId, email FROM contacts WHERE status <> 'subscribed'`,
  )
  const name = db.query('UPDATE suppressions SET email = ? WHERE app_id = ? AND email_hash = ?')
  for (const { appId, email } of people.iterate()) {
    name.run(email, appId, new Bun.CryptoHasher('sha256', key).update(`${appId}:${email}`).digest('base64url'))
  }
}

const NON_ASCII = `GLOB '*[^' || char(1) || '-' || char(127) || ']*'`

/** Messages could name internationalized domains in Unicode; sender addresses are compared in punycode. */
function foldSenders(db: Database): void {
  const settings = db.query<{ appId: number; emails: string }, []>(
    `SELECT app_id AS appId, other_from_emails AS emails FROM app_mail_settings WHERE other_from_emails ${NON_ASCII}`,
  )
  const update = db.query('UPDATE app_mail_settings SET other_from_emails = ? WHERE app_id = ?')
  for (const { appId, emails } of settings.all()) {
    const folded = new Set((JSON.parse(emails) as string[]).map(foldEmail))
    update.run(JSON.stringify([...folded]), appId)
  }
  const domains = db.query<{ domain: string }, []>(
    `SELECT DISTINCT domain FROM sender_domains WHERE domain ${NON_ASCII}`,
  )
  const rename = db.query('UPDATE OR REPLACE sender_domains SET domain = ? WHERE domain = ?')
  for (const { domain } of domains.all()) rename.run(domainToASCII(domain), domain)
}

const foldEmail = (email: string): string => {
  const at = email.lastIndexOf('@') + 1
  return email.slice(0, at) + domainToASCII(email.slice(at))
}

const keyOf = (page: string): string => Bun.SHA256.hash(JSON.stringify(page), 'base64url').slice(0, 22)

/** As `once` by `url` read a page until then: only its query and fragment were cut off. */
function earlierPageOf(url: string): string {
  const [page = '', fragment = ''] = url.trim().split('#', 2)
  const route = /^!?\//.test(fragment) ? `#${fragment.split('?', 1)[0]}` : ''
  return `${page.split('?', 1)[0]}${route}`
}

/** Without this, an event that comes again under the same `url` would send a second email. */
function respellPageKeys(db: Database): void {
  const deliveries = db.query<{ id: number; key: string; url: string }, []>(
    `SELECT deliveries.id, once_key AS key, properties ->> '$.url' AS url
     FROM deliveries JOIN events ON events.id = deliveries.event_id
     WHERE length(once_key) = 22 AND json_type(properties, '$.url') = 'text'`,
  )
  // a key that is used already stays used
  const update = db.query('UPDATE OR IGNORE deliveries SET once_key = ? WHERE id = ?')
  for (const { id, key, url } of deliveries.all()) {
    const page = pageKeyOf(url)
    const earlier = earlierPageOf(url)
    if (page !== earlier && key === keyOf(earlier)) update.run(keyOf(page), id)
  }
}

const DAY_MS = 86_400_000
const CAME_BACK_MS = 7 * DAY_MS

type Compared = {
  id: number
  contactId: number
  decidedAt: number
  hosts: string
  urls: string
  goal: string | null
  days: number
}
type Happened = { contactId: number; isView: number; name: string; path: string; at: number }

/** What people did after an email that failed or was skipped was not noted until then, except that they came back. */
function noteReached(db: Database): void {
  const emails = db
    .query<Compared, []>(
      `SELECT person.delivery_id AS id, person.contact_id AS contactId, decided_at AS decidedAt,
         (SELECT json_group_array(host) FROM app_hosts WHERE app_hosts.app_id = deliveries.app_id) AS hosts,
         (SELECT json_group_array(properties ->> '$.url') FROM events WHERE id IN (
            SELECT deliveries.event_id UNION SELECT event_id FROM deliveries AS joined WHERE joined.joined_to = person.delivery_id)) AS urls,
         content ->> '$.goal.event' AS goal, ifnull(content ->> '$.goal.days', 0) AS days
       FROM compared_people AS person JOIN deliveries ON deliveries.id = person.delivery_id
       JOIN message_versions AS version
         ON version.message_id = deliveries.message_id AND version.version = deliveries.version
       WHERE state IN ('failed', 'skipped') AND is_held_back = 0`,
    )
    .all()
  if (emails.length === 0) return
  const byPerson = Map.groupBy(emails, ({ contactId }) => contactId)
  const events = db.query<Happened, [number, string]>(
    `SELECT contact_id AS contactId, type = 1 AS isView, event_names.name, ifnull(path, '') AS path,
       ifnull(occurred_at, received_at) AS at
     FROM events JOIN event_names ON event_names.id = name_id
     WHERE events.id >= ? AND contact_id IN (SELECT value FROM json_each(?)) ORDER BY at`,
  )
  const note = db.query(
    'UPDATE compared_people SET opened_at = ifnull(opened_at, ?), goal_at = ifnull(goal_at, ?) WHERE delivery_id = ?',
  )
  const firstId = Math.min(...emails.map(({ id }) => id))
  const paths = new Map(emails.map((email) => [email.id, resultPathsOf(email)]))
  for (const event of events.iterate(firstId, JSON.stringify([...byPerson.keys()]))) {
    for (const email of byPerson.get(event.contactId) ?? []) {
      const after = event.at - email.decidedAt
      const isOpened = event.isView === 1 && after <= CAME_BACK_MS && paths.get(email.id)?.has(trimSlash(event.path))
      const isReached = event.isView === 0 && email.goal === event.name && after <= email.days * DAY_MS
      if (after >= 0 && (isOpened || isReached))
        note.run(isOpened ? event.at : null, isReached ? event.at : null, email.id)
    }
  }
}

function resultPathsOf({ hosts, urls }: Compared): Set<string> {
  const own = JSON.parse(hosts) as string[]
  const isOwn = (host: string): boolean =>
    own.length === 0 || own.some((one) => host === one || host.endsWith(`.${one}`))
  const pages = (JSON.parse(urls) as (string | null)[]).map((url) => (url === null ? null : readPage(url)))
  return new Set(pages.flatMap((page) => (page !== null && page.path !== null && isOwn(page.host) ? [page.path] : [])))
}
