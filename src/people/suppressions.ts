import type { Clock } from '../core/clock.ts'
import type { StoppedEmails, HandOvers } from '../core/hand-overs.ts'
import type { Store } from '../store/store.ts'
import { SUPPRESSION_REASONS, type SuppressionReason } from '../store/message-types.ts'
import type { Suppressed, SuppressionRules } from '../store/suppressions.ts'
import type { AppRow, Refused } from '../store/types.ts'
import { readEmail } from '../core/email.ts'
import type { FieldError } from '../core/refusals.ts'

export type { Suppressed, SuppressionReason }

const WHY_CHARACTERS = 200

/** Bounces and complaints replace unsubscribing, because they also block transactional emails. Otherwise the first stays. */
export const outweighs: SuppressionRules['outweighs'] = (wanted, current) =>
  current === null || current === 'subscribed' || (current === 'unsubscribed' && wanted !== 'unsubscribed')

export type SuppressionText = { email: string; why: string; reason: string }

export type SuppressionInput = { email: string; why: string; reason: SuppressionReason }

export function readSuppression(text: SuppressionText): { input: SuppressionInput } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const address = readEmail(text.email)
  if (!address) errors.push({ field: 'email', code: 'invalid', message: 'Give one whole email address.' })
  const why = text.why.trim().replaceAll(/\s+/g, ' ')
  if (why === '')
    errors.push({ field: 'why', code: 'required', message: 'Give a reason. It is stored with your name.' })
  if (why.length > WHY_CHARACTERS) {
    errors.push({ field: 'why', code: 'too_long', message: `Say it in up to ${WHY_CHARACTERS} characters.` })
  }
  const reason = SUPPRESSION_REASONS.find((one) => one === text.reason)
  if (!reason) errors.push({ field: 'reason', code: 'invalid', message: 'Choose one of these.' })
  return address && reason && errors.length === 0 ? { input: { email: address.email, why, reason } } : { errors }
}

/** null when not suppressed. `invalid` for an invalid address. */
export async function findSuppressed(
  { store }: { store: Store },
  app: AppRow,
  text: string,
): Promise<SuppressionReason | 'invalid' | null> {
  const address = readEmail(text)
  return address ? store.findSuppression(app.id, address.email) : 'invalid'
}

type Changing = { input: SuppressionInput; actor: string }

/** Ends the person's email at once; audited. */
export async function addSuppression(
  deps: { store: Store; clock: Clock; mailer: HandOvers },
  { id: appId, accountId }: AppRow,
  { input: { email, why, reason }, actor }: Changing,
): Promise<StoppedEmails | Refused> {
  const by = { accountId, actor, why }
  const outcome = await deps.store.suppress({ appId, email, reason, at: deps.clock.now(), by })
  return 'refusal' in outcome ? outcome : settleAddress(deps, appId, email)
}

/** Waits for emails to the address that mail servers already had. */
export async function settleAddress(
  { store, mailer }: { store: Store; mailer: HandOvers },
  appId: number,
  email: string,
): Promise<StoppedEmails> {
  const contact = await store.findContact(appId, email)
  return { stillSending: contact ? await mailer.waitForReplies({ contactId: contact.id }) : 0 }
}

/** Audited. `not_listed`: the address wasn't on the list. */
export async function removeSuppression(
  { store, clock }: { store: Store; clock: Clock },
  { id: appId, accountId }: AppRow,
  { input: { email, why }, actor }: Changing,
): Promise<{ done: true } | Refused | 'not_listed'> {
  const contact = await store.findContact(appId, email)
  const isRefusing = contact !== null && contact.status !== 'subscribed'
  if (!isRefusing && (await store.findSuppression(appId, email)) === null) return 'not_listed'
  return store.unsuppress({ appId, email, at: clock.now(), by: { accountId, actor, why } })
}
