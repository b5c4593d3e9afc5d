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

export function readPublicKey(pem: string): string | null {
  try {
    return createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'der' }).toString('base64')
  } catch {
    return null
  }
}

/** null when the app doesn't sign. */
export function readDkimKey({ dkimDomain: domain, dkimSelector: selector, dkimKey }: DkimSettings) {
  const publicKey = dkimKey === null ? null : readPublicKey(dkimKey)
  if (domain === null || selector === null || publicKey === null) return null
  return { domain, selector, publicKey, record: dkimRecord({ domain, selector }, publicKey) }
}

export type DkimSettings = Pick<MailSettings, 'dkimDomain' | 'dkimSelector' | 'dkimKey'>

/** TXT records may arrive split into several strings. */
export const publishesKey = (records: string[], publicKey: string): boolean =>
  `${records.join('').replaceAll(/\s/g, '')};`.includes(`p=${publicKey};`)

export const dkimRecord = ({ domain, selector }: DkimText, publicKey: string): DnsRecord => ({
  name: `${selector}._domainkey.${domain}`,
  type: 'TXT',
  value: `v=DKIM1; k=rsa; p=${publicKey}`,
})

export type DnsRecord = { name: string; type: 'TXT' | 'CNAME'; value: string }
