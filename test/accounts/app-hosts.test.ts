import { describe, expect, test } from 'bun:test'
import { ownHosts, readAppHost, readTypedHost } from '../../src/accounts/app-hosts.ts'

describe('readAppHost', () => {
  test.each([
    ['example.com', 'example.com'],
    [' Example.COM\n', 'example.com'],
    ['app.example.co.uk', 'app.example.co.uk'],
    ['Bücher.de', 'xn--bcher-kva.de'],
    ['me.github.io', 'me.github.io'],
    ['shop.internal', 'shop.internal'],
    ['localhost', 'localhost'],
    ['LOCALHOST', 'localhost'],
    ['www.ck', 'www.ck'],
  ])('%j is %j', (text, host) => {
    expect(readAppHost(text)).toBe(host)
    expect([...ownHosts([host])]).toEqual([host])
  })
  test.each([
    '',
    '.',
    'com',
    'co.uk',
    'github.io',
    'vercel.app',
    's3.amazonaws.com',
    'foo.ck',
    'рф',
    'xn--p1ai',
    'intranet',
    'localhost.',
    'localhost:3000',
    'example.com:443',
    'https://example.com',
    'example.com/',
    'user@example.com',
    '*.example.com',
    '.example.com',
    'example.com.',
    'exa mple.com',
    'a_b.example.com',
    '-a.example.com',
    'example..com',
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '[::1]',
    '::1',
    'a,example.com',
    'exa%6dple.com',
    'exam\u00adple.com',
    'xn--a.com',
  ])('%j is null', (text) => {
    expect(readAppHost(text)).toBeNull()
  })
})

describe('readTypedHost reads the host of', () => {
  test.each([
    'app.example.com',
    ' https://app.example.com/ ',
    'HTTPS://App.Example.com',
    'http://app.example.com:8080/a?b=https://evil.example#c',
    '//app.example.com/a',
    'app.example.com/a/b',
    'app.example.com:443',
    'https://ada:secret@app.example.com/a@b',
  ])('%s', (text) => {
    expect(readTypedHost(text)).toBe('app.example.com')
  })

  test.each([
    '',
    'https://',
    'https:///app.example.com',
    'javascript:alert(1)',
    'mailto:ada@app.example.com',
    'ada@app.example.com',
    'https://127.0.0.1/',
    'https://github.io/ada',
    'https://app.example.com\\@evil.example/',
    'app.example.com b.example.com',
  ])('nothing: %s', (text) => {
    expect(readTypedHost(text)).toBeNull()
  })
})

test('ownHosts are the valid hosts that no one else owns, in order, whatever was asked before', () => {
  const stored = ['app.example.com', 'Example.com', 'bücher.de', 'github.io', 'me.github.io', 'co.uk', '', 'localhost']
  for (let round = 0; round < 2; round += 1)
    expect([...ownHosts(stored)]).toEqual(['app.example.com', 'me.github.io', 'localhost'])
})
