/** The hosts that customers own. Loads the public suffix list (124 KB of code). */
import { getPublicSuffix } from 'tldts'
import { foldHost, LOCALHOST } from '../core/domains.ts'

/**
 * Returns the lowercase ASCII host, or null. No IP addresses, no ports, and no public suffixes (`co.uk`, `github.io`),
 * which strangers share.
 */
export function readAppHost(text: string): string | null {
  const host = foldHost(text.trim())
  if (host === null || host === LOCALHOST) return host
  return getPublicSuffix(host, { allowPrivateDomains: true }) === host ? null : host
}

const PASTED = /^(?:[a-z][a-z0-9+.-]*:)?\/\/(?:[^/?#@\\]*@)?([^/?#:\\]+)(?::\d*)?(?:[/?#].*)?$/i
const BARE = /^([^/?#:@\\]+)(?::\d+)?(?:[/?#].*)?$/

/** Also accepts a pasted address such as `https://app.example.com/`. */
export function readTypedHost(text: string): string | null {
  const [, host] = PASTED.exec(text.trim()) ?? BARE.exec(text.trim()) ?? []
  return host === undefined ? null : readAppHost(host)
}

/** null without a domain. Emails link to ports only on localhost, where https is unusual. */
export function homeOfDomain(text: string): string | null {
  const host = readTypedHost(text)
  if (host !== LOCALHOST) return host === null ? null : `https://${host}`
  const url = readTypedUrl(text)
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.origin : `http://${host}`
}

/** Domains are kept without it. */
export const hasPort = (text: string): boolean => (readTypedUrl(text)?.port ?? '') !== ''

const readTypedUrl = (text: string): URL | null =>
  URL.parse(text.includes('//') ? text.trim().replace(/^\/\//, 'http://') : `http://${text.trim()}`)

/** The same few hosts are checked again and again. */
const KNOWN_HOSTS = 10_000
const knownHosts = new Map<string, boolean>()

/** A host may have become a public suffix since the app got it. */
export const ownHosts = (hosts: readonly string[]): OwnHosts => hosts.filter(isAppHost) as readonly string[] as OwnHosts

function isAppHost(host: string): boolean {
  const known = knownHosts.get(host)
  if (known !== undefined) return known
  if (knownHosts.size >= KNOWN_HOSTS) knownHosts.clear()
  const verdict = readAppHost(host) === host
  knownHosts.set(host, verdict)
  return verdict
}

declare const own: unique symbol
export type OwnHosts = readonly string[] & { readonly [own]: true }
