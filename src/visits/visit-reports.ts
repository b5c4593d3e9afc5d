/** Reports of the browser script: their input, recording them, and the rows they leave. */
import { type Static, Type } from '@sinclair/typebox'
import { EMAIL, emailRule } from '../core/field-schemas.ts'
import { type Body, type Rules, createReader, faultOf, lacksEmail } from '../core/inputs.ts'
import {
  type VisitReportWrite,
  REPORT_CODES,
  type ReportedItem,
  type StoredVisitReport,
} from '../store/visit-reports.ts'
import { formatLimit } from '../core/count.ts'
import { describeInvalidEmail, readEmail } from '../core/email.ts'
import { MAX_EVENT_NAME_CHARACTERS } from '../core/field-limits.ts'
import { EVENT_NAME_PATTERN } from '../core/field-patterns.ts'
import {
  type FieldError,
  REFUSALS,
  type Refusal,
  type RefusalCode,
  isRefusal,
  refuse,
  refuseFields,
} from '../core/refusals.ts'
import { type Clock, expiryNow, DAY_MS } from '../core/clock.ts'
import type { AppRow, KeyAccess, Site } from '../accounts/access.ts'
import type { SnippetLimits } from './snippet-limits.ts'
import type { Store } from '../store/store.ts'
import type { NoteKind, Refused } from '../store/types.ts'
import { verifyIdentity } from '../accounts/identity.ts'
import { isOriginOf, readOrigin } from '../core/origins.ts'
import type { NewReport } from '../store/plan-types.ts'

const COLLECT_VERSION = 1
export const MAX_BATCH_ITEMS = 20
const MAX_PATH_CHARACTERS = 1024
const MAX_AGE_MS = DAY_MS
const MAX_BATCH_ID_CHARACTERS = 64

const BATCH_ID_PATTERN = `^[\\x20-\\x7e]{1,${MAX_BATCH_ID_CHARACTERS}}$`
/** No control characters, which are dangerous to display; a query or fragment is dropped. */
const PATH_PATTERN = `^/[^?#\\u0000-\\u001F\\u007F-\\u009F]{0,${MAX_PATH_CHARACTERS - 1}}(?:[?#]|$)`

const TYPE_SAY = { invalid: 'Send each item with the type `page`, `leave`, `here` or `track`.' }

const onPage = {
  path: Type.String({
    description: 'The path of the page. The query and the fragment are dropped.',
    pattern: PATH_PATTERN,
    say: {
      invalid: `Send a path that starts with \`/\`, of up to ${formatLimit(MAX_PATH_CHARACTERS)} characters, without control characters.`,
    },
  }),
  age: Type.Number({
    description: 'Milliseconds since it happened, up to 24 hours.',
    minimum: 0,
    maximum: MAX_AGE_MS,
    say: { invalid: 'Send the age in milliseconds, from 0 to 24 hours.' },
  }),
}

const PageItem = Type.Object({
  type: Type.Union([Type.Literal('page'), Type.Literal('leave'), Type.Literal('here')], {
    description: 'A page was opened (`page`), left (`leave`), or returned to while it was still open (`here`).',
    say: TYPE_SAY,
    isKind: true,
  }),
  ...onPage,
})

const ActionItem = Type.Object({
  type: Type.Literal('track', { description: 'An action.', say: TYPE_SAY }),
  ...onPage,
  name: Type.String({
    description: 'The name of the action.',
    pattern: EVENT_NAME_PATTERN,
    say: {
      invalid: `Send an action name of 1 to ${MAX_EVENT_NAME_CHARACTERS} letters, digits, \`_\`, \`.\`, \`:\` or \`-\`.`,
    },
  }),
})

const VisitItem = Type.Union([PageItem, ActionItem], {
  title: 'VisitItem',
  description: 'An item of the report.',
  say: TYPE_SAY,
})

const REPORT_EMAIL = {
  ...EMAIL,
  say: (value: unknown) =>
    describeInvalidEmail(value, 'Call identify with one complete email address, without a name, brackets or quotes.'),
}

export const VisitReport = Type.Object(
  {
    v: Type.Literal(COLLECT_VERSION, {
      description: 'The version of the report.',
      say: `Eventpost does not support this version of the script. Copy the script tag again, or send ${COLLECT_VERSION}.`,
    }),
    site: Type.String({
      description: 'The site ID from the script tag.',
      minLength: 1,
      say: 'Send the site ID from the Activation page, as `data-site` in the script tag.',
    }),
    email: REPORT_EMAIL,
    signature: Type.String({
      description:
        'HMAC-SHA256 of the trimmed, lowercased email with the identity secret as the key, in lowercase hexadecimal.',
      minLength: 1,
      say: "Call identify with the signature that your server computes from the user's email.",
    }),
    id: Type.String({
      description:
        'The ID of the report, unique per person for 48 hours. A retry has the same ID and counts once. Use `PAGE_LOAD.NUMBER`, such as `m3x8k2.1`, so that the reports from a page load are processed in order.',
      pattern: BATCH_ID_PATTERN,
      say: `Send 1 to ${MAX_BATCH_ID_CHARACTERS} printable ASCII characters. A retry has the same ID.`,
    }),
    events: Type.Array(VisitItem, {
      description: 'The items of the report.',
      minItems: 1,
      maxItems: MAX_BATCH_ITEMS,
      say: { invalid: `Send 1 to ${MAX_BATCH_ITEMS} items.`, missing: `Send 1 to ${MAX_BATCH_ITEMS} items.` },
    }),
  },
  { title: 'VisitReport', description: "One person's page views and actions." },
)

export type VisitReportFields = {
  site: string
  /** Identity form; `emailShown` is as sent, and what was signed. */
  email: string
  emailShown: string
  signature: string
  id: string
  items: ReportedItem[]
}

const RULES: Rules = {
  email: (value) => emailRule(value) && faultOf(REPORT_EMAIL, 'invalid', value),
}

const read = createReader({ schema: VisitReport, clean: cleanReport, rules: () => RULES })

/** `now`: ms UTC. Errors are in schema order. */
export function readVisitReport(body: Body, now: number): { input: VisitReportFields } | { errors: FieldError[] } {
  // an empty email counts as missing
  return read(lacksEmail(body) ? { ...body, email: undefined } : body, now)
}

type Sent = Static<typeof VisitReport>

function cleanReport({ site, email, signature, id, events }: Sent, now: number): VisitReportFields | null {
  const address = readEmail(email)
  if (!address) return null
  const items = events.map((item) => cleanItem(item, now))
  // the script holds paths back, so actions may arrive before them
  items.sort((a, b) => a.occurredAt - b.occurredAt)
  return { site, email: address.email, emailShown: address.shown, signature, id, items }
}

function cleanItem(item: Sent['events'][number], now: number): ReportedItem {
  const path = cutPath(item.path)
  const occurredAt = now - Math.round(item.age)
  return item.type === 'track'
    ? { type: 'action', name: item.name, path, occurredAt }
    : { type: item.type, name: null, path, occurredAt }
}

/** Drops query and fragment, even if a client sends them. */
function cutPath(path: string): string {
  const end = path.search(/[?#]/)
  return end < 0 ? path : path.slice(0, end)
}

type Notes = { add(appId: number, kind: NoteKind, detail?: { reason?: string | null; origin?: string | null }): void }

export type VisitDependencies = {
  access: KeyAccess
  snippetLimits: SnippetLimits
  notes: Notes
  store: Store
  clock: Clock
}

/** `onApp`: receives the app of the site. */
export type Caller = { address(): string; origin: string | null; onApp(app: AppRow): void }

/**
 * Checks address limit, fields, site, origin, signature and limits, then commits once. Nothing before the signature
 * depends on whether the person exists. @returns null when stored or ignored
 */
export async function recordVisitReport(deps: VisitDependencies, body: Body, caller: Caller): Promise<Refusal | null> {
  const { access, snippetLimits, clock } = deps
  const siteId = typeof body.site === 'string' ? body.site : ''
  const limited = access.isUnlimited(siteId) ? null : snippetLimits.takeRequest(caller.address())
  if (limited) {
    const cached = access.cachedSite(siteId)
    if (cached) caller.onApp(cached.app)
    return noteRefusal(deps, cached, limited, caller)
  }
  const found = access.findSite(siteId)
  // no promise for a known site: each costs a turn of the queue on every request
  const site = found instanceof Promise ? await found : found
  if (site) caller.onApp(site.app)
  const reading = readVisitReport(body, clock.now())
  if ('errors' in reading) {
    if (site && lacksEmail(body)) deps.notes.add(site.app.id, 'without_email', originOf(caller))
    return noteRefusal(deps, site, refuseFields(reading.errors), caller)
  }
  if (!site) return refuse('site_not_found')
  const refusal = await collectFor(deps, site, reading.input, caller)
  return refusal && noteRefusal(deps, site, refusal, caller)
}

async function collectFor(
  deps: VisitDependencies,
  site: Site,
  input: VisitReportFields,
  caller: Caller,
): Promise<Refusal | null> {
  if (!isOwnPage(caller.origin, site.settings.hosts)) return refuse('origin_not_allowed')
  const unproven = proveIdentity(deps, site, input, caller)
  if (unproven) return unproven
  if (!site.plan.snippetLimits) return settle(deps, site, await storeBatch(deps, site, { input, limits: [] }))
  const asked = { appId: site.app.id, email: input.email, items: input.items.length }
  const taken = deps.snippetLimits.take(asked)
  if ('refused' in taken) return taken.refused
  const outcome = await storeBatch(deps, site, { input, limits: taken.counted })
  if ('bucket' in outcome && outcome.bucket !== undefined) return deps.snippetLimits.refuseFull(asked, outcome.bucket)
  if (isUncounted(outcome)) taken.giveBack()
  return settle(deps, site, outcome)
}

/** Hygiene, not authentication: only browsers send Origin. */
const isOwnPage = (origin: string | null, hosts: string[]): boolean =>
  hosts.length === 0 || origin === null || isOriginOf(origin, hosts)

/** 429 for guessing addresses, 401 for a wrong signature. */
function proveIdentity(deps: VisitDependencies, site: Site, input: VisitReportFields, caller: Caller): Refusal | null {
  const { snippetLimits, notes, clock } = deps
  const { app, plan, secrets } = site
  const guesser = plan.snippetLimits ? { appId: app.id, address: caller.address() } : null
  const limited = guesser && snippetLimits.checkSignatures(guesser)
  if (limited) return limited
  const { emailShown: email, signature } = input
  const verified = verifyIdentity({ email, signature, secrets, now: expiryNow(clock) })
  if (verified.ok) {
    notes.add(app.id, 'identified')
    if (verified.isPrevious) notes.add(app.id, 'old_secret', originOf(caller))
    return null
  }
  if (guesser) snippetLimits.countBadSignature(guesser)
  notes.add(app.id, 'failed_signature', { reason: verified.reason, ...originOf(caller) })
  return UNPROVEN[verified.reason]
}

const HOW =
  'Compute it on your server: the HMAC-SHA256 of the trimmed, lowercased email, in lowercase hexadecimal, with the identity secret of your account as the key.'

const UNPROVEN = {
  malformed: refuse('invalid_signature', { hint: `\`signature\` is not 64 hexadecimal characters. ${HOW}` }),
  uppercase: refuse('invalid_signature', {
    message: 'Invalid signature: send it in lowercase hexadecimal.',
    hint: HOW,
  }),
  wrong: refuse('invalid_signature', {
    hint: `\`signature\` was made for a different email or with a different secret. ${HOW}`,
  }),
}

const storeBatch = (
  { store: { recordVisitReport }, clock }: { store: Store; clock: Clock },
  { app, plan, settings }: Site,
  { input, limits }: { input: VisitReportFields } & Pick<VisitReportWrite, 'limits'>,
) =>
  recordVisitReport({
    limits,
    accountId: app.accountId,
    appId: app.id,
    email: input.email,
    shownEmail: input.emailShown === input.email ? null : input.emailShown,
    newPeoplePerMonth: plan.newPeoplePerMonth,
    createContact: settings.addsPeople,
    at: clock.now(),
    reportId: input.id,
    items: input.items,
  })

const isUncounted = (outcome: StoredVisitReport | Refused): boolean =>
  'refusal' in outcome ? outcome.refusal === 'unavailable' : outcome.repeated

/** Browsers must not learn whether a person is known. */
function settle({ notes }: { notes: Notes }, site: Site, outcome: StoredVisitReport | Refused): Refusal | null {
  if (!isRefusal(outcome)) return null
  if (outcome.refusal !== 'contact_not_found') return outcome
  notes.add(site.app.id, 'unknown_person')
  return null
}

/** Counted by kind, so that one can't hide another. */
function kindOf(refusal: RefusalCode): NoteKind | null {
  if (refusal === 'invalid_signature') return null
  if (refusal === 'origin_not_allowed') return 'foreign_host'
  return refusal === 'rate_limited' ? 'limited' : 'refused'
}

/** Our own faults are not reported to integrators. */
function noteRefusal({ notes }: { notes: Notes }, site: Site | null, refusal: Refusal, caller: Caller): Refusal {
  const { status, message } = REFUSALS[refusal.refusal]
  const reason = refusal.message ?? message
  const kind = status < 500 ? kindOf(refusal.refusal) : null
  if (site && kind) notes.add(site.app.id, kind, { reason, ...originOf(caller) })
  return refusal
}

const originOf = ({ origin }: Caller) => ({ origin: readOrigin(origin) })

type Report = ReportedItem & { type: keyof typeof REPORT_CODES }
const isReport = (item: ReportedItem): item is Report => item.type !== 'action'

export type ReportChanges = { reports: NewReport[]; takeId: () => number }

/** `batch`: the hash of its id. */
type Whole = { contactId: number; batch: number }

/**
 * Adds a row for each return to an open page, and one for the whole report, of its latest item. Ids are in the order of
 * the items, because timelines are.
 */
export function planReport(
  { reports, takeId }: ReportChanges,
  whole: Whole,
  write: VisitReportWrite,
  apply: (item: ReportedItem) => void,
): void {
  const { appId, reportId, at, items } = write
  const { contactId } = whole
  const { pageLoad, reportNumber } = readPlace(reportId)
  const last = findLastReport(items)
  const add = (batch: number, report: Report | null, isWhole: boolean): void => {
    const age = report ? at - report.occurredAt : null
    const path = report ? report.path : null
    const code = report ? REPORT_CODES[report.type] : null
    const id = takeId()
    const count = isWhole ? items.length : 0
    reports.push({ id, appId, contactId, batch, at, items: count, pageLoad, reportNumber, age, path, code, isWhole })
  }
  for (const [index, item] of items.entries()) {
    if (item === last) add(whole.batch, last, true)
    else if (item.type === 'here') {
      if (!last || !isReport(item) || item.occurredAt >= last.occurredAt) continue
      // no batch id has a line feed
      add(hashReportId(`${reportId}\n${index}`), item, false)
    }
    apply(item)
  }
  if (last === null) add(whole.batch, null, true)
}

/** The latest by time; of equal times the last, because a page load reports in order. */
export function findLastReport(items: readonly ReportedItem[]): Report | null {
  let last: Report | null = null
  for (const item of items) {
    if (isReport(item) && (last === null || item.occurredAt >= last.occurredAt)) last = item
  }
  return last
}

/** 53 bits, the most a number holds exactly: a person's reports of 48 hours, at most 28,800, don't collide. */
export const hashReportId = (id: string): number =>
  (Bun.hash.xxHash32(id, 1) >>> 11) * 2 ** 32 + Bun.hash.xxHash32(id, 0)

/** The id of a report may be `page load.number`. */
function readPlace(id: string): { pageLoad: number | null; reportNumber: number | null } {
  const end = id.indexOf('.')
  if (end < 1) return { pageLoad: null, reportNumber: null }
  const place = id.slice(end + 1)
  return { pageLoad: Bun.hash.xxHash32(id.slice(0, end)), reportNumber: /^\d{1,9}$/.test(place) ? Number(place) : null }
}
