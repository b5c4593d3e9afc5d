import type { StoredBatch } from '../store/snippet-types.ts'
import type { Refused } from '../store/types.ts'
import type { Site } from './access.ts'
import { type BatchFields, lacksEmail, readBatchInput } from './collect-input.ts'
import type { Body } from './field-readers.ts'
import { verifyIdentity } from './identity.ts'
import { isOriginOf, readOrigin } from './origins.ts'
import type { Parts } from './parts.ts'
import { isRefusal, type Refusal, REFUSALS, refuse, refuseFields } from './refusals.ts'

/** `origin` is the header of that name. */
export type Caller = { address(): string; origin: string | null }

/**
 * Takes a batch of the browser script: fields, site, origin, signature, limits, then one commit (spec 2.6, 4.5, 5.4).
 * Nothing before the signature depends on whether the person exists.
 * @returns null when it was stored, was stored before, or came from someone unknown; else why not
 */
export async function collectBatch(parts: Parts, body: Body, caller: Caller): Promise<Refusal | null> {
  const reading = readBatchInput(body, parts.clock.now())
  if ('errors' in reading) return refuseUnread(parts, body, refuseFields(reading.errors), caller)
  const found = parts.access.findSite(reading.input.site)
  // no promise for a known site: each costs a turn of the queue, and this is every request's way
  const site = found instanceof Promise ? await found : found
  if (!site) return refuse('site_not_found')
  const refusal = await collectFor(parts, site, reading.input, caller)
  if (refusal) noteRefusal(parts, site, refusal, caller)
  return refusal
}

async function collectFor(parts: Parts, site: Site, input: BatchFields, caller: Caller): Promise<Refusal | null> {
  if (!isOwnPage(caller.origin, site.settings.hosts)) return refuse('origin_not_allowed')
  const unproven = proveIdentity(parts, site, input, caller)
  if (unproven) return unproven
  if (!site.plan.snippetLimits) return settle(parts, site, await storeBatch(parts, site, input))
  const asked = { appId: site.app.id, email: input.email, items: input.items.length, address: caller.address() }
  const taken = parts.snippetLimits.take(asked)
  if ('refused' in taken) return taken.refused
  const outcome = await storeBatch(parts, site, input)
  if (isForNothing(outcome)) taken.giveBack()
  return settle(parts, site, outcome)
}

/** Hygiene, not authentication: only browsers send an Origin, and whoever sends none is no page. */
const isOwnPage = (origin: string | null, hosts: string[]): boolean =>
  hosts.length === 0 || origin === null || isOriginOf(origin, hosts)

/** 429 for an address that guesses, 401 for a signature that proves nobody; null when it proves the email. */
function proveIdentity(parts: Parts, site: Site, input: BatchFields, caller: Caller): Refusal | null {
  const { snippetLimits: isLimited } = site.plan
  const held = isLimited ? parts.snippetLimits.checkSignatures(caller.address()) : null
  if (held) return held
  const { emailShown: email, signature } = input
  const verified = verifyIdentity({ email, signature, secrets: site.secrets, now: parts.clock.now() })
  if (verified.ok) {
    if (verified.isPrevious) parts.notes.add(site.app.id, 'old_secret', originOf(caller))
    return null
  }
  if (isLimited) parts.snippetLimits.countBadSignature(caller.address())
  parts.notes.add(site.app.id, 'failed_signature', { reason: verified.reason, ...originOf(caller) })
  return refuse('invalid_signature', verified.reason === 'uppercase' ? { message: UPPERCASE } : {})
}

const UPPERCASE = 'Invalid signature: it must be in lowercase hexadecimal.'

const storeBatch = ({ store: { recordBatch }, clock }: Parts, { app, plan, settings }: Site, input: BatchFields) =>
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

const isForNothing = (outcome: StoredBatch | Refused): boolean =>
  'refusal' in outcome ? outcome.refusal === 'unavailable' : outcome.repeated

/** Whether somebody is known is the customer's business and not the browser's. */
function settle({ notes }: Parts, site: Site, outcome: StoredBatch | Refused): Refusal | null {
  if (!isRefusal(outcome)) return null
  if (outcome.refusal !== 'contact_not_found') return outcome
  notes.add(site.app.id, 'unknown_person')
  return null
}

/** The site of a request that was not understood is looked up for counting only. */
async function refuseUnread(parts: Parts, body: Body, refusal: Refusal, caller: Caller): Promise<Refusal> {
  const site = typeof body.site === 'string' ? await parts.access.findSite(body.site) : null
  if (!site) return refusal
  if (lacksEmail(body)) parts.notes.add(site.app.id, 'without_email', originOf(caller))
  noteRefusal(parts, site, refusal, caller)
  return refusal
}

/** What our own faults refused is no concern of who integrates. */
function noteRefusal({ notes }: Parts, site: Site, { refusal, message }: Refusal, caller: Caller): void {
  const { status, message: sentence } = REFUSALS[refusal]
  if (status < 500) notes.add(site.app.id, 'refused', { reason: message ?? sentence, ...originOf(caller) })
}

const originOf = ({ origin }: Caller) => ({ origin: readOrigin(origin) })
