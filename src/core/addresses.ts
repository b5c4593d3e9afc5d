import { BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Stands for a caller whose address cannot be told: a closed socket, for one. All of them share what is counted. */
export const UNKNOWN_ADDRESS = 'unknown'

/** Proxies in a row that are believed. More is a caller who wants us to read for him. */
const MOST_HOPS = 32

/**
 * The one text of an IP literal: IPv4 as it is, IPv6 in lower case and shortened (RFC 5952) without zone, IPv4 inside
 * IPv6 (`::ffff:a.b.c.d`) as IPv4. Null for what is no literal.
 */
export function foldAddress(text: string): string | null {
  const family = isIP(text)
  if (family === 4) return text
  if (family === 0) return null
  const address = readIPv6(text)
  return (address.isIPv4MappedAddress() ? address.toIPv4Address() : address).toString()
}

/** Without its zone, which is a name of the caller's own. `::1.2.3.4` would be taken for `::ffff:1.2.3.4`. */
const readIPv6 = (literal: string): ipaddr.IPv6 =>
  ipaddr.IPv6.parse((literal.split('%')[0] ?? '').replace(/^::(?=\d+\.)/, '0::'))

/** Under what a caller without a key is counted: an IPv4 address, or the /64 of an IPv6 one, which is one household's. */
export function addressBucket(address: string): string {
  const folded = foldAddress(address)
  if (folded === null) return UNKNOWN_ADDRESS
  if (!folded.includes(':')) return folded
  const network = readIPv6(folded).parts.slice(0, 4)
  return `${network.map((group) => group.toString(16)).join(':')}::/64`
}

/**
 * The caller's address, folded: the socket's, unless that is a trusted proxy; then X-Forwarded-For from the right, past
 * the trusted ones. An entry that cannot be read ends the walk at the proxy that sent it, since whatever
 * stands left of it may have been written by the caller. `trustedProxies` are addresses or CIDR ranges of either family;
 * others than these trust nobody. Pass the same array every time: its ranges are read once.
 */
export function clientAddress(
  socketAddress: string,
  forwardedFor: string | null,
  trustedProxies: readonly string[],
): string {
  let client = foldAddress(socketAddress)
  if (client === null) return UNKNOWN_ADDRESS
  if (forwardedFor === null || trustedProxies.length === 0) return client
  const proxies = readProxies(trustedProxies)
  let end = forwardedFor.length
  for (let hop = 0; hop < MOST_HOPS && end >= 0 && isListed(proxies, client); hop++) {
    const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1)
    const before = readForwarded(forwardedFor.slice(comma + 1, end))
    if (before === null) return client
    client = before
    end = comma
  }
  return client
}

/** Whether X-Forwarded-For is believed when it comes from this socket. */
export const isTrustedProxy = (socketAddress: string, trustedProxies: readonly string[]): boolean => {
  const address = foldAddress(socketAddress)
  return address !== null && trustedProxies.length > 0 && isListed(readProxies(trustedProxies), address)
}

/** Whether a text can stand in `trustedProxies`: an IP literal, or one with a prefix length. */
export function isProxyRange(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || more.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}

/** What each array of ranges means, read once: building a list takes longer than the question that is put to it. */
const listOfRanges = new WeakMap<readonly string[], BlockList>()

function readProxies(ranges: readonly string[]): BlockList {
  const known = listOfRanges.get(ranges)
  if (known) return known
  const list = new BlockList()
  for (const range of ranges.filter(isProxyRange)) {
    const [address = '', prefix] = range.split('/')
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  listOfRanges.set(ranges, list)
  return list
}

const isListed = (list: BlockList, address: string): boolean =>
  address.includes(':')
    ? list.check(address, 'ipv6')
    : list.check(address, 'ipv4') || list.check(`::ffff:${address}`, 'ipv6')

/** One entry of X-Forwarded-For; some proxies add the port, and then brackets around IPv6. */
function readForwarded(entry: string): string | null {
  const text = entry.trim()
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(text) ?? []
  return foldAddress(bracketed ?? plain ?? text)
}
