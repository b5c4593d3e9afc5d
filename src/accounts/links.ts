/** The link rule: which URL of an event may become a link in a mail. */
import type { OwnHosts } from './app-hosts.ts'
import { foldDomain, foldHost, LOCALHOST } from '../core/domains.ts'
import { RESULTS_READY } from '../core/field-patterns.ts'
import type { Warning } from '../core/refusals.ts'
import { cleanText } from '../core/visible-text.ts'

/** Scheme, authority and port as they are written. User info would be part of the host here, and no host holds an @. */
const RAW_URL = /^(https?):\/\/([^/?#:]+)(?::([1-9]\d{0,4}))?(?=[/?#]|$)/i

/** The URL parser drops tabs and newlines and reads a backslash as a slash. Whoever sends them hides something. */
const SUSPICIOUS = /[\p{Cc}\p{Z}\p{Cs}\\]/u

/** Why mail does not link to a URL. */
const CAUSES = {
  empty: 'it is empty',
  characters: 'it contains a space, a control character or a backslash',
  scheme: 'it does not start with https://',
  insecure: 'it starts with http:// instead of https://',
  user: 'it contains a user name or an @ before the path',
  port: 'it names a port',
  address: 'it is not a valid URL with a domain name',
  foreign: "its domain is not one of this app's own",
} as const

type Cause = keyof typeof CAUSES

/**
 * The URL when mail may link to it, else null. Hosts below the app's own count too. https without an odd port; on a
 * localhost app also http, and any port.
 */
export function linkableUrl(raw: string, hosts: OwnHosts): URL | null {
  const judged = judgeUrl(raw, hosts)
  return typeof judged === 'string' ? null : judged
}

function judgeUrl(text: string, hosts: OwnHosts): URL | Cause {
  if (text === '') return 'empty'
  if (SUSPICIOUS.test(text)) return 'characters'
  const [, scheme, rawHost, port] = RAW_URL.exec(text) ?? []
  if (rawHost === undefined) return whyUnreadable(text)
  const host = foldHost(rawHost)
  if (host === null) return rawHost.includes('@') ? 'user' : 'address'
  const own = findOwner(host, hosts)
  if (own === undefined) return 'foreign'
  if (own !== LOCALHOST && scheme?.toLowerCase() !== 'https') return 'insecure'
  if (own !== LOCALHOST && (port ?? '443') !== '443') return 'port'
  const url = URL.parse(text)
  // Two readers of the same text must agree on where it leads, or one of them can be fooled.
  return url?.hostname === host ? url : 'address'
}

function whyUnreadable(text: string): Cause {
  const [, authority] = /^https?:\/\/([^/?#]*)/i.exec(text) ?? []
  if (authority === undefined) return 'scheme'
  return authority.includes('@') ? 'user' : 'address'
}

const HTTPS = 'https://'
/** Visible ASCII without a backslash: two readers cannot differ about it. */
const PLAIN = /^[!-[\]-~]*$/

/** Own domains that a warning names. */
const NAMED_HOSTS = 5

const TRIMMED = 'There is whitespace or a control character around `url`. Emails link to it without that.'

const NO_URL: Warning[] = [
  {
    field: 'properties',
    code: 'url_missing',
    message:
      "Send `url`, the page with the results. Without it, emails link to the app's home page, and rules about opening the results can't tell. Without `url` and `resultId`, each person gets the email once.",
  },
]

/**
 * For a `results_ready` that is stored, but whose `url` is missing, is not linked, or not as it was sent. Judges the text
 * that templates get. Most URLs are plain, and are judged without being taken apart.
 */
export function warnOfUrl({ event, url }: { event: string; url: string | null }, hosts: OwnHosts): Warning[] {
  if (url === null) return event === RESULTS_READY ? NO_URL : []
  if (isPlainlyOwn(url, hosts)) return []
  const text = cleanText(url) ?? ''
  const judged = judgeUrl(text, hosts)
  if (typeof judged === 'string') return [warnOf('url_not_linkable', describeUnlinked(judged, hosts))]
  return text === url ? [] : [warnOf('url_trimmed', TRIMMED)]
}

const warnOf = (code: string, message: string): Warning => ({ field: 'properties', code, message })

const ADD_DOMAIN =
  ' Add a domain under Settings in the dashboard, or list all of them with `eventpost app set --domain`.'

function describeUnlinked(cause: Cause, hosts: OwnHosts): string {
  const more = hosts.length > NAMED_HOSTS ? ` and ${hosts.length - NAMED_HOSTS} more` : ''
  const domains =
    hosts.length === 0
      ? 'This app has no domain of its own yet.'
      : `Emails link only to ${hosts.slice(0, NAMED_HOSTS).join(', ')}${more}, including subdomains.`
  return `Emails will not link to \`url\`: ${CAUSES[cause]}. ${domains}${cause === 'foreign' ? ADD_DOMAIN : ''}`
}

/** What stands before the first slash is a host and nothing else, in the one form it can have. */
function isPlainlyOwn(raw: string, hosts: OwnHosts): boolean {
  if (!raw.startsWith(HTTPS) || !PLAIN.test(raw)) return false
  const end = raw.indexOf('/', HTTPS.length)
  const host = raw.slice(HTTPS.length, end < 0 ? raw.length : end)
  const owner = findOwner(host, hosts)
  return owner !== undefined && (host === owner || foldDomain(host) === host)
}

/** The app's own host that this one equals or is below. */
const findOwner = (host: string, hosts: OwnHosts): string | undefined => hosts.find((one) => isPartOf(host, one))

const isPartOf = (host: string, own: string): boolean =>
  host.endsWith(own) && (host === own || host.at(-own.length - 1) === '.')
