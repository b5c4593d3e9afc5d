/** The link with which a person ends mail to them. */
import type { Clock } from '../core/clock.ts'
import type { Ended, HandedMail } from '../core/ended.ts'
import type { Store } from '../store/store.ts'
import { timingSafeEqual } from 'node:crypto'
import { isLoopback } from '../core/mail-addresses.ts'
import type { RefusalCode } from '../core/refusals.ts'

/** Eight bytes say who; sixteen prove that the link is ours. Without a table, it works for as long as the person is known. */
const ID_BYTES = 8
const PROOF_BYTES = 16
const TOKEN = /^[\w-]{32}$/

/** In the link of a test mail, which nobody's mail ends by. */
export const TEST_TOKEN = 'test'

const prove = (key: string, id: Buffer): Buffer =>
  new Bun.CryptoHasher('sha256', key).update(id).digest().subarray(0, PROOF_BYTES)

/** 32 characters that only this installation can make. */
export function makeUnsubscribeToken(key: string, contactId: number): string {
  const id = Buffer.alloc(ID_BYTES)
  id.writeBigUInt64BE(BigInt(contactId))
  return Buffer.concat([id, prove(key, id)]).toString('base64url')
}

/** The person of a token, or null for one that is not ours. */
export function readUnsubscribeToken(key: string, token: string): number | null {
  if (!TOKEN.test(token)) return null
  const bytes = Buffer.from(token, 'base64url')
  const id = bytes.subarray(0, ID_BYTES)
  if (!timingSafeEqual(prove(key, id), bytes.subarray(ID_BYTES))) return null
  return Number(id.readBigUInt64BE())
}

/** Where the link leads. `baseUrl` has no slash at its end. */
export const unsubscribeUrl = (baseUrl: string, key: string, contactId: number): string =>
  `${baseUrl}/u/${makeUnsubscribeToken(key, contactId)}`

/**
 * Whether the link leads to whatever machine it is opened on, because the base URL is one that only this machine reaches.
 * A mail server on this machine is there to try things out, and its mails are read here.
 */
export const isLinkLost = (baseUrl: string, mailHost: string): boolean =>
  isLoopback(new URL(baseUrl).hostname) && !isLoopback(mailHost)

/** The app whose mails a link ends. null for a link that is not ours; a person who was erased has no app any more. */
export async function findUnsubscribing(
  { store, unsubscribeKey }: { store: Store; unsubscribeKey: string },
  token: string,
) {
  const contactId = readUnsubscribeToken(unsubscribeKey, token)
  if (contactId === null) return null
  const contact = await store.byId(contactId)
  const app = contact && (await store.findApp(contact.appId))
  return { contactId, appName: app?.name ?? null }
}

/**
 * Ends email to a person, at once and however often it is asked. Resolves when that is saved and the mail servers have
 * answered what they had already. Refusals: unavailable, commit_unconfirmed.
 */
export async function unsubscribe(
  { store, clock, mailer }: { store: Store; clock: Clock; mailer: HandedMail },
  contactId: number,
): Promise<Ended | { refusal: RefusalCode }> {
  const outcome = await store.unsubscribe({ contactId, at: clock.now() })
  // whoever was erased gets no mail either
  if ('refusal' in outcome && outcome.refusal !== 'not_found') return outcome
  return { stillSending: await mailer.settleHanded({ contactId }) }
}
