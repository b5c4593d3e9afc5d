import { describe, expect, test } from 'bun:test'
import { addressBucket, clientAddress, foldAddress, isProxyRange } from '../../src/core/addresses.ts'
import { createRandom } from '../random.ts'

describe('foldAddress', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:2:3:4:5:6:0:8', '1:2:3:4:5:6:0:8'],
    ['1:2:3:4:5:6::8', '1:2:3:4:5:6:0:8'],
    ['::', '::'],
    ['::1', '::1'],
    ['::1.2.3.4', '::102:304'],
    ['1::', '1::'],
    ['fe80::1%eth0', 'fe80::1'],
    ['64:ff9b::203.0.113.7', '64:ff9b::cb00:7107'],
    ['', null],
    ['localhost', null],
    ['203.0.113', null],
    ['203.0.113.07', null],
    ['203.0.113.7 ', null],
    ['203.0.113.7:80', null],
    ['[::1]', null],
    ['1:2:3:4:5:6:7:8:9', null],
    ['::1::', null],
    ['g::', null],
  ])('%s is %p', (text, folded) => {
    expect(foldAddress(text)).toBe(folded)
  })
})

test('formats IPv6 addresses like a browser', () => {
  const { below } = createRandom(6)
  for (let i = 0; i < 5_000; i++) {
    const groups = Array.from({ length: 8 }, () =>
      (below(2) === 0 ? 0 : below(65_536)).toString(16).padStart(below(5), '0'),
    )
    expect(foldAddress(groups.join(':'))).toBe(new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1))
  }
})

describe('addressBucket', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2:ffff::9', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::', '2001:db8:1:3::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['no address', 'unknown'],
    ['', 'unknown'],
  ])('%s counts under %s', (address, bucket) => {
    expect(addressBucket(address)).toBe(bucket)
  })
})

describe('clientAddress', () => {
  const proxies = ['10.0.0.0/8', '192.0.2.1', 'fd00::/8', '::1']
  test.each([
    ['nobody is trusted', '203.0.113.7', '6.6.6.6', [], '203.0.113.7'],
    ['the peer is no proxy', '203.0.113.7', '6.6.6.6', proxies, '203.0.113.7'],
    ['no header', '10.0.0.1', null, proxies, '10.0.0.1'],
    ['an empty header', '10.0.0.1', '', proxies, '10.0.0.1'],
    ['one proxy', '10.0.0.1', '203.0.113.7', proxies, '203.0.113.7'],
    ['a caller who adds his own', '10.0.0.1', '6.6.6.6, 10.0.0.9, 203.0.113.7', proxies, '203.0.113.7'],
    ['two proxies', '10.0.0.1', '203.0.113.7, 192.0.2.1', proxies, '203.0.113.7'],
    ['no space', '10.0.0.1', '6.6.6.6,203.0.113.7,10.2.3.4', proxies, '203.0.113.7'],
    ['v6 proxy and client', 'fd12::1', '2001:DB8::7, fd00::2', proxies, '2001:db8::7'],
    ['v4-mapped peer', '::ffff:10.0.0.1', '203.0.113.7', proxies, '203.0.113.7'],
    ['v4-mapped entry', '10.0.0.1', '203.0.113.7, ::ffff:192.0.2.1', proxies, '203.0.113.7'],
    ['v4-mapped client', '10.0.0.1', '::ffff:203.0.113.7', proxies, '203.0.113.7'],
    ['a loopback proxy', '::1', '203.0.113.7', proxies, '203.0.113.7'],
    ['only proxies', '10.0.0.1', '10.0.0.3, 10.0.0.2', proxies, '10.0.0.3'],
    ['with a port', '10.0.0.1', '203.0.113.7:4711', proxies, '203.0.113.7'],
    ['v6 with brackets', '10.0.0.1', '[2001:db8::7]', proxies, '2001:db8::7'],
    ['v6 with brackets and port', '10.0.0.1', '[2001:db8::7]:4711', proxies, '2001:db8::7'],
    [
      'garbage from the proxy: what stands left of it is not believed',
      '10.0.0.1',
      '6.6.6.6, unknown',
      proxies,
      '10.0.0.1',
    ],
    ['garbage after a second proxy', '10.0.0.1', '6.6.6.6, _x, 10.0.0.2', proxies, '10.0.0.2'],
    ['an empty entry', '10.0.0.1', '6.6.6.6,,', proxies, '10.0.0.1'],
    ['garbage left of the client', '10.0.0.1', '<script>, 203.0.113.7', proxies, '203.0.113.7'],
    ['the mapped form of a trusted range', '::ffff:10.0.0.1', '203.0.113.7', ['::ffff:10.0.0.0/104'], '203.0.113.7'],
    [
      'an entry of the list that is no range',
      '10.0.0.1',
      '203.0.113.7',
      ['nonsense', '10.0.0.0/99', '10.0.0.1'],
      '203.0.113.7',
    ],
    ['everyone of one family', '203.0.113.1', '2001:db8::1', ['0.0.0.0/0'], '2001:db8::1'],
    ['a socket without address', '', '203.0.113.7', proxies, 'unknown'],
  ])('%s', (_, socketAddress, forwardedFor, trusted, client) => {
    expect(clientAddress(socketAddress, forwardedFor, trusted)).toBe(client)
  })

  test('follows a limited number of proxies in a header', () => {
    expect(clientAddress('10.0.0.1', `203.0.113.7${', 10.0.0.2'.repeat(10_000)}`, proxies)).toBe('10.0.0.2')
  })
})

describe('isProxyRange', () => {
  test.each([
    ['10.0.0.1', true],
    ['10.0.0.0/8', true],
    ['0.0.0.0/0', true],
    ['fd00::/8', true],
    ['::1/128', true],
    ['10.0.0.0/33', false],
    ['10.0.0.0/', false],
    ['10.0.0.0/8/8', false],
    ['10.0.0.0/-1', false],
    ['10.0.0.0/8.5', false],
    ['10.0.0.0/ 8', false],
    ['::1/129', false],
    ['proxy.internal', false],
    ['', false],
  ])('%s: %p', (text, isRange) => {
    expect(isProxyRange(text)).toBe(isRange)
  })
})
