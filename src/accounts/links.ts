import type { OwnHosts } from './app-hosts.ts'
import { LOCALHOST } from '../core/domains.ts'
import { RESULTS_READY } from '../core/field-patterns.ts'
import type { Warning } from '../core/refusals.ts'
import { type ReadUrl, readPlainUrl, readUrl } from '../core/urls.ts'
import { cleanText } from '../core/visible-text.ts'

/** The URL parser drops tabs and newlines and reads backslashes as slashes, so emails don't link to these. */
const SUSPICIOUS = /[\p{Cc}\p{Z}\p{Cs}\\]/u

const CAUSES = {
  empty: 'it is empty',
  characters: 'it contains a space, a control character or a backslash',
  scheme: 'it does not start with https://',
  insecure: 'it starts with http:// instead of https://',
  user: 'it contains a username or an @ before the path',
  port: 'it contains a port',
  address: 'it is not a valid URL with a domain name',
  foreign: "it isn't on one of this app's domains",
} as const

type Cause = keyof typeof CAUSES

/** Subdomains of the app's hosts count. Requires https and the default port, except on localhost. */
export function linkableUrl(raw: string, hosts: OwnHosts): URL | null {
  const checked = checkUrl(raw, hosts)
  return typeof checked === 'string' ? null : checked
}

function checkUrl(text: string, hosts: OwnHosts): URL | Cause {
  if (text === '') return 'empty'
  if (SUSPICIOUS.test(text)) return 'characters'
  const read = readUrl(text)
  return typeof read === 'string' ? read : (whyUnlinked(read, hosts) ?? read)
}

function whyUnlinked({ hostname, protocol, port }: ReadUrl, hosts: OwnHosts): Cause | null {
  const own = findOwner(hostname, hosts)
  if (own === undefined) return 'foreign'
  if (own === LOCALHOST) return null
  if (protocol !== 'https:') return 'insecure'
  return port === '' ? null : 'port'
}

const NAMED_HOSTS = 5

const TRIMMED = '`url` begins or ends with whitespace or a control character. Emails link to the trimmed URL.'

const NO_URL: Warning[] = [
  {
    field: 'properties',
    code: 'url_missing',
    message:
      "Send `url`, the page with the results. Without it, emails link to the app's home page, and rules about opening the result can't be checked. Without `url` and `resultId`, each person gets the email once.",
  },
]

/** Warns about a `results_ready` whose `url` is missing, not linked or changed. */
export function warnOfUrl({ event, url }: { event: string; url: string | null }, hosts: OwnHosts): Warning[] {
  if (url === null) return event === RESULTS_READY ? NO_URL : []
  const plain = readPlainUrl(url)
  if (plain && whyUnlinked(plain, hosts) === null) return []
  const text = cleanText(url) ?? ''
  const checked = checkUrl(text, hosts)
  if (typeof checked === 'string') return [warnOf('url_not_linkable', describeUnlinked(checked, hosts))]
  return text === url ? [] : [warnOf('url_trimmed', TRIMMED)]
}

const warnOf = (code: string, message: string): Warning => ({ field: 'properties', code, message })

const LIST = new Intl.ListFormat('en')

const ADD_DOMAIN = ' Add the domain in Settings, or set all domains with `eventpost app set --domain`.'

function describeUnlinked(cause: Cause, hosts: OwnHosts): string {
  const more = hosts.length - NAMED_HOSTS
  const named = more > 0 ? `${hosts.slice(0, NAMED_HOSTS).join(', ')} and ${more} more` : LIST.format(hosts)
  const domains =
    hosts.length === 0 ? 'This app has no domains yet.' : `Emails link only to ${named}, including subdomains.`
  return `Emails don't link to \`url\`: ${CAUSES[cause]}. ${domains}${cause === 'foreign' ? ADD_DOMAIN : ''}`
}

/** Subdomains of the app's hosts count. */
export const isOwnHost = (host: string, hosts: readonly string[]): boolean => findOwner(host, hosts) !== undefined

const findOwner = (host: string, hosts: readonly string[]): string | undefined =>
  hosts.find((one) => isPartOf(host, one))

const isPartOf = (host: string, own: string): boolean =>
  host.endsWith(own) && (host === own || host.at(-own.length - 1) === '.')
