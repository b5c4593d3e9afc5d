import type { Clock } from '../core/clock.ts'
import type { StoppedEmails, HandOvers } from '../core/hand-overs.ts'
import { DEFAULT_PAGE, findPageTexts, type PageTexts } from '../accounts/app-texts.ts'
import { listRequestLanguages } from '../accounts/opt-in.ts'
import type { Store } from '../store/store.ts'
import { timingSafeEqual } from 'node:crypto'
import { localeOf } from '../core/languages.ts'
import { isLoopback } from '../core/mail-addresses.ts'
import type { RefusalCode } from '../core/refusals.ts'
import type { AppRow, ContactStatus } from '../store/types.ts'
import { mayResubscribe } from './suppressions.ts'
import { type ChosenTopic, chooseTopics, withEnds } from './topics.ts'

/** Eight bytes for each id, sixteen of proof. Needs no table, so it works as long as the person exists. */
const ID_BYTES = 8
const PROOF_BYTES = 16
const TOKEN = /^(?:[\w-]{32}|[\w-]{43})$/

export const TEST_TOKEN = 'test'

const prove = (key: string, id: Buffer): Buffer =>
  new Bun.CryptoHasher('sha256', key).update(id).digest().subarray(0, PROOF_BYTES)

/** `topicId`: of the email's topic. */
export type UnsubscribeLink = { contactId: number; topicId: number | null }

export function makeUnsubscribeToken(key: string, { contactId, topicId }: UnsubscribeLink): string {
  const ids = topicId === null ? [contactId] : [contactId, topicId]
  const bytes = Buffer.alloc(ID_BYTES * ids.length)
  for (const [index, id] of ids.entries()) bytes.writeBigUInt64BE(BigInt(id), index * ID_BYTES)
  return Buffer.concat([bytes, prove(key, bytes)]).toString('base64url')
}

export function readUnsubscribeToken(key: string, token: string): UnsubscribeLink | null {
  if (!TOKEN.test(token)) return null
  const all = Buffer.from(token, 'base64url')
  const bytes = all.subarray(0, -PROOF_BYTES)
  if (!timingSafeEqual(prove(key, bytes), all.subarray(-PROOF_BYTES))) return null
  const [contactId = 0, topicId = null] = Array.from({ length: bytes.length / ID_BYTES }, (_, index) =>
    Number(bytes.readBigUInt64BE(index * ID_BYTES)),
  )
  return { contactId, topicId }
}

export const unsubscribeUrl = (baseUrl: string, key: string, link: UnsubscribeLink): string =>
  `${baseUrl}/u/${makeUnsubscribeToken(key, link)}`

/** Only this machine can open links with this base URL. */
export const isLinkUnreachable = (baseUrl: string): boolean => isLoopback(new URL(baseUrl).hostname)

/** `url`: such a base URL. */
export const describeLostUrl = (url: string): string =>
  `Recipients can't unsubscribe: links in emails lead to ${url}, which only this machine can open.`

/** What the pages behind links in emails show of an app and a person. */
export type RecipientLook = {
  /** such as "a•••@example.com", because emails are forwarded with their links */
  address: string | null
  appName: string | null
  logoUrl: string | null
  colour: string | null
  /** in their language */
  texts: PageTexts
}

/**
 * Without an app and status if the person was erased. `topic`: of the link; null: the link is about all emails, or its
 * topic was deleted. `topics`: all that the person can choose.
 */
export type Unsubscribing = RecipientLook & {
  contactId: number
  status: ContactStatus | null
  mayUndo: boolean
  topic: ChosenTopic | null
  topics: ChosenTopic[]
}

export type RecipientApp = RecipientLook & { app: AppRow; email: string; status: ContactStatus }

/** Whom a link in an email was sent to; null: the person was erased. */
export async function findRecipientApp(
  store: Store,
  contactId: number,
  page: 'unsubscribe' | 'confirm',
): Promise<RecipientApp | null> {
  const contact = await store.byId(contactId)
  const app = contact && (await store.findApp(contact.appId))
  if (!contact || !app) return null
  const locale = localeOf(contact.fields)
  const [{ logoUrl, colour, texts, optIn }, suppression, languages] = await Promise.all([
    store.mailSettings(app.id),
    store.findSuppression(app.id, contact.email),
    locale === null ? [] : store.listMailLanguages(app.id),
  ])
  const mailLanguages = page === 'confirm' ? listRequestLanguages(optIn, languages) : languages
  const isHttps = URL.parse(logoUrl ?? '')?.protocol === 'https:'
  return {
    app,
    email: contact.email,
    status: suppression ?? contact.status,
    address: maskEmail(contact.email),
    appName: app.name,
    logoUrl: isHttps ? logoUrl : null,
    colour,
    texts: findPageTexts(texts, { page, locale, appLocale: app.locale, mailLanguages }),
  }
}

const ERASED = {
  address: null,
  appName: null,
  status: null,
  mayUndo: false,
  logoUrl: null,
  colour: null,
  texts: DEFAULT_PAGE,
  topic: null,
  topics: [],
}

const maskEmail = (email: string): string => {
  const at = email.lastIndexOf('@')
  return `${[...email].slice(0, 1).join('')}•••${email.slice(at)}`
}

/** null for invalid links. */
export async function findUnsubscribing(
  { store, clock, unsubscribeKey }: { store: Store; clock: Pick<Clock, 'now'>; unsubscribeKey: string },
  token: string,
): Promise<Unsubscribing | null> {
  const link = readUnsubscribeToken(unsubscribeKey, token)
  if (link === null) return null
  const { contactId } = link
  const [found, change] = await Promise.all([
    findRecipientApp(store, contactId, 'unsubscribe'),
    store.findStatusChange(contactId),
  ])
  if (!found) return { ...ERASED, contactId }
  const { app, email, address, appName, status, logoUrl, colour, texts } = found
  const mayUndo = status === 'unsubscribed' && mayResubscribe(status, change, clock.now())
  const all = await withEnds(store, { appId: app.id, email }, await store.listUsedTopics(app.id))
  const topic = all.find(({ id }) => id === link.topicId) ?? null
  const topics = all.filter((one) => one.isShown || one === topic || one.end !== null)
  return { contactId, address, appName, status, mayUndo, logoUrl, colour, texts, topic, topics }
}

/**
 * From a topic, or from everything (null). Repeatable. Resolves when saved and mail servers have answered. Refusals:
 * unavailable, commit_unconfirmed.
 */
export async function unsubscribe(
  deps: { store: Store; clock: Clock; mailer: HandOvers },
  { contactId, topic }: { contactId: number; topic: Pick<ChosenTopic, 'name'> | null },
): Promise<StoppedEmails | { refusal: RefusalCode }> {
  const { store, clock, mailer } = deps
  if (topic) return chooseTopics(deps, { contactId, end: [topic.name], resume: [], actor: null })
  const outcome = await store.unsubscribe({ contactId, at: clock.now() })
  if ('refusal' in outcome && outcome.refusal !== 'not_found') return outcome
  return { stillSending: await mailer.waitForReplies({ contactId }) }
}

/** `isDone`: false if they did not unsubscribe themselves, or too long ago. Refusals: unavailable, commit_unconfirmed. */
export async function resubscribe(
  { store, clock }: { store: Store; clock: Clock },
  contactId: number,
): Promise<{ isDone: boolean } | { refusal: RefusalCode }> {
  const outcome = await store.resubscribe({ contactId, at: clock.now() })
  return 'refusal' in outcome && outcome.refusal === 'not_found' ? { isDone: false } : outcome
}
