import { expiryNow, type Clock } from '../core/clock.ts'
import type { KeyAccess, Site } from '../accounts/access.ts'
import type { SnippetLimits } from './snippet-limits.ts'
import type { Store } from '../store/store.ts'
import type { NoteKind, Refused } from '../store/types.ts'
import type { StoredBatch } from '../store/visit-reports.ts'
import { type VisitReportFields, readVisitReport } from './collect-input.ts'
import { lacksEmail, type Body } from '../core/inputs.ts'
import { verifyIdentity } from '../accounts/identity.ts'
import { isOriginOf, readOrigin } from '../core/origins.ts'
import { isRefusal, type Refusal, type RefusalCode, REFUSALS, refuse, refuseFields } from '../core/refusals.ts'

type Notes = { add(appId: number, kind: NoteKind, detail?: { reason?: string | null; origin?: string | null }): void }

export type VisitDependencies = {
  access: KeyAccess
  snippetLimits: SnippetLimits
  notes: Notes
  store: Store
  clock: Clock
}

export type Caller = { address(): string; origin: string | null }

/**
 * Checks address limit, fields, site, origin, signature and limits, then commits once. Nothing before the signature
 * depends on whether the person exists. @returns null when stored or ignored
 */
export async function recordVisitReport(deps: VisitDependencies, body: Body, caller: Caller): Promise<Refusal | null> {
  const { access, snippetLimits, clock } = deps
  const siteId = typeof body.site === 'string' ? body.site : ''
  const held = access.isUnlimited(siteId) ? null : snippetLimits.takeRequest(caller.address())
  if (held) return noteRefusal(deps, access.cachedSite(siteId), held, caller)
  const found = access.findSite(siteId)
  // no promise for a known site: each costs a turn of the queue on every request
  const site = found instanceof Promise ? await found : found
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
  if (!site.plan.snippetLimits) return settle(deps, site, await storeBatch(deps, site, input))
  const taken = deps.snippetLimits.take({ appId: site.app.id, email: input.email, items: input.items.length })
  if ('refused' in taken) return taken.refused
  const outcome = await storeBatch(deps, site, input)
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
  const held = guesser && snippetLimits.checkSignatures(guesser)
  if (held) return held
  const { emailShown: email, signature } = input
  const verified = verifyIdentity({ email, signature, secrets, now: expiryNow(clock) })
  if (verified.ok) {
    notes.add(app.id, 'identified')
    if (verified.isPrevious) notes.add(app.id, 'old_secret', originOf(caller))
    return null
  }
  if (guesser) snippetLimits.countBadSignature(guesser)
  notes.add(app.id, 'failed_signature', { reason: verified.reason, ...originOf(caller) })
  return refuse('invalid_signature', verified.reason === 'uppercase' ? { message: UPPERCASE } : {})
}

const UPPERCASE = 'Invalid signature: it must be in lowercase hexadecimal.'

const storeBatch = (
  { store: { recordBatch }, clock }: { store: Store; clock: Clock },
  { app, plan, settings }: Site,
  input: VisitReportFields,
) =>
  recordBatch({
    accountId: app.accountId,
    appId: app.id,
    email: input.email,
    shownEmail: input.emailShown === input.email ? null : input.emailShown,
    newPeoplePerMonth: plan.newPeoplePerMonth,
    createContact: settings.addsPeople,
    at: clock.now(),
    batchId: input.id,
    items: input.items,
  })

const isUncounted = (outcome: StoredBatch | Refused): boolean =>
  'refusal' in outcome ? outcome.refusal === 'unavailable' : outcome.repeated

/** Browsers must not learn whether a person is known. */
function settle({ notes }: { notes: Notes }, site: Site, outcome: StoredBatch | Refused): Refusal | null {
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
