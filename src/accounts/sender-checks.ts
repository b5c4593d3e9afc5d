import { isIP } from 'node:net'
import {
  dkimRecord,
  type DkimSettings,
  type DnsRecord,
  isOnlyKey,
  listPublished,
  type PublishedDkim,
  publishedOf,
  readDkimKeys,
  SIGNED_HEADERS,
} from './dkim.ts'
import { type MailProvider, providerOfHost } from './mail-providers.ts'
import type { SeenMail, SeenSignature } from './received-mail.ts'
import { isPublicAddress } from '../core/public-addresses.ts'
import { registeredDomain } from '../core/registered-domain.ts'
import { hasOneClick } from '../core/urls.ts'

/** TXT records of a name, each joined. Empty: none; null: no answer. Injected, because this module opens no sockets. */
export type ResolveTxt = (name: string) => Promise<string[] | null>
/** Where a CNAME record points; null: there is none, or no answer. */
export type ResolveCname = (name: string) => Promise<string | null>

export type Dns = { resolveTxt: ResolveTxt; resolveCname: ResolveCname }

/** `unasked`: DNS didn't respond. `unseen`: only a received email tells. */
export type SenderCheck = {
  about: 'SPF' | 'DKIM' | 'New DKIM key' | 'Return path' | 'DMARC' | 'One-click'
  state: 'good' | 'caution' | 'bad' | 'unasked' | 'unchecked' | 'unseen'
  /** the domain has no such record */
  isAbsent?: true
  sentence: string
  record: DnsRecord | null
}

/**
 * `server`: the outgoing mail host. `dkim`: null when Eventpost doesn't sign. `nextDkim`: waits for its record before it
 * signs. `seen`: in the last received email that a member pasted. `hasOneClick`: emails have the headers.
 */
export type CheckedSender = {
  domain: string
  server: string | null
  dkim: PublishedDkim | null
  nextDkim: PublishedDkim | null
  seen: SeenMail | null
  hasOneClick: boolean
}

/** `host`: of the mail server or API, which signs by itself. */
type SenderRoute = { from: { address: string } | null; host: string | null; isApi: boolean }

/** `emails`: all addresses of the app. `received`: by domain. */
type CheckedApp = { emails: readonly string[]; received: ReadonlyMap<string, SeenMail>; baseUrl: string }

/** One for each domain that the app sends from, the default one first. */
export function listCheckedSenders(
  { from, host, isApi }: SenderRoute,
  settings: DkimSettings,
  { emails, received, baseUrl }: CheckedApp,
): CheckedSender[] {
  const domains = [from?.address, ...emails].flatMap((email) => email?.split('@')[1] ?? [])
  const { signing, waiting } = isApi ? { signing: null, waiting: null } : readDkimKeys(settings)
  return [...new Set(domains)].map((domain) => ({
    domain,
    server: host,
    dkim: publishedOf(signing),
    nextDkim: publishedOf(waiting),
    seen: received.get(domain) ?? null,
    hasOneClick: hasOneClick(baseUrl),
  }))
}

/** Its DNS records. */
export function checkSender(dns: Dns, sender: CheckedSender): Promise<SenderCheck[]> {
  const { nextDkim } = sender
  return Promise.all([
    checkSpf(dns.resolveTxt, sender),
    ...(isFirstKey(sender) ? [] : [checkDkim(dns, sender)]),
    ...(nextDkim === null ? [] : [checkNextDkim(dns.resolveTxt, nextDkim, sender)]),
    checkReturnPath(dns, sender),
    checkDmarc(dns.resolveTxt, sender),
  ])
}

/** Whether the mail server signs, as far as that is known. */
const isSignedByServer = (sender: CheckedSender): boolean =>
  findProviderOf(sender) !== null || listAligned(sender).length > 0

const listAligned = ({ domain, seen }: CheckedSender): SeenSignature[] =>
  seen?.signatures.filter((one) => isAligned(one.domain, domain)) ?? []

/** The new key is the only one: nobody signs yet. */
const isFirstKey = (sender: CheckedSender): boolean =>
  sender.dkim === null && sender.nextDkim !== null && !isSignedByServer(sender)

/** What each record is for, and what its check depends on. */
const RECORDS = {
  SPF: { sentence: 'Lists the servers that may send for the domain.', reads: ['domain', 'server', 'seen'] },
  DKIM: { sentence: 'Publishes the key that emails are signed with.', reads: ['domain', 'server', 'dkim', 'seen'] },
  'New DKIM key': {
    sentence: 'Signs emails once this record is found.',
    reads: ['domain', 'server', 'dkim', 'nextDkim', 'seen'],
  },
  'Return path': {
    sentence: "Where bounces go. SPF counts for DMARC only if this is on the sender's domain.",
    reads: ['domain', 'server', 'seen'],
  },
  DMARC: { sentence: 'Tells receivers what to do with emails that fail SPF and DKIM.', reads: ['domain'] },
} as const satisfies Partial<
  Record<SenderCheck['about'], { sentence: string; reads: readonly (keyof CheckedSender)[] }>
>

/** Before the records are looked up. Those of keys are known. */
export function listUnchecked(sender: CheckedSender): SenderCheck[] {
  const { dkim, nextDkim } = sender
  const names = (Object.keys(RECORDS) as (keyof typeof RECORDS)[]).filter((about) =>
    about === 'DKIM' ? !isFirstKey(sender) : about !== 'New DKIM key' || nextDkim !== null,
  )
  return names.map((about) => {
    const key = about === 'DKIM' ? dkim : about === 'New DKIM key' ? nextDkim : null
    return { about, state: 'unchecked', sentence: RECORDS[about].sentence, record: key && dkimRecord(key) }
  })
}

/** What is still known after the sender changed: checks of what stayed. */
export function keepChecks(checks: SenderCheck[], before: CheckedSender, now: CheckedSender): SenderCheck[] {
  // earlier versions stored no `nextDkim`
  const isSame = (name: keyof CheckedSender): boolean =>
    JSON.stringify(before[name] ?? null) === JSON.stringify(now[name])
  return listUnchecked(now).map((unchecked) => {
    const { about } = unchecked
    const known = checks.find((check) => check.about === about)
    return known && about !== 'One-click' && RECORDS[about].reads.every(isSame) ? known : unchecked
  })
}

/** `checkedAt`: ms UTC. */
export type LastCheck = { checks: SenderCheck[]; checkedAt: number }

export const isUnknown = ({ state }: SenderCheck): boolean => state === 'unasked' || state === 'unchecked'

/** Checks that ask for a change. Without a return path of one's own, DKIM is enough. */
export const isMissing = ({ about, state, record }: SenderCheck): boolean =>
  state === 'bad' || (state === 'caution' && record !== null && about !== 'Return path')

const unasked = (about: SenderCheck['about'], name: string): SenderCheck => ({
  about,
  state: 'unasked',
  sentence: `DNS didn't respond for ${name}. Try again later, or check the network of the Eventpost server.`,
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

/** Receivers look at the domain to which an email bounces. */
async function checkSpf(resolve: ResolveTxt, { domain: ofSender, server, seen }: CheckedSender): Promise<SenderCheck> {
  const domain = seen?.bounceDomain ?? ofSender
  if (!isAligned(domain, ofSender)) {
    const sentence = `Bounces go to ${domain}, so receivers check the SPF record there, not the one at ${ofSender}.`
    return { about: 'SPF', state: 'good', sentence, record: null }
  }
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
    const sentence = `The SPF record for ${domain} lets anyone send emails from this domain. End the record with ~all or -all.`
    return { about: 'SPF', state: 'bad', sentence, record: null }
  }
  if (provider?.spf && !record.toLowerCase().split(/\s+/).includes(provider.spf)) {
    const words = record.split(/\s+/).filter((word) => word !== '')
    const end = words.findIndex((word) => /^[-~?]all$/i.test(word))
    const value = words.toSpliced(end < 0 ? words.length : end, 0, provider.spf).join(' ')
    const sentence = `The SPF record for ${domain} doesn't include ${provider.name}. Replace it with this one.`
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
    const sentence = `${missing} Your mail server is on a private network, so its public address is unknown. Add this record with that address, or your email provider's record.`
    const value = 'v=spf1 ip4:YOUR_PUBLIC_ADDRESS ~all'
    return { ...absent, state: 'bad', sentence, record: { name: domain, type: 'TXT', value } }
  }
  const sentence = provider === null ? `${missing} Add this one, or your email provider's.` : `${missing} Add this one.`
  return { ...absent, state: 'bad', sentence, record: { name: domain, type: 'TXT', value: `v=spf1 ${term} ~all` } }
}

async function checkDkim(dns: Dns, sender: CheckedSender): Promise<SenderCheck> {
  const { domain, dkim } = sender
  if (dkim === null) return checkKeyOfProvider(dns, sender)
  const record = dkimRecord(dkim)
  const [found, target] = await Promise.all([dns.resolveTxt(record.name), dns.resolveCname(record.name)])
  if (found === null) return unasked('DKIM', record.name)
  const published = listPublished(found)
  if (published.length === 0) {
    const sentence =
      target === null
        ? 'The key is not published yet. Add this record.'
        : `${record.name} is a CNAME to ${target}, which has no key. Replace it with this record.`
    return { about: 'DKIM', isAbsent: true, state: 'bad', sentence, record }
  }
  if (!isOnlyKey(published, dkim)) {
    const [other] = published
    const sentence =
      published.length > 1
        ? describeSeveral(published, dkim)
        : `The published key is not the signing key. ${other === '' ? REPLACE_IT : REPLACE_UNUSED}`
    return { about: 'DKIM', state: 'bad', sentence, record }
  }
  if (!isAligned(dkim.domain, domain)) {
    const sentence = `Emails are signed for ${dkim.domain} but sent from ${domain}, so the signature doesn't count for DMARC.`
    return { about: 'DKIM', state: 'caution', sentence, record: null }
  }
  const sentence = `The signing key is published${target === null ? '' : `, as a CNAME to ${target}`}.`
  return { about: 'DKIM', state: 'good', sentence, record: null }
}

const REPLACE_IT = 'Replace it with this record.'
/** Other apps and mail servers of the domain may sign with it. */
const REPLACE_UNUSED =
  'If another app or mail server signs with the published key, create a key with another selector here. Otherwise, replace it with this record.'

function describeSeveral(published: readonly string[], key: PublishedDkim): string {
  const several = `${dkimRecord(key).name} has ${published.length} DKIM records, so receivers may use the wrong one.`
  const advice = published.includes(key.publicKey)
    ? 'Remove the others and keep this one. If another app or mail server signs with one of them, create a key with another selector here instead.'
    : 'If another app or mail server signs with one of them, create a key with another selector here. Otherwise, replace them with this record.'
  return `${several} ${advice}`
}

/** It signs once it is found. */
async function checkNextDkim(resolve: ResolveTxt, next: PublishedDkim, sender: CheckedSender): Promise<SenderCheck> {
  const record = dkimRecord(next)
  const found = await resolve(record.name)
  if (found === null) return { ...unasked('New DKIM key', record.name), record }
  const published = listPublished(found)
  const check = { about: 'New DKIM key', state: isFirstKey(sender) ? 'bad' : 'caution', record } as const
  if (published.length === 0) {
    const sentence = `Not found yet. Add this record. ${describeSigner(sender)} until the record is found.`
    return { ...check, isAbsent: true, sentence }
  }
  if (isOnlyKey(published, next))
    return {
      ...check,
      state: 'good',
      sentence: 'Published. Emails are signed with it after the next check.',
      record: null,
    }
  if (published.length > 1)
    return { ...check, sentence: `${describeSeveral(published, next)} ${describeSigner(sender)} until then.` }
  const [other] = published
  const sentence =
    other === ''
      ? `A revoked key is published at ${record.name}. ${REPLACE_IT}`
      : `Another key is published at ${record.name}. ${REPLACE_UNUSED}`
  return { ...check, sentence }
}

/** While a new key waits. */
function describeSigner(sender: CheckedSender): string {
  if (sender.dkim !== null) return 'The current key signs emails'
  if (!isSignedByServer(sender)) return "Eventpost doesn't sign emails"
  return `Only ${findProviderOf(sender)?.name ?? 'your email provider'} signs emails`
}

/** The keys that DNS has at the name of a key. */
export const findPublished = async (resolve: ResolveTxt, key: PublishedDkim): Promise<string[]> =>
  listPublished((await resolve(dkimRecord(key).name)) ?? [])

/** It isn't revoked. */
const hasKey = (texts: readonly string[]): boolean => listPublished(texts).some((key) => key !== '')

/** The usual names of the keys of providers that sign, as their documentation shows them. */
const SELECTORS: ReadonlyMap<string, readonly string[]> = new Map([
  ['resend', ['resend']],
  ['sendgrid', ['s1', 's2']],
  ['mailgun', ['pdk1', 'pdk2', 'k1', 'mx', 'pic', 'smtp']],
  ['brevo', ['brevo1', 'brevo2', 'mail']],
  ['google', ['google']],
  ['fastmail', ['fm1', 'fm2', 'fm3']],
])

/** The provider signs, so the key is found by a received email, or by its usual names. */
async function checkKeyOfProvider(dns: Dns, sender: CheckedSender): Promise<SenderCheck> {
  const { domain, seen } = sender
  const provider = findProviderOf(sender)
  const show = provider === null ? 'your email provider shows' : `${provider.name} shows`
  const add = `Add the DKIM record that ${show} for ${domain}.`
  const aligned = listAligned(sender)
  if (seen && aligned.length === 0) {
    const others = seen.signatures.map((one) => one.domain)
    const sentence =
      others.length === 0
        ? `The received email was not signed. ${add}`
        : `The received email was signed only for ${others.join(', ')}, which doesn't count for DMARC. ${add}`
    return { about: 'DKIM', state: others.length === 0 ? 'bad' : 'caution', sentence, record: null }
  }
  const usual = SELECTORS.get(provider?.id ?? '') ?? []
  const names = seen
    ? aligned.map(({ selector, domain: signed }) => `${selector}._domainkey.${signed}`)
    : usual.map((selector) => `${selector}._domainkey.${domain}`)
  const records = await Promise.all(names.map(dns.resolveTxt))
  const name = names.find((_, index) => hasKey(records[index] ?? []))
  if (name !== undefined) return describeFoundKey(dns, name, seen !== null)
  if (records.includes(null)) return unasked('DKIM', names[records.indexOf(null)] ?? domain)
  if (seen) {
    const have = names.length === 1 ? 'has no key' : 'have no keys'
    const sentence = `The received email was signed with ${names.join(', ')}, which ${have}. ${add}`
    return { about: 'DKIM', state: 'bad', sentence, record: null }
  }
  if (provider === null) {
    const sentence = "Eventpost doesn't sign emails. Create a DKIM key, unless your email provider signs them."
    return { about: 'DKIM', state: 'caution', sentence, record: null }
  }
  const sentence = `${provider.name} signs emails itself, and only a received email shows its key. ${add}`
  return { about: 'DKIM', state: 'unseen', sentence, record: null }
}

async function describeFoundKey({ resolveCname }: Dns, name: string, isSeen: boolean): Promise<SenderCheck> {
  const target = await resolveCname(name)
  const what = isSeen ? `The received email was signed with ${name}` : `The key ${name} is published`
  const sentence = `${what}${target === null ? '' : `, ${isSeen ? '' : 'as '}a CNAME to ${target}`}.`
  return { about: 'DKIM', state: 'good', sentence, record: null }
}

const findProviderOf = ({ server }: CheckedSender): MailProvider | null =>
  server === null ? null : providerOfHost(server)

/** They leave the return path as it is: the sender's own address. */
const KEEP_RETURN_PATH: readonly (string | undefined)[] = [undefined, 'google', 'fastmail']

async function checkReturnPath(dns: Dns, sender: CheckedSender): Promise<SenderCheck> {
  const { domain, seen } = sender
  const provider = findProviderOf(sender)
  const own = provider && (await findOwnReturnPath(dns, domain, provider))
  const bounceDomain = seen?.bounceDomain ?? own?.domain ?? null
  if (bounceDomain === null && KEEP_RETURN_PATH.includes(provider?.id)) {
    const sentence = `Bounces go to the sender's own address at ${domain}.`
    return { about: 'Return path', state: 'good', sentence, record: null }
  }
  if (bounceDomain !== null && isAligned(bounceDomain, domain)) {
    const sentence = `Bounces go to ${bounceDomain}, which belongs to ${organisationOf(domain)}, so SPF counts for DMARC.`
    return { about: 'Return path', state: 'good', sentence, record: null }
  }
  const record = own?.record ?? null
  const name = provider?.name ?? 'Your provider'
  const add = record
    ? `Add this record, then verify it at ${name}.`
    : `${name} shows records for a bounce domain of your own.`
  if (bounceDomain !== null || record) {
    const where = bounceDomain ?? `${provider?.name ?? 'your provider'}'s own domain`
    const sentence = `Bounces go to ${where}, so SPF doesn't count for DMARC, and DKIM must pass. ${add}`
    return { about: 'Return path', state: 'caution', sentence, record }
  }
  const sentence = `${name} chooses where bounces go. A received email shows where.`
  return { about: 'Return path', state: 'unseen', sentence, record: null }
}

type OwnReturnPath = { domain: string | null; record: DnsRecord | null }

/** By the names that providers propose: https://postmarkapp.com/support/article/910 and https://resend.com/docs/dashboard/domains */
async function findOwnReturnPath(dns: Dns, domain: string, { id }: MailProvider): Promise<OwnReturnPath | null> {
  if (id === 'postmark') {
    const record: DnsRecord = { name: `pm-bounces.${domain}`, type: 'CNAME', value: 'pm.mtasv.net' }
    const isSet = (await dns.resolveCname(record.name))?.toLowerCase() === record.value
    return isSet ? { domain: record.name, record: null } : { domain: null, record }
  }
  if (id !== 'resend') return null
  const name = `send.${domain}`
  const isSet = (await dns.resolveTxt(name))?.some((text) => /^v=spf1 .*include:amazonses\.com/i.test(text))
  return isSet ? { domain: name, record: null } : null
}

const ONE_CLICK = ['list-unsubscribe', 'list-unsubscribe-post'] as const

/** Headers of emails, not a DNS record. Gmail and Yahoo ask for them (RFC 8058). */
export function checkOneClick({ domain, dkim, seen, hasOneClick }: CheckedSender): SenderCheck {
  const check = (state: SenderCheck['state'], sentence: string): SenderCheck => ({
    about: 'One-click',
    state,
    sentence,
    record: null,
  })
  if (!hasOneClick)
    return check(
      'caution',
      "Emails have no unsubscribe headers, because the public address doesn't start with https://.",
    )
  if (dkim !== null && ONE_CLICK.every((name) => SIGNED_HEADERS.includes(name)) && isAligned(dkim.domain, domain))
    return check('good', 'Lifecycle emails have List-Unsubscribe and List-Unsubscribe-Post, signed by Eventpost.')
  if (seen === null)
    return check(
      'unseen',
      'Lifecycle emails have List-Unsubscribe and List-Unsubscribe-Post. A received email shows whether they are signed.',
    )
  if (!seen.hasOneClick)
    return check(
      'unseen',
      'The received email has no List-Unsubscribe-Post header. Use a test email or a lifecycle email.',
    )
  const covers = ({ domain: signed, coversOneClick }: SeenSignature): boolean =>
    coversOneClick && isAligned(signed, domain)
  return seen.signatures.some(covers)
    ? check('good', 'List-Unsubscribe and List-Unsubscribe-Post were signed in the received email.')
    : check(
        'bad',
        `No signature from ${domain} in the received email covers List-Unsubscribe and List-Unsubscribe-Post.`,
      )
}

/** For DMARC, in its relaxed mode (RFC 7489, section 3.1). */
export const isAligned = (one: string, other: string): boolean => organisationOf(one) === organisationOf(other)

const organisationOf = (domain: string): string => registeredDomain(domain) ?? domain

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
      none: 'are handled like others',
      quarantine: 'go to the spam folder',
      reject: 'are refused',
    }),
  )
  const done = words.get(policy.toLowerCase())
  if (done === undefined) {
    const sentence = `The DMARC record ${name} has no valid policy. Replace it with this one.`
    return { about: 'DMARC', state: 'bad', sentence, record: { name, type: 'TXT', value: 'v=DMARC1; p=none' } }
  }
  return {
    about: 'DMARC',
    state: 'good',
    sentence: `Emails that fail DMARC ${done}, according to ${name}.`,
    record: null,
  }
}

/** In a sentence. */
export const nameChecks = (checks: readonly SenderCheck[]): string =>
  new Intl.ListFormat('en').format(checks.map(({ about }) => (about === 'New DKIM key' ? 'the new DKIM key' : about)))
