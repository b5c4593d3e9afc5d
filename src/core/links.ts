/** The link rule (messages.md): which URL of an event may become a link in a mail (spec 1.5, 6). */
import { getPublicSuffix } from 'tldts'
import { foldDomain } from './domains.ts'

const LOCALHOST = 'localhost'

/** Scheme, host and port as they are written. User info would be part of the host here, and no host holds an @. */
const RAW_URL = /^(https?):\/\/([^/?#:]+)(?::([1-9]\d{0,4}))?(?=[/?#]|$)/i

/** The URL parser drops tabs and newlines and reads a backslash as a slash. Whoever sends them hides something. */
const SUSPICIOUS = /[\p{Cc}\p{Z}\p{Cs}\\]/u

/**
 * The lowercase ASCII form of a host that a customer may call their own, or null: a domain with a dot, or `localhost`
 * for trying things out. No IP address, no port, and no public suffix (`co.uk`, `github.io`, `vercel.app`), under which
 * strangers have their sites.
 */
export function readAppHost(text: string): string | null {
  const host = foldHost(text.trim())
  if (host === null || host === LOCALHOST) return host
  return getPublicSuffix(host, { allowPrivateDomains: true }) === host ? null : host
}

/** What stands before and behind the host in an address that was copied from a browser. */
const PASTED = /^(?:[a-z][a-z0-9+.-]*:)?\/\/(?:[^/?#@\\]*@)?([^/?#:\\]+)(?::\d*)?(?:[/?#].*)?$/i
const BARE = /^([^/?#:@\\]+)(?::\d+)?(?:[/?#].*)?$/

/** The same of what somebody typed or pasted, `https://app.example.com/` too; null where there is no such host in it. */
export function readTypedHost(text: string): string | null {
  const [, host] = PASTED.exec(text.trim()) ?? BARE.exec(text.trim()) ?? []
  return host === undefined ? null : readAppHost(host)
}

/** Verdicts kept, because every event with a URL asks about the same few hosts. */
const KNOWN_HOSTS = 10_000
const knownHosts = new Map<string, boolean>()

/** Whether `host` is already in the form that readAppHost gives. */
export function isAppHost(host: string): boolean {
  const known = knownHosts.get(host)
  if (known !== undefined) return known
  if (knownHosts.size >= KNOWN_HOSTS) knownHosts.clear()
  const verdict = readAppHost(host) === host
  knownHosts.set(host, verdict)
  return verdict
}

/**
 * The URL when mail may link to it, else null. `hosts` are the app's own, as readAppHost gives them; hosts below them
 * count too. https without an odd port; on a localhost app also http, and any port.
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
function findOwner(host: string, hosts: readonly string[]): string | undefined {
  for (const one of hosts) if (isPartOf(host, one) && isAppHost(one)) return one
  return undefined
}

const isPartOf = (host: string, own: string): boolean =>
  host.endsWith(own) && (host === own || host.at(-own.length - 1) === '.')

const foldHost = (text: string): string | null => {
  const lower = text.toLowerCase()
  return lower === LOCALHOST ? lower : foldDomain(lower)
}
