import { foldDomain, foldHost } from './domains.ts'
import { isLoopback } from './mail-addresses.ts'
import { cleanText } from './visible-text.ts'

/** As written. Matches no user info: no host contains an @. */
const RAW_URL = /^https?:\/\/([^/?#:]+)(?::[1-9]\d{0,4})?(?=[/?#]|$)/i

type UnreadableCause = 'scheme' | 'user' | 'address'

/** `hostname`: lowercase ASCII, as the app's own hosts are stored. */
export type ReadUrl = Pick<URL, 'protocol' | 'hostname' | 'host' | 'port' | 'pathname' | 'hash'>

/** Every reader of a URL that a customer sends uses this one, so that links, rules and deduplication agree. */
export function readUrl(text: string): URL | UnreadableCause {
  const [, rawHost] = RAW_URL.exec(text) ?? []
  if (rawHost === undefined) return whyUnreadable(text)
  const host = foldHost(rawHost)
  if (host === null) return rawHost.includes('@') ? 'user' : 'address'
  const url = URL.parse(text)
  // Two parsers that read different hosts could be fooled.
  return url?.hostname === host ? url : 'address'
}

const PLAIN_URL = /^https:\/\/([a-z0-9.-]+)(\/[\w~/-]*)?$/

/** Most URLs: cleaning and parsing would not change them, and would take ten times as long. */
export function readPlainUrl(text: string): ReadUrl | null {
  const [, host, pathname = '/'] = PLAIN_URL.exec(text) ?? []
  if (host === undefined || foldDomain(host) !== host) return null
  return { protocol: 'https:', hostname: host, host, port: '', pathname, hash: '' }
}

function whyUnreadable(text: string): UnreadableCause {
  const [, authority] = /^https?:\/\/([^/?#]*)/i.exec(text) ?? []
  if (authority === undefined) return 'scheme'
  return authority.includes('@') ? 'user' : 'address'
}

/** The browser script cuts paths at this length. */
const PATH_CHARACTERS = 1_024

/** A route of a single-page app, which the browser script doesn't report. */
const HASH_ROUTE = /^#!?\//

/** `path`: as the browser script reports it; null for a route after `#`. `key`: the same for all spellings. */
export type Page = { host: string; path: string | null; key: string }

/** The page of a URL, which need not be linkable. Null without a domain name. */
export function readPage(raw: string): Page | null {
  const url = readPlainUrl(raw) ?? readUrl(cleanText(raw) ?? '')
  if (typeof url === 'string') return null
  const { pathname, hash } = url
  const isRoute = HASH_ROUTE.test(hash)
  return {
    host: url.hostname,
    path: isRoute ? null : trimSlash(pathname.slice(0, PATH_CHARACTERS)),
    key: `https://${url.host}${trimSlash(pathname)}${isRoute ? withoutQuery(hash) : ''}`,
  }
}

/** Queries and fragments change with each link; a fragment that is a route (`#/results/1`) stays. */
export const pageKeyOf = (raw: string): string => readPage(raw)?.key ?? keyOfText(cleanText(raw) ?? '')

function keyOfText(text: string): string {
  const [page = '', fragment = ''] = text.split('#', 2)
  return withoutQuery(page) + (HASH_ROUTE.test(`#${fragment}`) ? `#${withoutQuery(fragment)}` : '')
}

const withoutQuery = (text: string): string => text.split('?', 1)[0] ?? ''

/** Sites may serve a page with and without the trailing slash. */
export const trimSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path)

/** Whether emails with this unsubscribe link have one-click headers: they need https (RFC 8058), or loopback for tests. */
export function hasOneClick(unsubscribeUrl: string): boolean {
  const { protocol, hostname } = new URL(unsubscribeUrl)
  return protocol === 'https:' || isLoopback(hostname)
}
