import { describe, expect, test } from 'bun:test'
import { pageKeyOf, readPage } from '../../src/core/urls.ts'
import { cleanText } from '../../src/core/visible-text.ts'

describe('the page of a URL', () => {
  const SPELLINGS = [
    'https://example.com/r/1',
    'https://example.com/r/1/',
    'HTTPS://Example.COM/r/1',
    'https://example.com:443/r/1',
    'http://example.com/r/1',
    'https://example.com/r/1?utm_source=mail',
    'https://example.com/r/1#top',
    'https://example.com/x/../r/./1',
    ' https://example.com/r/1',
    'https://example.com/r/1/ ',
    'https://example.com/r/1\n',
    '\u0000https://example.com/r/1\u0085',
    '\u202ahttps://example.com/r/1\u202c',
  ]
  test.each(SPELLINGS)('is one in all spellings: %j', (url) => {
    expect(readPage(url)).toEqual({ host: 'example.com', path: '/r/1', key: 'https://example.com/r/1' })
    expect(pageKeyOf(url)).toBe('https://example.com/r/1')
  })

  test.each([
    ['https://app.example.com', '/', 'https://app.example.com/'],
    ['https://example.com/a//b_c~d-e', '/a//b_c~d-e', 'https://example.com/a//b_c~d-e'],
    ['https://example.com/é', '/%C3%A9', 'https://example.com/%C3%A9'],
    ['https://example.com/a b', '/a%20b', 'https://example.com/a%20b'],
    ['https://example.com:8443/r/1', '/r/1', 'https://example.com:8443/r/1'],
    ['http://localhost:3000/r/1', '/r/1', 'https://localhost:3000/r/1'],
    ['https://bücher.de/r/1', '/r/1', 'https://xn--bcher-kva.de/r/1'],
    ['https://example.com/app?a#/r/1?b', null, 'https://example.com/app#/r/1'],
    ['https://example.com/#!/r/1', null, 'https://example.com/#!/r/1'],
  ])('%s', (url, path, key) => {
    const page = readPage(url)
    expect([page?.path, page?.key]).toEqual([path, key])
  })

  test.each([
    ['https://xn--a/', 'https://xn--a/'],
    ['https://1.2.3.999/x?y', 'https://1.2.3.999/x'],
    ['https://example.com:99999/', 'https://example.com:99999/'],
    ['https://user@example.com/x', 'https://user@example.com/x'],
    ['https://example.com./x', 'https://example.com./x'],
    ['mailto:ada@example.com', 'mailto:ada@example.com'],
    [' /results/1?a#b ', '/results/1'],
    ['/app?a#/r/1?b', '/app#/r/1'],
    ['', ''],
    [' \n', ''],
  ])('is unknown without a domain name: %j', (url, key) => {
    expect(readPage(url)).toBeNull()
    expect(pageKeyOf(url)).toBe(key)
  })

  test('has a path that is cut like in the browser, and an uncut key', () => {
    const url = `https://example.com/${'a'.repeat(2_000)}`
    expect(readPage(url)).toEqual({ host: 'example.com', path: `/${'a'.repeat(1_023)}`, key: url })
  })

  /** What URLs are made of, and what breaks them. */
  const PARTS =
    'http https :// / // . - -- xn-- a b2 example com de 1 127 0x7f ~ _ A %41 % ? # : 80 @ ü .. \\ [ \t'.split(' ')

  test('is that of the URL parser, or there is none', () => {
    let read = 0
    for (let sample = 0; sample < 50_000; sample += 1) {
      const at = (index: number): string =>
        PARTS[Number(Bun.hash.wyhash(`${sample} ${index}`) % BigInt(PARTS.length))] ?? ''
      const begin = sample % 2 === 0 ? 'https://example.com' : 'https://example.com/'
      const url = `${begin}${Array.from({ length: sample % 9 }, (_, index) => at(index)).join('')}`
      const page = readPage(url)
      if (page === null) continue
      read += 1
      const { hostname, pathname, hash } = new URL(cleanText(url) ?? '')
      const path = /^#!?\//.test(hash) ? null : pathname.replace(/(?<=.)\/$/, '')
      expect([url, page.host, page.path]).toEqual([url, hostname, path])
    }
    expect(read).toBeGreaterThan(25_000)
  })
})
