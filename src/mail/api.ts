/** What the HTTP APIs of email providers have in common, and where they differ. */
import type { ApiAccount } from '../core/mail-apis.ts'
import type { Mailbox } from '../core/mail-addresses.ts'
import type { ListedAddress } from '../people/suppression-sync.ts'
import type { ComposedMail, EmailFields } from './compose.ts'
import type { AccountNote } from '../messages/mailer.ts'
import type { About, ApiRefusal } from './provider.ts'

export type ApiRequest = { path: string; headers: Record<string, string>; body?: Uint8Array<ArrayBuffer> }

export type ApiAnswer = { status: number; body: Record<string, unknown>; header: (name: string) => string | null }

export type MailApi = {
  /** how long a repeated email is recognized by its key */
  repeatsForMs: number | null
  writeEmail(fields: EmailFields, account: ApiAccount): object | Promise<object>
  writeSending(mail: ComposedMail, account: ApiAccount): ApiRequest | Promise<ApiRequest>
  /** Requests that need what sending needs, and send nothing. */
  listChecks(account: ApiAccount): ApiRequest[] | Promise<ApiRequest[]>
  /** What a check that succeeded says about the account. */
  readNote?(answer: ApiAnswer): AccountNote | null
  /** A check is refused although the key is valid: it may only send. */
  isForSendingOnly(answer: ApiAnswer): boolean
  /** The email was accepted, although the status isn't 2xx. */
  isAccepted(answer: ApiAnswer): boolean
  /** The email is beyond the account's limits, although the status isn't 429. */
  isLimit?(answer: ApiAnswer): boolean
  /** Of a status that isn't about the login, the rate or a failure of the provider. */
  readRefusal(answer: ApiAnswer): Pick<ApiRefusal, 'isFinal' | 'isSuppressed'> & { about: About }
  /** The provider's own code, and its own text. */
  readError(answer: ApiAnswer): { error: unknown; message: unknown }
}

/** Without the name of the API. */
export type ListAccount = Omit<ApiAccount, 'api'>

/** The provider's list of addresses to which it sends nothing. */
export type SuppressionList = {
  /** `cursor` null: the first page */
  writeRequest(account: ListAccount, cursor: string | null): ApiRequest | Promise<ApiRequest>
  /** null: unreadable. `cursor`: of the page that was asked for */
  readPage(body: unknown, cursor: string | null): { rows: ListedAddress[]; next: string | null } | null
}

/** The ID of the delivery, which the provider's webhooks repeat. */
export const deliveryOf = ({ messageId }: Pick<EmailFields, 'messageId'>): string => messageId.split('@')[0] ?? ''

/** Always quoted: a name may contain anything printable (RFC 5322, section 3.2.4). */
export const writeMailbox = ({ name, address }: Mailbox): string =>
  name === '' ? address : `"${name.replaceAll(/["\\]/g, '\\$&')}" <${address}>`

/** It would be refused again, until the sender or its account changes. */
export const OF_SENDER = { about: 'sender', isFinal: false, isSuppressed: false } as const
export const OF_ACCOUNT = { about: 'session', isFinal: false, isSuppressed: false } as const
/** Another try may succeed. */
export const OF_MOMENT = { about: 'mail', isFinal: false, isSuppressed: false } as const
/** It would be refused again, whoever sends it. */
export const OF_MAIL = { about: 'mail', isFinal: true, isSuppressed: false } as const
export const OF_SUPPRESSED = { about: 'recipient', isFinal: true, isSuppressed: true } as const
