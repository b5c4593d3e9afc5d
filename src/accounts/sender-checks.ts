import { isIP } from 'node:net'
import { getDomain } from 'tldts'
import { dkimRecord, type DkimSettings, type DkimText, type DnsRecord, publishesKey, readDkimKey } from './dkim.ts'
import { type MailProvider, providerOfHost } from './mail-providers.ts'
import { isPublicAddress } from '../core/public-addresses.ts'

/** TXT records of a name, each joined. Empty: none; null: no answer. Injected, because this module opens no sockets. */
export type ResolveTxt = (name: string) => Promise<string[] | null>

export type SenderCheck = {
  about: 'SPF' | 'DKIM' | 'DMARC'
  state: 'good' | 'caution' | 'bad' | 'unasked' | 'unchecked'
  /** the domain has no such record */
  isAbsent?: true
  sentence: string
  record: DnsRecord | null
}

/** `server` is the outgoing mail host; `publicKey` is null when the app doesn't sign. */
export type CheckedSender = {
  domain: string
  server: string | null
  dkim: (DkimText & { publicKey: string }) | null
}

/** null without a sender address. `host`: of the mail server or API. */
export function findCheckedSender(
  { from, host }: { from: { address: string } | null; host: string | null },
  settings: DkimSettings,
): CheckedSender | null {
  const domain = from?.address.split('@')[1]
  if (domain === undefined) return null
  return { domain, server: host, dkim: readDkimKey(settings) }
}

export function checkSender(resolve: ResolveTxt, sender: CheckedSender): Promise<SenderCheck[]> {
  return Promise.all([checkSpf(resolve, sender), checkDkim(resolve, sender), checkDmarc(resolve, sender)])
}

const unchecked = (about: SenderCheck['about'], sentence: string): SenderCheck => ({
  about,
  state: 'unchecked',
  sentence,
  record: null,
})

export const UNCHECKED: Readonly<Record<SenderCheck['about'], SenderCheck>> = {
  SPF: unchecked('SPF', 'Lists the servers that may send for the domain.'),
  DKIM: unchecked('DKIM', 'Publishes the key that emails are signed with.'),
  DMARC: unchecked('DMARC', 'Tells receivers what to do with emails that fail both.'),
}

/** What each check depends on. */
const READ: Readonly<Record<SenderCheck['about'], readonly (keyof CheckedSender)[]>> = {
  SPF: ['domain', 'server'],
  DKIM: ['domain', 'server', 'dkim'],
  DMARC: ['domain'],
}

/** What is still known after the sender changed: checks of what stayed. null: nothing. */
export function keepChecks(checks: SenderCheck[], before: CheckedSender, now: CheckedSender): SenderCheck[] | null {
  const isSame = (name: keyof CheckedSender): boolean => JSON.stringify(before[name]) === JSON.stringify(now[name])
  if (!isSame('domain')) return null
  return checks.map((check) => (READ[check.about].every(isSame) ? check : UNCHECKED[check.about]))
}

/** `checkedAt`: ms UTC. */
export type LastCheck = { checks: SenderCheck[]; checkedAt: number }

export const isUnknown = ({ state }: SenderCheck): boolean => state === 'unasked' || state === 'unchecked'

/** Checks that ask for a change in the DNS. */
export const isMissing = ({ state, record }: SenderCheck): boolean =>
  state === 'bad' || (state === 'caution' && record !== null)

const unasked = (about: SenderCheck['about'], name: string): SenderCheck => ({
  about,
  state: 'unasked',
  sentence: `DNS gave no answer for ${name}. Check this machine's network, then try again.`,
  record: null,
})

/** Names that only private networks resolve (RFC 6761, RFC 6762, RFC 9476). */
const LOCAL_NAME = /^[^.]+\.?$|\.(?:localhost|local|internal|lan|home\.arpa|test|invalid)\.?$/i

/** RFC 7208. null for hosts that receivers can't look up. */
function spfTerm(server: string): string | null {
  const host = server.replace(/^\[(.*)\]$/, '$1')
  const version = isIP(host)
  if (version === 0) return LOCAL_NAME.test(host) ? null : `a:${host}`
  return isPublicAddress(host) ? `ip${version}:${host}` : null
}

async function checkSpf(resolve: ResolveTxt, { domain, server }: CheckedSender): Promise<SenderCheck> {
  const found = await resolve(domain)
  if (found === null) return unasked('SPF', domain)
  const records = found.filter((text) => /^v=spf1(?: |$)/i.test(text))
  const [record] = records
  const provider = server === null ? null : providerOfHost(server)
  if (record === undefined) return describeMissingSpf(domain, server, provider)
  if (records.length > 1) {
    const sentence = `${domain} has ${records.length} SPF records, so receivers ignore them. Merge them into one.`
    return { about: 'SPF', state: 'bad', sentence, record: null }
  }
  if (/(?:^|\s)\+?all(?:\s|$)/i.test(record)) {
    const sentence = `The SPF record of ${domain} lets anyone send emails in its name. End it with ~all or -all.`
    return { about: 'SPF', state: 'bad', sentence, record: null }
  }
  if (provider?.spf && !record.toLowerCase().split(/\s+/).includes(provider.spf)) {
    const words = record.split(/\s+/).filter((word) => word !== '')
    const end = words.findIndex((word) => /^[-~?]all$/i.test(word))
    const value = words.toSpliced(end < 0 ? words.length : end, 0, provider.spf).join(' ')
    const sentence = `The SPF record of ${domain} doesn't include ${provider.name}. Replace it with this one.`
    return { about: 'SPF', state: 'bad', sentence, record: { name: domain, type: 'TXT', value } }
  }
  const ending = provider?.spf ? `It includes ${provider.name}.` : 'Check that it includes your mail server.'
  const sentence = `${domain} has an SPF record: ${record}. ${ending}`
  return { about: 'SPF', state: 'good', sentence, record: null }
}

function describeMissingSpf(domain: string, server: string | null, provider: MailProvider | null): SenderCheck {
  const missing = `${domain} has no SPF record.`
  const absent = { about: 'SPF', isAbsent: true } as const
  if (provider !== null && provider.spf === null) {
    const sentence = `${missing} ${provider.name} doesn't need one here. Add the records that it shows for your domain.`
    return { about: 'SPF', state: 'caution', sentence, record: null }
  }
  const term = provider?.spf ?? (server === null ? 'mx' : spfTerm(server))
  if (term === null) {
    const sentence = `${missing} Your mail server is on a private network, so its public address is unknown. Add a record with that address, such as v=spf1 ip4:203.0.113.5 ~all, or your email provider's record.`
    return { ...absent, state: 'bad', sentence, record: null }
  }
  const sentence = provider === null ? `${missing} Add this one, or your email provider's.` : `${missing} Add this one.`
  return { ...absent, state: 'bad', sentence, record: { name: domain, type: 'TXT', value: `v=spf1 ${term} ~all` } }
}

async function checkDkim(resolve: ResolveTxt, { domain, server, dkim }: CheckedSender): Promise<SenderCheck> {
  if (dkim === null) {
    const provider = server === null ? null : providerOfHost(server)
    const sentence = provider?.api
      ? `${provider.name} signs emails itself. Add the DKIM record that it shows for your domain.`
      : 'Emails are not signed. Create a key pair, unless your email provider signs them.'
    return { about: 'DKIM', state: 'caution', sentence, record: null }
  }
  const record = dkimRecord(dkim, dkim.publicKey)
  const found = await resolve(record.name)
  if (found === null) return unasked('DKIM', record.name)
  if (!found.some((text) => /(?:^|;)\s*p=/i.test(text))) {
    const sentence = 'The key is not published yet. Add this record.'
    return { about: 'DKIM', isAbsent: true, state: 'bad', sentence, record }
  }
  if (!publishesKey(found, dkim.publicKey)) {
    const sentence = 'The published key is not the signing key. Replace it with this record.'
    return { about: 'DKIM', state: 'bad', sentence, record }
  }
  if (organisationOf(dkim.domain) !== organisationOf(domain)) {
    const sentence = `Emails are signed for ${dkim.domain} but sent from ${domain}, so the signature doesn't count for DMARC.`
    return { about: 'DKIM', state: 'caution', sentence, record: null }
  }
  return { about: 'DKIM', state: 'good', sentence: 'The signing key is published.', record: null }
}

const organisationOf = (domain: string): string => getDomain(domain) ?? domain

/** Of the domain, else of its registered domain (RFC 7489). */
async function checkDmarc(resolve: ResolveTxt, { domain }: CheckedSender): Promise<SenderCheck> {
  const names = [...new Set([domain, organisationOf(domain)])].map((one) => `_dmarc.${one}`)
  for (const name of names) {
    const found = await resolve(name)
    if (found === null) return unasked('DMARC', name)
    const record = found.find((text) => /^v=DMARC1\b/i.test(text))
    if (record) return describeDmarc(name, record)
  }
  const record: DnsRecord = { name: `_dmarc.${domain}`, type: 'TXT', value: 'v=DMARC1; p=none' }
  const sentence = `${domain} has no DMARC record, so receivers don't know what to do with forged emails. Start with this one.`
  return { about: 'DMARC', isAbsent: true, state: 'caution', sentence, record }
}

function describeDmarc(name: string, record: string): SenderCheck {
  const [, policy = ''] = /;\s*p=\s*(\w+)/i.exec(record) ?? []
  const words = new Map<string, string>(
    Object.entries({
      none: 'are only reported',
      quarantine: 'go to the spam folder',
      reject: 'are refused',
    }),
  )
  const done = words.get(policy.toLowerCase())
  if (done === undefined) {
    const sentence = `The DMARC record ${name} has no policy. Replace it with this one.`
    return { about: 'DMARC', state: 'bad', sentence, record: { name, type: 'TXT', value: 'v=DMARC1; p=none' } }
  }
  return {
    about: 'DMARC',
    state: 'good',
    sentence: `Emails that fail DMARC ${done}, according to ${name}.`,
    record: null,
  }
}
