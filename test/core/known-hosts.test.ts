import { describe, expect, test } from 'bun:test'
import { createKnownHosts, isOwnOrigin } from '../../src/core/known-hosts.ts'

const asked = (host: string): Request => new Request('http://x.example/', { headers: { Host: host } })

describe('createKnownHosts', () => {
  test.each([
    ['https://post.example.com', '0.0.0.0', 'post.example.com', true],
    ['https://post.example.com', '0.0.0.0', 'post.example.com:443', true],
    ['https://post.example.com', '0.0.0.0', 'localhost', false],
    ['https://post.example.com', '127.0.0.1', 'localhost:8080', true],
    ['https://post.example.com', '::1', '[::1]:8080', true],
    ['http://localhost:8080', undefined, '127.0.0.1:8080', true],
    ['http://localhost:8080', undefined, 'evil.example', false],
    ['http://localhost:8080', undefined, 'localhost.evil.example', false],
    ['http://localhost:8080', undefined, 'localhost@evil.example', false],
    ['http://localhost:8080', undefined, 'evil.example/localhost', false],
  ])('%s, bound to %s, called as %s: %p', (baseUrl, host, called, isKnown) => {
    expect(createKnownHosts({ baseUrl, host })(asked(called)) !== null).toBe(isKnown)
  })
})

test.each([
  ['https://post.example.com', true],
  ['http://localhost:8080', true],
  ['http://localhost:8081', false],
  ['https://evil.example', false],
  ['null', false],
  ['', false],
])('isOwnOrigin: %p is %p', (origin, isOwn) => {
  expect(isOwnOrigin(origin, 'https://post.example.com', new URL('http://localhost:8080'))).toBe(isOwn)
})
