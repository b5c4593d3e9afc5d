/** The link rule (messages.md): which URL of an event may become a link in a mail (spec 1.5, 6). */
import { foldDomain, foldHost, LOCALHOST } from './domains.ts'

/** Scheme, host and port as they are written. User info would be part of the host here, and no host holds an @. */
const RAW_URL = /^(https?):\/\/([^/?#:]+)(?::([1-9]\d{0,4}))?(?=[/?#]|$)/i

/** The URL parser drops tabs and newlines and reads a backslash as a slash. Whoever sends them hides something. */
const SUSPICIOUS = /[\p{Cc}\p{Z}\p{Cs}\\]/u

/**
 * The URL when mail may link to it, else null. `hosts` are the app's own, as ownHosts gives them (app-hosts.ts);
 * hosts below them count too. https without an odd port; on a localhost app also http, and any port.
 */
export function linkableUrl(raw: string, hosts: readonly string[]): URL | null {
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
export const isLinkable = (raw: string, hosts: readonly string[]): boolean =>
  isPlainlyOwn(raw, hosts) || linkableUrl(raw, hosts) !== null

/** What stands before the first slash is a host and nothing else, in the one form it can have. */
function isPlainlyOwn(raw: string, hosts: readonly string[]): boolean {
  if (!raw.startsWith(HTTPS) || !PLAIN.test(raw)) return false
  const end = raw.indexOf('/', HTTPS.length)
  const host = raw.slice(HTTPS.length, end < 0 ? raw.length : end)
  const owner = findOwner(host, hosts)
  return owner !== undefined && (host === owner || foldDomain(host) === host)
}

/** The app's own host that this one equals or is below. */
const findOwner = (host: string, hosts: readonly string[]): string | undefined =>
  hosts.find((one) => isPartOf(host, one))

const isPartOf = (host: string, own: string): boolean =>
  host.endsWith(own) && (host === own || host.at(-own.length - 1) === '.')
