import type { Clock } from '../core/clock.ts'
import type { StoppedEmails, HandOvers } from '../core/hand-overs.ts'
import type { Store } from '../store/store.ts'
import { SUPPRESSION_REASONS, type SuppressionReason } from '../store/message-types.ts'
import type { Suppressed, SuppressionCursor, SuppressionRules } from '../store/suppressions.ts'
import type { AppRow, Refused } from '../store/types.ts'
import { parseCsv, readCsvCell, writeCsvRow } from '../core/csv.ts'
import { readEmail } from '../core/email.ts'
import type { FieldError } from '../core/refusals.ts'

export type { Suppressed, SuppressionReason }

const WHY_CHARACTERS = 200

/** Bounces and complaints replace unsubscribing, because they also block transactional emails. Otherwise the first stays. */
export const outweighs: SuppressionRules['outweighs'] = (wanted, current) =>
  current === null || current === 'subscribed' || (current === 'unsubscribed' && wanted !== 'unsubscribed')

/** Only what people chose themselves can they take back. */
export const mayResubscribe: SuppressionRules['mayResubscribe'] = (current) =>
  current === 'subscribed' || current === 'unsubscribed'

const readWhy = (text: string, errors: FieldError[]): string => {
  const why = text.trim().replaceAll(/\s+/g, ' ')
  if (why === '')
    errors.push({ field: 'why', code: 'required', message: 'Enter a reason. It is stored with your name.' })
  if (why.length > WHY_CHARACTERS) {
    errors.push({ field: 'why', code: 'too_long', message: `Use up to ${WHY_CHARACTERS} characters.` })
  }
  return why
}

export type RemovalText = { email: string; why: string }

export function readRemoval(text: RemovalText): { input: RemovalText } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const address = readEmail(text.email)
  if (!address) errors.push({ field: 'email', code: 'invalid', message: 'Enter one complete email address.' })
  const why = readWhy(text.why, errors)
  return address && errors.length === 0 ? { input: { email: address.email, why } } : { errors }
}

export type SuppressionListText = { addresses: string; file: string; why: string; reason: string }

type SuppressedAddress = { email: string; reason: SuppressionReason }

/** `wrongLines`: lines without an address. */
export type SuppressionListInput = { rows: SuppressedAddress[]; wrongLines: number[]; why: string }

const MOST_ADDRESSES = 100_000

export function readSuppressionList(
  text: SuppressionListText,
): { input: SuppressionListInput } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const reason = SUPPRESSION_REASONS.find((one) => one === text.reason)
  if (!reason) errors.push({ field: 'reason', code: 'invalid', message: 'Choose a reason.' })
  const typed = readTyped(text.addresses, errors)
  const { found, wrongLines } = parseAddressFile(text.file)
  const rows = new Map<string, SuppressedAddress>()
  const fallback = reason ?? 'unsubscribed'
  for (const one of [...typed, ...found]) rows.set(one.email, { email: one.email, reason: one.reason ?? fallback })
  const field = text.file === '' ? 'addresses' : 'file'
  if (rows.size === 0 && !errors.some((one) => one.field === 'addresses')) {
    errors.push({ field, code: 'invalid', message: 'Enter at least one complete email address.' })
  }
  if (rows.size > MOST_ADDRESSES) errors.push({ field, code: 'too_long', message: 'Enter up to 100,000 addresses.' })
  const why = readWhy(text.why, errors)
  return errors.length > 0 ? { errors } : { input: { rows: [...rows.values()], wrongLines, why } }
}

type FoundAddress = { email: string; reason?: SuppressionReason }

/** One or more addresses per line. */
function readTyped(text: string, errors: FieldError[]): FoundAddress[] {
  const lines = text.split(/\r?\n/).map((line) => line.split(/[\s,;]+/).filter((word) => word !== ''))
  const wrong = lines.findIndex((words) => words.some((word) => readEmail(word) === null))
  if (wrong >= 0) {
    const message = `Line ${wrong + 1} is not a complete email address.`
    errors.push({ field: 'addresses', code: 'invalid', message })
  }
  return lines.flat().flatMap((word) => readEmail(word) ?? [])
}

/** What mail providers call the reasons in their exports. */
const REASON_WORDS: ReadonlyMap<string, SuppressionReason> = new Map([
  ...['unsubscribed', 'unsubscribe', 'unsubscription', 'manualsuppression'].map(
    (word) => [word, 'unsubscribed'] as const,
  ),
  ...['bounced', 'bounce', 'hardbounce', 'hard_bounce', 'hard bounce'].map((word) => [word, 'bounced'] as const),
  ...['complained', 'complaint', 'spam', 'spamcomplaint', 'spam complaint', 'spamreport'].map(
    (word) => [word, 'complained'] as const,
  ),
])

const HEADERS = new Set(['email', 'email address', 'emailaddress', 'e-mail', 'address', 'recipient', 'email_address'])

/** One address per line, or CSV with any columns. */
function parseAddressFile(text: string): { found: FoundAddress[]; wrongLines: number[] } {
  const found: FoundAddress[] = []
  const wrongLines: number[] = []
  for (const { line, cells } of parseCsv(text)) {
    const values = cells.map(readCsvCell)
    const email = values.map((value) => readEmail(value)?.email).find((one) => one !== undefined)
    const reason = values.map((value) => REASON_WORDS.get(value.toLowerCase())).find((one) => one !== undefined)
    const isHeader = found.length === 0 && values.some((value) => HEADERS.has(value.toLowerCase()))
    if (email !== undefined) found.push({ email, reason })
    else if (!isHeader) wrongLines.push(line)
  }
  return { found, wrongLines }
}

type Changing<Input> = { input: Input; actor: string }

/** Addresses per commit, so that other writes are not kept waiting. */
const COMMIT_ADDRESSES = 200

/** Ends their email at once; audited. Waits for the mail servers' replies only with a single address. */
export async function addSuppressions(
  deps: { store: Store; clock: Clock; mailer: HandOvers },
  { id: appId, accountId }: AppRow,
  { input: { rows, why }, actor }: Changing<SuppressionListInput>,
): Promise<({ added: number } & StoppedEmails) | Refused> {
  const { store, clock } = deps
  const by = { accountId, actor, why }
  const [first, second] = rows
  if (first && !second) {
    const isKnown = (await store.findSuppression(appId, first.email)) !== null
    const outcome = await store.suppress({ appId, ...first, at: clock.now(), by })
    if ('refusal' in outcome) return outcome
    return { added: isKnown ? 0 : 1, ...(await settleAddress(deps, appId, first.email)) }
  }
  let added = 0
  for (let start = 0; start < rows.length; start += COMMIT_ADDRESSES) {
    const some = rows.slice(start, start + COMMIT_ADDRESSES)
    const outcome = await store.suppressMany({
      appId,
      rows: some,
      at: clock.now(),
      by,
      noted: start === 0 ? rows.length : null,
    })
    if ('refusal' in outcome) return outcome
    added += outcome.added
  }
  return { added, stillSending: 0 }
}

const EXPORT_ROWS = 1_000

/** The whole list as CSV, oldest last; erased people have no address. */
export async function* exportSuppressions({ store }: { store: Store }, appId: number): AsyncGenerator<string> {
  yield writeCsvRow(['email', 'reason', 'since'])
  for (let before: SuppressionCursor | null = null; ;) {
    const rows: Suppressed[] = await store.listSuppressions({ appId, reason: null, before, limit: EXPORT_ROWS })
    const named = rows.flatMap(({ email, reason, createdAt }) =>
      email === null ? [] : [writeCsvRow([email, reason, new Date(createdAt).toISOString()])],
    )
    yield named.join('')
    const last = rows.at(-1)
    if (rows.length < EXPORT_ROWS || !last) return
    before = last
  }
}

/** By the start of an address, or by the whole address of an erased person. */
export const searchSuppressions = (
  { store }: { store: Store },
  { id: appId }: AppRow,
  text: string,
  limit: number,
): Promise<Suppressed[]> =>
  Promise.resolve(store.searchSuppressions(appId, readEmail(text)?.email ?? text.trim().toLowerCase(), limit))

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
  { input: { email, why }, actor }: Changing<RemovalText>,
): Promise<{ done: true } | Refused | 'not_listed'> {
  const contact = await store.findContact(appId, email)
  const isRefusing = contact !== null && contact.status !== 'subscribed'
  if (!isRefusing && (await store.findSuppression(appId, email)) === null) return 'not_listed'
  return store.unsuppress({ appId, email, at: clock.now(), by: { accountId, actor, why } })
}
