import { describe, expect, test } from 'bun:test'
import {
  isAllowedAddress,
  isPublicAddress,
  isRefusedHost,
  type PrivateHosts,
  readPrivateHosts,
} from '../../src/core/public-addresses.ts'

function allow(...entries: string[]): PrivateHosts {
  const read = readPrivateHosts(entries)
  if ('wrong' in read) throw new Error(read.wrong)
  return read
}

describe('an address', () => {
  test.each([
    ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
    ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
    ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fdff::1', 'fec0::1']],
    ['link-local', ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1']],
    ['of a carrier’s NAT', ['100.64.0.1', '100.127.255.255']],
    ['multicast or broadcast', ['224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1']],
    [
      'reserved or for documentation',
      ['192.0.0.1', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '240.0.0.1', '2001:db8::1', '3fff::1'],
    ],
    [
      'IPv4 within IPv6',
      ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '::7f00:1', '::a00:1'],
    ],
    ['of a NAT64 gateway to one that is not public', ['64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b::10.0.0.1']],
    ['of a local NAT64 prefix', ['64:ff9b:1::1', '64:ff9b:1::8.8.8.8']],
    ['of a tunnel', ['2002:7f00:1::', '2002:808:808::1', '2001:0:808:808::1']],
    ['outside what is assigned', ['100::1', '4000::1', '5f00::1', 'e000::1']],
  ])('that is %s is not public', (_, addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([])
  })

  test('of the internet is public, also through a NAT64 gateway', () => {
    const addresses = ['8.8.8.8', '100.63.255.255', '100.128.0.1', '172.32.0.1', '::ffff:8.8.8.8', '64:ff9b::808:808']
    expect([...addresses, '2001:4860:4860::8888', '2a00::1'].every(isPublicAddress)).toBe(true)
  })
})

describe('addresses that the operator allows', () => {
  test.each([
    ['a range', '10.1.0.0/16', 'mail', '10.1.2.3', '10.2.0.1'],
    ['a range of IPv6', 'fd00:1::/32', 'mail', 'fd00:1::5', 'fd00:2::5'],
    ['an address', '10.0.0.5', 'mail', '10.0.0.5', '10.0.0.6'],
    ['an address within IPv6', '10.0.0.5', 'mail', '::ffff:10.0.0.5', '::ffff:10.0.0.6'],
  ])('%s', (_, entry, host, allowed, other) => {
    expect(isAllowedAddress(host, allowed, allow(entry))).toBe(true)
    expect(isAllowedAddress(host, other, allow(entry))).toBe(false)
  })

  test('a name with any address, without its subdomains', () => {
    const hosts = allow('Mail.Internal', 'relay')
    expect(isAllowedAddress('mail.internal.', '10.0.0.5', hosts)).toBe(true)
    expect(isAllowedAddress('relay', '127.0.0.1', hosts)).toBe(true)
    expect(isAllowedAddress('x.mail.internal', '10.0.0.5', hosts)).toBe(false)
  })

  test('only public addresses if nothing is listed', () => {
    expect(isAllowedAddress('mail.example.com', '8.8.8.8', allow())).toBe(true)
    expect(isAllowedAddress('mail.example.com', '10.0.0.5', allow())).toBe(false)
  })

  test.each(['', '10.0.0.0/33', '10.1', '127.1', 'fd00::/200', 'a b', 'https://mail.internal', '10.0.0.0/8/8'])(
    'not %p',
    (entry) => {
      expect(readPrivateHosts([entry])).toEqual({ wrong: entry })
    },
  )
})

test('recognizes a private host without a lookup', () => {
  const hosts = [
    '127.1',
    '0x7f.1',
    '2130706433',
    '017700000001',
    '0',
    '0.0.0.0',
    '::ffff:127.0.0.1',
    '::1',
    'localhost',
  ]
  expect([...hosts, 'LOCALHOST.', 'mail.localhost'].filter((host) => !isRefusedHost(host, allow()))).toEqual([])
  const others = ['mail.example.com', '8.8.8.8', '1.1', 'localhost.example.com', '']
  expect(others.filter((host) => isRefusedHost(host, allow()))).toEqual([])
  expect(isRefusedHost('127.1', allow('127.0.0.0/8'))).toBe(false)
  expect(isRefusedHost('localhost', allow('localhost'))).toBe(false)
  const never = ['10.0.0.1.', 'mail.internal', 'relay.local.', 'mail.home.arpa', 'mail.invalid']
  expect(never.filter((host) => !isRefusedHost(host, allow()))).toEqual([])
  expect(never.filter((host) => isRefusedHost(host, allow(...never.slice(1), '10.0.0.0/8')))).toEqual([])
  expect(isRefusedHost('mail.internal', allow('10.0.0.0/8'))).toBe(false)
})
