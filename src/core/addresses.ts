import { BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export const UNKNOWN_ADDRESS = 'unknown'

/** Longer chains are an attempt to make us parse. */
const MOST_HOPS = 32

/**
 * One spelling per address: IPv6 in lower case (RFC 5952) without zone, mapped IPv4 (`::ffff:a.b.c.d`) as IPv4. null:
 * not an address.
 */
export function foldAddress(text: string): string | null {
  const family = isIP(text)
  if (family === 4) return text
  if (family === 0) return null
  const address = readIPv6(text)
  return (address.isIPv4MappedAddress() ? address.toIPv4Address() : address).toString()
}

/** Without its zone. `::1.2.3.4` would be mistaken for `::ffff:1.2.3.4`. */
const readIPv6 = (literal: string): ipaddr.IPv6 =>
  ipaddr.IPv6.parse((literal.split('%')[0] ?? '').replace(/^::(?=\d+\.)/, '0::'))

/** An IPv4 address, or the /64 of an IPv6 address (one household). */
export function addressBucket(address: string): string {
  const folded = foldAddress(address)
  if (folded === null) return UNKNOWN_ADDRESS
  if (!folded.includes(':')) return folded
  const network = readIPv6(folded).parts.slice(0, 4)
  return `${network.map((group) => group.toString(16)).join(':')}::/64`
}

/**
 * The socket's address; behind trusted proxies, X-Forwarded-For is read from the right until the first untrusted entry.
 * Pass the same array every time: its ranges are cached.
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

export const isTrustedProxy = (socketAddress: string, trustedProxies: readonly string[]): boolean => {
  const address = foldAddress(socketAddress)
  return address !== null && trustedProxies.length > 0 && isListed(readProxies(trustedProxies), address)
}

export function isProxyRange(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || more.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}

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

/** Some proxies add a port, and brackets around IPv6. */
function readForwarded(entry: string): string | null {
  const text = entry.trim()
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(text) ?? []
  return foldAddress(bracketed ?? plain ?? text)
}

/** The canonical form of an IP address from input; null with a zone, which names an interface of the sender's machine. */
export const readIp = (text: string): string | null => (text.includes('%') ? null : foldAddress(text))
