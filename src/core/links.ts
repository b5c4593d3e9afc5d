/** The link rule (messages.md): which URL of an event may become a link in a mail (spec 1.5, 6). */
import { foldDomain, foldHost, LOCALHOST } from './domains.ts'
import type { Warning } from './refusals.ts'

declare const own: unique symbol
/** Hosts of an app that are no public suffix, as ownHosts gives them: the list is in app-hosts.ts, and not loaded here. */
export type OwnHosts = readonly string[] & { readonly [own]: true }

/** Scheme, host and port as they are written. User info would be part of the host here, and no host holds an @. */
const RAW_URL = /^(https?):\/\/([^/?#:]+)(?::([1-9]\d{0,4}))?(?=[/?#]|$)/i

/** The URL parser drops tabs and newlines and reads a backslash as a slash. Whoever sends them hides something. */
const SUSPICIOUS = /[\p{Cc}\p{Z}\p{Cs}\\]/u

/**
 * The URL when mail may link to it, else null. Hosts below the app's own count too. https without an odd port; on a
 * localhost app also http, and any port.
 */
export function linkableUrl(raw: string, hosts: OwnHosts): URL | null {
  if (SUSPICIOUS.test(raw)) return null
  const [, scheme, rawHost, port] = RAW_URL.exec(raw) ?? []
  const host = rawHost === undefined ? null : foldHost(rawHost)
  if (host === null) return null
  const own = findOwner(host, hosts)
  if (own === undefined) return null
  if (own !== LOCALHOST && (scheme?.toLowerCase() !== 'https' || (port ?? '443') !== '443')) return null
  const url = URL.parse(raw)
  // Two readers of the same text must agree on where it leads, or one of them can be fooled.
  return url?.hostname === host ? url : null
}

const HTTPS = 'https://'
/** Visible ASCII without a backslash: two readers cannot differ about it. */
const PLAIN = /^[!-[\]-~]*$/

/** Whether mail may link to it. Most URLs are plain, and are judged without being taken apart. */
export const isLinkable = (raw: string, hosts: OwnHosts): boolean =>
  isPlainlyOwn(raw, hosts) || linkableUrl(raw, hosts) !== null

/** Said once, here, for every door: the event is kept, the mail will carry no link to it. `url`: null where it has none. */
export function warnOfUrl(url: string | null, hosts: OwnHosts): Warning[] {
  if (url === null || isLinkable(url, hosts)) return []
  const message = "The property `url` is not an https address on the app's own domain, so mails will not link to it."
  return [{ field: 'properties', code: 'url_not_linkable', message }]
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
