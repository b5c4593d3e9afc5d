/** Double opt-in: people who are added with consent pending get an email whose link confirms their address. */
import { timingSafeEqual } from 'node:crypto'
import { type Clock, DAY_MS, HOUR_MS } from '../core/clock.ts'
import { type Refusal, type RefusalCode, refuseFields } from '../core/refusals.ts'
import type { Consent } from '../store/consents.ts'
import { daysOf, type OptIn, type OptInText } from '../accounts/opt-in.ts'
import type { Store } from '../store/store.ts'
import type { AppRow, ConsentSource, ContactStatus, ConfirmedConsent } from '../store/types.ts'
import { findRecipientApp, type RecipientApp } from './unsubscribe.ts'

export type { Consent, ConsentSource }

/** Programs may repeat a call for the same person often. */
const PROGRAM_WAIT_MS = DAY_MS
const PROGRAM_MOST = 3
const PROGRAM_WITHIN_MS = 30 * DAY_MS
const PERSON_WAIT_MS = HOUR_MS

/** When the person may be asked again, at `at` or later (ms UTC). `asked`: when they were. */
export function mayAskFrom(source: ConsentSource, asked: readonly number[], at: number): number {
  const last = Math.max(Number.NEGATIVE_INFINITY, ...asked)
  if (source === 'page' || source === 'dashboard') return Math.max(at, last + PERSON_WAIT_MS)
  const nth = asked.toSorted((a, b) => b - a)[PROGRAM_MOST - 1] ?? Number.NEGATIVE_INFINITY
  return Math.max(at, last + PROGRAM_WAIT_MS, nth + PROGRAM_WITHIN_MS)
}

/** Refused if no email can ask for consent, because the person would be added without it. */
export async function refuseConsent(
  store: Pick<Store, 'mailSettings'>,
  { id: appId }: Pick<AppRow, 'id'>,
  { consent }: { consent?: 'pending' },
): Promise<Refusal | null> {
  if (consent === undefined) return null
  const { optIn } = await store.mailSettings(appId)
  return optIn?.isOn ? null : refuseFields([OPT_IN_OFF])
}

const OPT_IN_OFF = {
  field: 'consent',
  code: 'opt_in_off',
  message:
    'Double opt-in is off for this app. Turn it on under Sender, Double opt-in, or leave this out if the person has consented.',
}

const ID_BYTES = 8
const TIME_BYTES = 4
const PROOF_BYTES = 16
const TOKEN = /^[\w-]{38}$/

/** Differs from the proof in an unsubscribe link. */
const prove = (key: string, bytes: Buffer): Buffer =>
  new Bun.CryptoHasher('sha256', key).update('confirm').update(bytes).digest().subarray(0, PROOF_BYTES)

/** `expiresAt`: ms UTC, in whole seconds. */
type Link = { consentId: number; expiresAt: number }

export function makeConfirmToken(key: string, { consentId, expiresAt }: Link): string {
  const bytes = Buffer.alloc(ID_BYTES + TIME_BYTES)
  bytes.writeBigUInt64BE(BigInt(consentId))
  bytes.writeUInt32BE(Math.floor(expiresAt / 1_000), ID_BYTES)
  return Buffer.concat([bytes, prove(key, bytes)]).toString('base64url')
}

export function readConfirmToken(key: string, token: string): Link | null {
  if (!TOKEN.test(token)) return null
  const all = Buffer.from(token, 'base64url')
  const bytes = all.subarray(0, ID_BYTES + TIME_BYTES)
  if (!timingSafeEqual(prove(key, bytes), all.subarray(bytes.length))) return null
  return { consentId: Number(bytes.readBigUInt64BE()), expiresAt: bytes.readUInt32BE(ID_BYTES) * 1_000 }
}

export const CONFIRM_PATH = '/confirm'

/** For an email that is sent now. */
export function confirmUrl(
  { baseUrl, key, now }: { baseUrl: string; key: string; now: number },
  { consentId, optIn }: { consentId: number; optIn: OptIn | null },
): string {
  const expiresAt = now + daysOf(optIn) * DAY_MS
  return `${baseUrl}${CONFIRM_PATH}/${makeConfirmToken(key, { consentId, expiresAt })}`
}

type Dependencies = { store: Store; clock: Pick<Clock, 'now'>; unsubscribeKey: string }

/** A person who opened the link. */
export type Confirming = RecipientApp & {
  consentId: number
  email: string
  app: AppRow
  status: ContactStatus
  isExpired: boolean
  optIn: OptIn | null
}

/** null for invalid links and erased people. */
export async function findConfirming(
  { store, clock, unsubscribeKey }: Dependencies,
  token: string,
): Promise<Confirming | null> {
  const link = readConfirmToken(unsubscribeKey, token)
  const consent = link && (await store.findConsent(link.consentId))
  const found = consent && (await findRecipientApp(store, consent.contactId, 'confirm'))
  if (!found) return null
  const { optIn } = await store.mailSettings(found.app.id)
  const isExpired = clock.now() >= link.expiresAt
  return { ...found, consentId: consent.id, isExpired, optIn }
}

/** Repeatable. `address`: of the client. Refusals: contact_not_found, unavailable, commit_unconfirmed. */
export const confirmConsent = (
  { store, clock }: Dependencies,
  { app, email, consentId, optIn }: Confirming,
  address: string,
): Promise<ConfirmedConsent | { refusal: RefusalCode }> =>
  store.confirmConsent({
    ...ofPerson(app, email, clock),
    consentId,
    address: optIn?.storesIp ? address : null,
  })

const ofPerson = ({ accountId, id: appId }: AppRow, email: string, clock: Pick<Clock, 'now'>) => ({
  accountId,
  appId,
  email,
  shownEmail: null,
  newPeoplePerMonth: null,
  at: clock.now(),
  limits: [],
  idempotency: null,
})

/** `nextAt`: when another email can be asked for (ms UTC); null: the app doesn't ask any more. */
export type AskedAgain = { isAsked: boolean; nextAt: number | null }

/** By the person, or a member for them. Refusals: contact_not_found, unavailable, commit_unconfirmed. */
export async function askAgain(
  { store, clock }: Pick<Dependencies, 'store' | 'clock'>,
  { app, email }: { app: AppRow; email: string },
  by: { source: 'page' } | { source: 'dashboard'; actor: string },
): Promise<AskedAgain | { refusal: RefusalCode }> {
  const person = ofPerson(app, email, clock)
  const { source, ...member } = by
  const change = { ...person, ...member, tags: [], removeTags: [], fields: null, asksConsent: source }
  const outcome = await store.updateContact(change)
  if ('refusal' in outcome) return outcome
  const [consents, { optIn }] = await Promise.all([store.listConsents(outcome.contactId), store.mailSettings(app.id)])
  const asked = consents.map(({ askedAt }) => askedAt)
  return {
    isAsked: outcome.isAsked === true,
    nextAt: optIn?.isOn ? mayAskFrom(source, asked, person.at) : null,
  }
}

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

/** For exports, with the text that the person saw. */
export const consentView = ({ askedAt, source, wording, confirmedAt, address }: Consent, text: OptInText | null) => ({
  askedAt: iso(askedAt),
  source,
  confirmedAt: iso(confirmedAt),
  confirmedBy: confirmedAt === null ? null : ('page' satisfies ConsentSource),
  wording,
  text,
  address,
})
