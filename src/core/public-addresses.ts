/** Which network addresses an app's owner may make this service connect to. */
import ipaddr from 'ipaddr.js'
import { foldHost } from './domains.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

export type PrivateHosts = { names: ReadonlySet<string>; ranges: readonly [Address, number][] }

export function readPrivateHosts(entries: readonly string[]): PrivateHosts | { wrong: string } {
  const names = new Set<string>()
  const ranges: [Address, number][] = []
  for (const entry of entries) {
    const range = readRange(entry)
    if (range) ranges.push(range)
    else if (isHostName(entry)) names.add(foldName(entry))
    else return { wrong: entry }
  }
  return { names, ranges }
}

/** As `readPrivateHosts` takes them. */
export const listPrivateHosts = ({ names, ranges }: PrivateHosts): string[] => [
  ...names,
  ...ranges.map(([network, bits]) => `${network}/${bits}`),
]

/** Private networks use names without dots: `mail`, `mail_1`. */
export const isHostName = (text: string): boolean =>
  foldHost(text) !== null || (/^[a-z][a-z0-9._-]{0,252}$/i.test(text) && !ipaddr.isValid(text))

function readRange(text: string): [Address, number] | null {
  const [address = '', prefix] = text.split('/')
  if (!isCanonical(address)) return null
  if (prefix === undefined) return [unmap(address), unmap(address).kind() === 'ipv4' ? 32 : 128]
  return ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : null
}

const isCanonical = (text: string): boolean => ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)

/** `::ffff:a.b.c.d` reaches the IPv4 address. */
const unmap = (address: string): Address => ipaddr.process(address)

const foldName = (name: string): string => name.toLowerCase().replace(/\.$/, '')

const isGlobalUnicast = (address: ipaddr.IPv6): boolean => ((address.parts[0] ?? 0) & 0xe000) === 0x2000

/** The last 32 bits are the IPv4 address reached through NAT64 (RFC 6052). */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

/** Not private, loopback, link-local or reserved. */
export function isPublicAddress(text: string): boolean {
  const address = unmap(text)
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast'
  if (address.match(NAT64)) return isPublicAddress(ipaddr.fromByteArray(address.toByteArray().slice(12)).toString())
  return isGlobalUnicast(address) && address.range() === 'unicast'
}

export function isAllowedAddress(host: string, address: string, { names, ranges }: PrivateHosts): boolean {
  if (isPublicAddress(address) || names.has(foldName(host))) return true
  const asked = unmap(address)
  return ranges.some(([network, bits]) => network.kind() === asked.kind() && asked.match(network, bits))
}

/** Never in public DNS (RFC 6761, RFC 6762, RFC 8375, ICANN's .internal). */
const PRIVATE_NAME = /\.(?:local|internal|home\.arpa|invalid)$/i

export function isRefusedHost(host: string, allowed: PrivateHosts): boolean {
  const bare = host.replace(/\.$/, '')
  if (ipaddr.isValid(bare)) return !isAllowedAddress(bare, bare, allowed)
  // with a range allowed, a private network may resolve the name into it
  if (PRIVATE_NAME.test(bare)) return allowed.ranges.length === 0 && !allowed.names.has(foldName(bare))
  return /^(?:.*\.)?localhost\.?$/i.test(host) && !isAllowedAddress(host, '127.0.0.1', allowed)
}
