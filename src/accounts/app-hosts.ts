/** The hosts that customers call their own; the list of public suffixes is loaded with this file (124 KB of code). */
import { getPublicSuffix } from 'tldts'
import { foldHost, LOCALHOST } from '../core/domains.ts'

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

/** Verdicts kept, because it is always the same few hosts that are asked about. */
const KNOWN_HOSTS = 10_000
const knownHosts = new Map<string, boolean>()

/** Those that may be an app's own, for the link rule: a suffix may have become public since the app was given it. */
export const ownHosts = (hosts: readonly string[]): OwnHosts => hosts.filter(isAppHost) as readonly string[] as OwnHosts

/** Whether `host` is already in the form that readAppHost gives. */
function isAppHost(host: string): boolean {
  const known = knownHosts.get(host)
  if (known !== undefined) return known
  if (knownHosts.size >= KNOWN_HOSTS) knownHosts.clear()
  const verdict = readAppHost(host) === host
  knownHosts.set(host, verdict)
  return verdict
}

declare const own: unique symbol
/** Hosts of an app that are no public suffix, as ownHosts gives them. */
export type OwnHosts = readonly string[] & { readonly [own]: true }
