import { type Clock, DAY_MS } from '../core/clock.ts'
import type { StoppedEmails, HandOvers } from '../core/hand-overs.ts'
import type { Store } from '../store/store.ts'
import { SUPPRESSION_REASONS, type SuppressionReason } from '../store/message-types.ts'
import type { Suppressed, SuppressionCursor, SuppressionFilter, SuppressionRules } from '../store/suppressions.ts'
import type { Cause, Failure } from '../store/suppression-causes.ts'
import type { AppRow, ContactStatus, Refused } from '../store/types.ts'
import { findProvider } from '../accounts/mail-providers.ts'
import { createMemberNames } from '../accounts/members.ts'
import { parseCsv, readCsvCell, writeCsvRow } from '../core/csv.ts'
import { describeInvalidEmail, describeInvalidLine, readEmail } from '../core/email.ts'
import { readMailbox } from '../core/mail-addresses.ts'
import type { FieldError } from '../core/refusals.ts'

export type { Cause, Suppressed, SuppressionCursor, SuppressionFilter, SuppressionReason }

const WHY_CHARACTERS = 200

/** A bounce also blocks transactional emails, and a complaint harms the sender, so it is not lost behind a bounce. */
const WEIGHTS: Record<ContactStatus, number> = { subscribed: 0, pending: 0, unsubscribed: 1, bounced: 2, complained: 3 }

/** A stronger reason replaces a weaker one. Of the same, the first stays. */
export const outweighs: SuppressionRules['outweighs'] = (wanted, current) =>
  current === null || WEIGHTS[wanted] > WEIGHTS[current]

/** By address, each with its strongest reason and whether any of its rows is `unsubscribed`. */
export function mergeReasons<Row extends FoundReason>(rows: Iterable<Row>): (Row & SuppressedAddress)[] {
  const merged = new Map<string, Row & SuppressedAddress>()
  for (const row of rows) {
    const known = merged.get(row.email)
    const isUnsubscribed = row.reason === 'unsubscribed' || known?.isUnsubscribed === true
    if (!known || outweighs(row.reason, known.reason)) merged.set(row.email, { ...row, isUnsubscribed })
    else known.isUnsubscribed = isUnsubscribed
  }
  return [...merged.values()]
}

/** How an email failed, as a title. */
export const FAILURES: Record<Failure, string> = {
  bounced: 'Hard bounce',
  softBounced: 'Soft bounce',
  blocked: 'Blocked as unwanted',
  complained: 'Spam complaint',
}

/** Why an address is suppressed or free again, without a period. `nameMember`: by id. */
export function describeCause(cause: Cause, nameMember: (actor: string) => string): string {
  switch (cause.by) {
    case 'report': {
      const { kind, provider, text } = cause
      const who = provider === null ? 'Your server' : nameProvider(provider)
      return `${who} reported ${REPORTED[kind]}${quote(text)}`
    }
    case 'softBounces':
      return `${cause.count} soft bounces within ${cause.days} days`
    case 'refusal':
      return `The mail server has no such mailbox${cause.text === undefined ? '' : ` (it replied ${cause.text})`}`
    case 'list': {
      const { provider, text } = cause
      const whose = provider === null ? "the email provider's" : `${nameProvider(provider)}'s`
      return `On ${whose} suppression list${quote(text)}`
    }
    case 'member':
      return `By ${nameMember(cause.actor)}${quote(cause.text)}`
    case 'link':
      return 'By the person, from an email'
    case 'import':
      return 'Imported with the person'
  }
}

const REPORTED: Record<Failure, string> = {
  bounced: 'a hard bounce',
  softBounced: 'a soft bounce',
  blocked: 'a blocked email',
  complained: 'a spam complaint',
}

const nameProvider = (id: string): string => findProvider(id)?.name ?? id

const quote = (text: string | undefined): string => (text === undefined ? '' : `: “${text}”`)

const UNDO_MS = 30 * DAY_MS

/** People can take back what they chose themselves, for a while; the link that they used may be forwarded. */
export const mayResubscribe: SuppressionRules['mayResubscribe'] = (current, change, at) =>
  current === 'subscribed' ||
  current === 'pending' ||
  (current === 'unsubscribed' &&
    change?.status === 'unsubscribed' &&
    change.actor === null &&
    at - change.at <= UNDO_MS)

const readWhy = (text: string, errors: FieldError[]): string => {
  const why = text.trim().replaceAll(/\s+/g, ' ')
  if (why === '')
    errors.push({ field: 'why', code: 'required', message: "Enter a note. It's shown with your email address." })
  if (why.length > WHY_CHARACTERS) {
    errors.push({ field: 'why', code: 'too_long', message: `Use up to ${WHY_CHARACTERS} characters.` })
  }
  return why
}

export type RemovalText = { email: string; why: string }

export function readRemoval(text: RemovalText): { input: RemovalText } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const address = readEmail(text.email)
  if (!address) {
    const message = describeInvalidEmail(text.email, 'Enter one complete email address.')
    errors.push({ field: 'email', code: 'invalid', message })
  }
  const why = readWhy(text.why, errors)
  return address && errors.length === 0 ? { input: { email: address.email, why } } : { errors }
}

export type SuppressionListText = { addresses: string; file: string; why: string; reason: string }

type FoundReason = { email: string; reason: SuppressionReason }

/** `isUnsubscribed`: also if a bounce or complaint is the reason. */
type SuppressedAddress = FoundReason & { isUnsubscribed: boolean }

/**
 * `wrongLines`: lines without an address. `repeated`: lines of the file with an address of an earlier one. `assumed`: how many lines
 * of the file got the form's reason instead of theirs.
 */
export type SuppressionListInput = {
  rows: SuppressedAddress[]
  wrongLines: number[]
  repeated: number
  assumed: { reason: SuppressionReason; lines: number }
  why: string
}

const MOST_ADDRESSES = 100_000

/** Other requests are answered meanwhile. */
export async function readSuppressionList(
  text: SuppressionListText,
): Promise<{ input: SuppressionListInput } | { errors: FieldError[] }> {
  const errors: FieldError[] = []
  const reason = SUPPRESSION_REASONS.find((one) => one === text.reason)
  if (!reason) errors.push({ field: 'reason', code: 'invalid', message: 'Choose a reason.' })
  const typed = await readTyped(text.addresses, errors)
  const { found, wrongLines, unclear } = await readAddressFile(text.file, errors)
  const fallback = reason ?? 'unsubscribed'
  const rows = mergeReasons([...typed, ...found].map((one) => ({ email: one.email, reason: one.reason ?? fallback })))
  const field = text.file === '' ? 'addresses' : 'file'
  const isWrong = errors.some((one) => one.field === 'addresses' || one.field === 'file')
  if (rows.length === 0 && !isWrong) {
    errors.push({ field, code: 'invalid', message: 'Enter at least one complete email address.' })
  }
  if (rows.length > MOST_ADDRESSES && !isWrong) errors.push(tooMany(field))
  const why = readWhy(text.why, errors)
  const assumed = { reason: fallback, lines: unclear }
  const repeated = found.length - new Set(found.map(({ email }) => email)).size
  return errors.length > 0 ? { errors } : { input: { rows, wrongLines, repeated, assumed, why } }
}

const tooMany = (field: string): FieldError => ({ field, code: 'too_long', message: 'Enter up to 100,000 addresses.' })

/** Items that are read at once (measured: 2 ms). */
const PART = 1_000

/** In parts, between which other requests are answered. */
async function* inParts<One>(items: Iterable<One>): AsyncGenerator<One[]> {
  let part: One[] = []
  for (const one of items) {
    part.push(one)
    if (part.length < PART) continue
    yield part
    part = []
    await new Promise((resolve) => setImmediate(resolve))
  }
  yield part
}

type FoundAddress = { email: string; reason?: SuppressionReason }

/** One or more addresses per line. */
async function readTyped(text: string, errors: FieldError[]): Promise<FoundAddress[]> {
  const found: FoundAddress[] = []
  let line = 1
  for await (const part of inParts(text.matchAll(/\n|[^\s,;]+/g))) {
    for (const [word] of part) {
      const address = word === '\n' ? null : readEmail(word)
      if (address) found.push(address)
      else if (word === '\n') line += 1
      else {
        errors.push({ field: 'addresses', code: 'invalid', message: describeInvalidLine(line, word) })
        return found
      }
    }
    if (found.length > MOST_ADDRESSES || line > 2 * MOST_ADDRESSES) {
      errors.push(tooMany('addresses'))
      return found
    }
  }
  return found
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

/** One address per line, or CSV with any columns. `unclear`: lines with more than an address, but no known reason. */
async function readAddressFile(
  text: string,
  errors: FieldError[],
): Promise<{ found: FoundAddress[]; wrongLines: number[]; unclear: number }> {
  const found: FoundAddress[] = []
  const wrongLines: number[] = []
  let [blank, unclear] = [0, 0]
  for await (const part of inParts(parseCsv(text))) {
    for (const { line, cells } of part) {
      const values = cells.map(readCsvCell)
      const email = values.map((value) => readMailbox(value)?.address).find((one) => one !== undefined)
      const reason = values.map((value) => REASON_WORDS.get(value.toLowerCase())).find((one) => one !== undefined)
      const isHeader = found.length === 0 && values.some((value) => HEADERS.has(value.toLowerCase()))
      if (email !== undefined && reason === undefined && values.filter((value) => value !== '').length > 1) unclear += 1
      if (email !== undefined) found.push({ email, reason })
      else if (cells.length === 0) blank += 1
      else if (!isHeader) wrongLines.push(line)
    }
    if (found.length > MOST_ADDRESSES) errors.push(tooMany('file'))
    else if (wrongLines.length + blank > MOST_ADDRESSES) errors.push(TOO_MANY_WRONG)
    else continue
    return { found, wrongLines, unclear }
  }
  return { found, wrongLines, unclear }
}

const TOO_MANY_WRONG: FieldError = {
  field: 'file',
  code: 'too_long',
  message: 'More than 100,000 lines have no email address.',
}

type Changing<Input> = { input: Input; actor: string }

/**
 * The parts of a list that are each saved in a commit, so that other writes are not kept waiting: few addresses where
 * several instances may add people with the same locks.
 */
export function* listParts<Row>({ isShared }: Pick<Store, 'isShared'>, rows: readonly Row[]): Generator<Row[]> {
  const most = isShared ? 20 : 200
  for (let start = 0; start < rows.length; start += most) yield rows.slice(start, start + most)
}

/** Ends their email at once; audited. Waits for the mail servers' replies only with a single address. */
export async function addSuppressions(
  deps: { store: Store; clock: Clock; mailer: HandOvers },
  { id: appId, accountId }: AppRow,
  { input: { rows, why }, actor }: Changing<Pick<SuppressionListInput, 'rows' | 'why'>>,
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
  let noted: number | null = rows.length
  for (const some of listParts(store, rows)) {
    const outcome = await store.suppressMany({ appId, rows: some, at: clock.now(), by, noted })
    if ('refusal' in outcome) return outcome
    added += outcome.added
    noted = null
  }
  return { added, stillSending: 0 }
}

const EXPORT_ROWS = 1_000

/** The list as CSV, oldest last, or by address if these are searched; erased people have no address. */
export async function* exportSuppressions(
  { store }: { store: Store },
  { id: appId, accountId }: AppRow,
  { reason, start }: SuppressionFilter,
): AsyncGenerator<string> {
  const nameMember = createMemberNames(await store.listMembers(accountId))
  yield writeCsvRow(['email', 'reason', 'since', 'why'])
  const pages = start === null ? pageByTime(store, { appId, reason }) : pageByAddress(store, { appId, start })
  for await (const rows of pages) {
    const named = rows.flatMap(({ email, reason: listedAs, createdAt, cause }) => {
      const why = cause === null ? '' : describeCause(cause, nameMember)
      return email === null ? [] : [writeCsvRow([email, listedAs, new Date(createdAt).toISOString(), why])]
    })
    yield named.join('')
  }
}

async function* pageByTime(
  store: Store,
  query: { appId: number; reason: SuppressionReason | null },
): AsyncGenerator<Suppressed[]> {
  for (let before: SuppressionCursor | null = null; ;) {
    const rows: Suppressed[] = await store.listSuppressions({ ...query, before, limit: EXPORT_ROWS })
    yield rows
    const last = rows.at(-1)
    if (rows.length < EXPORT_ROWS || !last) return
    before = last
  }
}

async function* pageByAddress(store: Store, query: { appId: number; start: string }): AsyncGenerator<Suppressed[]> {
  for (let from: string | null = query.start; from !== null;) {
    const rows: Suppressed[] = await store.searchSuppressions({ ...query, from, limit: EXPORT_ROWS + 1 })
    yield rows.slice(0, EXPORT_ROWS)
    from = rows[EXPORT_ROWS]?.email ?? null
  }
}

/** The start of an address as it is stored, from what someone typed. */
export const readStart = (text: string): string => readEmail(text)?.email ?? text.trim().toLowerCase()

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
  const isRefusing = contact !== null && contact.status !== 'subscribed' && contact.status !== 'pending'
  if (!isRefusing && (await store.findSuppression(appId, email)) === null) return 'not_listed'
  return store.unsuppress({ appId, email, at: clock.now(), by: { accountId, actor, why } })
}
