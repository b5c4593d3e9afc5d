import { describe, expect, test } from 'bun:test'
import { createKnownHosts, isOwnOrigin } from '../../src/http/known-hosts.ts'

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

describe('isOwnOrigin', () => {
  const PUBLIC = 'https://post.example.com'
  const LOCAL = 'http://localhost:8080'
  test.each([
    // a proxy terminates TLS, so Host doesn't tell the scheme
    [PUBLIC, 'post.example.com', 'https://post.example.com', true],
    [PUBLIC, 'post.example.com:443', 'https://post.example.com', true],
    [PUBLIC, 'post.example.com:8443', 'https://post.example.com:8443', true],
    [PUBLIC, 'post.example.com', 'http://post.example.com', false],
    [PUBLIC, 'post.example.com:8080', 'http://post.example.com:8080', false],
    [PUBLIC, 'post.example.com', 'https://post.example.com:8443', false],
    [PUBLIC, 'localhost:8080', 'http://localhost:8080', true],
    [PUBLIC, 'localhost:8080', 'https://localhost:8080', false],
    [PUBLIC, 'localhost:8080', 'http://localhost:8081', false],
    [PUBLIC, 'localhost:8080', 'https://post.example.com', true],
    [PUBLIC, 'post.example.com', 'https://evil.example', false],
    [PUBLIC, 'post.example.com', 'ftp://post.example.com', false],
    [PUBLIC, 'post.example.com', 'https://post.example.com/', false],
    [PUBLIC, 'post.example.com', 'null', false],
    [PUBLIC, 'post.example.com', '', false],
    [LOCAL, 'localhost:8080', 'http://localhost:8080', true],
    [LOCAL, '127.0.0.1:8080', 'http://127.0.0.1:8080', true],
    [LOCAL, '127.0.0.1:8080', 'https://127.0.0.1:8080', false],
    [LOCAL, 'localhost:8080', 'https://localhost:8080', false],
    ['https://localhost:8443', '127.0.0.1:8443', 'https://127.0.0.1:8443', true],
    ['https://localhost:8443', '127.0.0.1:8443', 'http://127.0.0.1:8443', false],
  ])('%s, called as %s, with Origin %p: %p', (baseUrl, host, origin, isOwn) => {
    expect(isOwnOrigin(origin, baseUrl, new URL(`http://${host}`))).toBe(isOwn)
  })
})
