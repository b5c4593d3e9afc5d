/** The path of a page, as browsers report it. */
import { expect, test } from 'bun:test'
import { pathOfUrl } from '../../src/visits/paths.ts'

test.each([
  ['https://example.com/results/1', '/results/1'],
  ['https://example.com/results/1/', '/results/1'],
  ['https://app.example.com', '/'],
  ['http://example.com/a//b_c~d-e', '/a//b_c~d-e'],
  ['https://example.com/results/1?ref=mail#top', '/results/1'],
  ['https://example.com/a/../b/./c', '/b/c'],
  ['https://example.com/é', '/%C3%A9'],
  ['HTTPS://Example.COM/A', '/A'],
  ['https://xn--a/', null],
  ['https://1.2.3.999/', null],
  ['https://example.com:99999/', null],
  ['mailto:ada@example.com', null],
  ['/results/1', null],
  [7, null],
])('%p', (url, path) => {
  expect(pathOfUrl(url)).toBe(path)
})

test('a long path is truncated', () => {
  expect(pathOfUrl(`https://example.com/${'a'.repeat(2_000)}`)).toBe(`/${'a'.repeat(1_023)}`)
})

/** What URLs are made of, and what breaks them. */
const PARTS =
  'http https :// / // . - -- xn-- a b2 example com de 1 127 0x7f ~ _ A %41 % ? # : 80 @ ü .. \\ [ \t'.split(' ')

test('a plain path is read like any other', () => {
  for (let sample = 0; sample < 50_000; sample += 1) {
    const at = (index: number): string =>
      PARTS[Number(Bun.hash.wyhash(`${sample} ${index}`) % BigInt(PARTS.length))] ?? ''
    const begin = sample % 2 === 0 ? 'https://example' : 'https://example.com/'
    const url = `${begin}${Array.from({ length: sample % 9 }, (_, index) => at(index)).join('')}`
    const parsed = URL.parse(url)?.pathname ?? null
    expect([url, pathOfUrl(url)]).toEqual([url, parsed && parsed.replace(/(?<=.)\/$/, '')])
  }
})
