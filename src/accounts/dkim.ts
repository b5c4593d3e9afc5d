/** An app's DKIM key and DNS record (RFC 6376). */
import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { MailSettings } from '../store/message-types.ts'
import { foldDomain } from '../core/domains.ts'
import type { FieldError } from '../core/refusals.ts'

/** Longer keys don't fit into one answer of old name servers. */
const KEY_BITS = 2_048
const SELECTOR = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

export type DkimText = { domain: string; selector: string }

export function readDkim({ domain, selector }: DkimText): { input: DkimText } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const folded = foldDomain(domain.trim().toLowerCase())
  if (folded === null) {
    errors.push({ field: 'dkimDomain', code: 'invalid', message: 'Enter a domain, such as example.com.' })
  }
  const name = selector.trim().toLowerCase()
  if (!SELECTOR.test(name)) {
    const message = 'Use up to 63 letters, digits and hyphens, such as eventpost.'
    errors.push({ field: 'dkimSelector', code: 'invalid', message })
  }
  return folded === null || errors.length > 0 ? { errors } : { input: { domain: folded, selector: name } }
}

const generate = promisify(generateKeyPair)

/** What Eventpost signs: everything that readers or email programs act on (RFC 8058 requires List-Unsubscribe-Post). */
export const SIGNED_HEADERS = [
  'from',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'to',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'auto-submitted',
  'feedback-id',
] as const

/** RSA: not every receiver supports newer algorithms. */
export async function makeDkimKey(): Promise<string> {
  const { privateKey } = await generate('rsa', { modulusLength: KEY_BITS })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function readPublicKey(pem: string): string | null {
  try {
    return createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'der' }).toString('base64')
  } catch {
    return null
  }
}

export type DkimSettings = Pick<MailSettings, 'dkimDomain' | 'dkimSelector' | 'dkimKey'>

/** PEM, RSA. */
export type DkimKey = DkimText & { key: string }

/** `waiting`: a new key, which signs nothing until its record is found or an owner uses it anyway. */
export type DkimKeys = { signing: DkimKey | null; waiting: DkimKey | null }

/** The waiting key follows the signing one in the same secret, after this line. */
const WAITING = /^waiting (\S+) (\S+)\n/m

export function readDkimKeys({ dkimDomain, dkimSelector, dkimKey }: DkimSettings): DkimKeys {
  const [signed = '', domain, selector, key] = dkimKey?.split(WAITING, 4) ?? []
  const isSigning = dkimDomain !== null && dkimSelector !== null && signed !== ''
  return {
    signing: isSigning ? { domain: dkimDomain, selector: dkimSelector, key: signed } : null,
    waiting: domain && selector && key ? { domain, selector, key } : null,
  }
}

export function writeDkimKeys({ signing, waiting }: DkimKeys): DkimSettings {
  const signed = signing === null || signing.key.endsWith('\n') ? (signing?.key ?? '') : `${signing.key}\n`
  const next = waiting === null ? '' : `waiting ${waiting.domain} ${waiting.selector}\n${waiting.key}`
  return {
    dkimDomain: signing?.domain ?? null,
    dkimSelector: signing?.selector ?? null,
    dkimKey: `${signed}${next}` || null,
  }
}

/** The waiting key signs from now on. */
export const startWaitingKey = ({ signing, waiting }: DkimKeys): DkimKeys => ({
  signing: waiting ?? signing,
  waiting: null,
})

/** Of the signing key and of the waiting one. */
export function listKeyNames(settings: DkimSettings): DkimText[] {
  const { signing, waiting } = readDkimKeys(settings)
  return [signing, waiting].flatMap((key) => (key ? { domain: key.domain, selector: key.selector } : []))
}

/** A free name for the record of a new key: eventpost, then eventpost2. `taken`: the app's own and others. */
export function proposeSelector({ signing, waiting }: DkimKeys, domain: string, taken: readonly DkimText[]): string {
  const [, name = '', count = ''] = /^(.*?)(\d{0,6})$/.exec((waiting ?? signing)?.selector ?? 'eventpost') ?? []
  const isTaken = (selector: string): boolean => taken.some((one) => isSameName(one, { domain, selector }))
  let selector = `${name}${count}`
  for (let next = Number(count || '1') + 1; isTaken(selector); next += 1) selector = `${name}${next}`
  return selector
}

export const isSameName = (one: DkimText, other: DkimText): boolean =>
  one.domain === other.domain && one.selector === other.selector

/** What DNS has of a key. */
export type PublishedDkim = DkimText & { publicKey: string }

/** null without a key that can be read. */
export function publishedOf(key: DkimKey | null): PublishedDkim | null {
  const publicKey = key && readPublicKey(key.key)
  return key && publicKey ? { domain: key.domain, selector: key.selector, publicKey } : null
}

/**
 * The public keys of a name's TXT records, '' for revoked ones (RFC 6376, section 3.6.1). A record may arrive split: a
 * text without a tag at its start, or after a semicolon, continues the one before.
 */
export function listPublished(texts: readonly string[]): string[] {
  const records: string[] = []
  for (const text of texts.map((one) => one.replaceAll(/\s/g, ''))) {
    const last = records.at(-1) ?? ''
    const isNew = /^v=/i.test(text) || (/^[a-z]=/i.test(text) && !last.endsWith(';'))
    records.push(isNew ? text : `${records.pop() ?? ''}${text}`)
  }
  return records
    .filter((record) => !/^v=(?!DKIM1;)/i.test(record))
    .flatMap((record) => Array.from(record.matchAll(/(?:^|;)p=([^;]*)/gi), ([, key = '']) => key))
}

/** Receivers may use any of several records (RFC 6376, section 3.6.2.2). */
export const isOnlyKey = (published: readonly string[], { publicKey }: PublishedDkim): boolean =>
  published.length === 1 && published[0] === publicKey

export const dkimRecord = ({ domain, selector, publicKey }: PublishedDkim): DnsRecord => ({
  name: `${selector}._domainkey.${domain}`,
  type: 'TXT',
  value: `v=DKIM1; k=rsa; p=${publicKey}`,
})

export type DnsRecord = { name: string; type: 'TXT' | 'CNAME'; value: string }
