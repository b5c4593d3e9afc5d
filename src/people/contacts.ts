import { publicId } from '../core/ids.ts'
import type { Clock } from '../core/clock.ts'
import type { StoppedEmails, HandOvers } from '../core/hand-overs.ts'
import type { Store } from '../store/store.ts'
import type { ConsentSource, ContactRow, ContactWrite, Refused, SavedContact } from '../store/types.ts'
import type { AppRow } from '../accounts/access.ts'
import { refuseConsent } from './consent.ts'
import type { ContactFields } from './contact-input.ts'
import type { WriteContext } from '../accounts/write-limits.ts'
import { type Refusal, refuse, type Warning } from '../core/refusals.ts'

type Dependencies = { store: Store; clock: Clock }

export type { ContactRow, SavedContact }

export type ContactContext = Omit<WriteContext, 'via'> & { via: ConsentSource }

export const UNKNOWN_PERSON = refuse('contact_not_found', {
  message: 'This app has no person with this email. Check the email, or add the person first.',
})

export const explainUnknown = (refusal: Refusal): Refusal =>
  refusal.refusal === 'contact_not_found' ? UNKNOWN_PERSON : refusal

/** Or merges; a known person's status and source stay. See `refuseConsent`. */
export const addContact = (
  deps: Dependencies,
  context: ContactContext,
  fields: ContactFields,
): Promise<SavedContact | Refused> => deps.store.addContact(contactWrite(deps, context, fields))

/** Never creates one: contact_not_found. */
export const updateContact = (
  deps: Dependencies,
  context: ContactContext,
  fields: ContactFields,
): Promise<SavedContact | Refused> => deps.store.updateContact(contactWrite(deps, context, fields))

/** They are stored, but trigger nothing. */
export const warnOfDates = ({ wrongDates = [] }: Pick<SavedContact, 'wrongDates'>): Warning[] =>
  wrongDates.map((name) => ({
    field: `fields.${name}`,
    code: 'not_a_date',
    message: `\`fields.${name}\` is not a date, so it triggers no message for this person. Send a date such as \`2026-11-30\` or \`2026-11-30T09:00:00Z\`.`,
  }))

type MemberWrite = { fields: ContactFields; actor: string; isNew: boolean }

/** By a member in the dashboard: no rate limits, but the plan's limit on new people. */
export async function saveByMember(
  deps: Dependencies,
  app: AppRow,
  { fields, actor, isNew }: MemberWrite,
): Promise<SavedContact | Refused | Refusal> {
  const account = await deps.store.findAccount(app.accountId)
  const plan = { newPeoplePerMonth: account?.plan.newPeoplePerMonth ?? null }
  const refused = await refuseConsent(deps.store, app, fields)
  if (refused) return refused
  const context = { access: { plan }, app, via: 'dashboard' as const, limits: [], idempotency: null }
  const write = { ...contactWrite(deps, context, fields), actor }
  return isNew ? deps.store.addContact(write) : deps.store.updateContact(write)
}

/** Erases all data of a person; `actor` stays in the audit list. Refusals: contact_not_found. */
export async function eraseContact(
  { store, clock, mailer }: { store: Store; clock: Clock; mailer: HandOvers },
  { id: appId, accountId }: AppRow,
  { email, actor }: { email: string; actor: string },
): Promise<StoppedEmails | Refused> {
  const outcome = await store.eraseContact({ appId, accountId, email, actor, at: clock.now() })
  return 'refusal' in outcome ? outcome : { stillSending: await mailer.waitForReplies(outcome) }
}

export const contactWrite = (
  { clock }: { clock: Clock },
  {
    access,
    app,
    via,
    limits,
    idempotency,
  }: Pick<ContactContext, 'app' | 'via' | 'limits' | 'idempotency'> & {
    access: { plan: Pick<WriteContext['access']['plan'], 'newPeoplePerMonth'> }
  },
  fields: ContactFields,
): ContactWrite => ({
  accountId: app.accountId,
  appId: app.id,
  email: fields.email,
  shownEmail: fields.emailShown === fields.email ? null : fields.emailShown,
  newPeoplePerMonth: access.plan.newPeoplePerMonth,
  firstName: fields.firstName,
  lastName: fields.lastName,
  tags: fields.tags,
  removeTags: fields.removeTags,
  fields: fields.fields,
  source: fields.source,
  at: clock.now(),
  limits,
  idempotency,
  ...(fields.consent === undefined ? {} : { asksConsent: via }),
})

export const contactView = (row: ContactRow, app: AppRow) => ({
  id: publicId('con', row.id),
  app: app.publicId,
  email: row.email,
  firstName: row.firstName,
  lastName: row.lastName,
  tags: row.tags ?? [],
  fields: row.fields ?? {},
  source: row.source,
  status: row.status,
  createdAt: iso(row.createdAt),
  updatedAt: iso(row.updatedAt),
  firstSeenAt: isoOrNull(row.firstSeenAt),
  lastSeenAt: isoOrNull(row.lastSeenAt),
  lastEventAt: isoOrNull(row.lastEventAt),
})

const iso = (at: number): string => new Date(at).toISOString()
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))
