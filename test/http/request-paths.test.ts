import { describe, expect, test } from 'bun:test'
import { createPlaceFinder, createRouteFinder, pathOf } from '../../src/http/request-paths.ts'

/** As received, whatever was in Host. */
const withUrl = (url: string): Request =>
  Object.defineProperty(new Request('http://x'), 'url', { value: url, configurable: true })

test.each([
  ['http://a.example/b/c', '/b/c'],
  ['http://a.example/b?c=/d', '/b'],
  ['http://a.example/b#c', '/b#c'],
  ['http://a.example', '/'],
  ['http://a.example/', '/'],
  ['http://a.example/?b', '/'],
  ['/b/c?d', '/b/c'],
])('the path of %s is %s', (url, path) => {
  expect(pathOf(url)).toBe(path)
})

test.each([
  ['/b/c?d', 'http://nameless.invalid/b/c?d'],
  ['http://a:99999/b?c=/d', 'http://nameless.invalid/b?c=/d'],
  ['http://1.2.3.999/b', 'http://nameless.invalid/b'],
  ['http://[::1/b', 'http://nameless.invalid/b'],
  ['http://a%zz', 'http://nameless.invalid/'],
  ['http://a.example/b', 'http://a.example/b'],
  ['http://127.0.0.1:8080/b?c', 'http://127.0.0.1:8080/b?c'],
])('a request for %s has the URL %s, whatever came before', (url, whole) => {
  const find = createPlaceFinder(() => null)
  for (const before of ['http://a.example/', 'http://a.example:99999/', 'http://a.example/b', url]) {
    find(withUrl(before))
    const request = withUrl(url)
    find(request)
    expect(request.url).toBe(whole)
  }
})

test('each request has its own place, whatever came before', () => {
  const find = createPlaceFinder(createRouteFinder(['/b', '/d/:e']))
  const cases: [url: string, path: string, route: string | null][] = [
    ['http://a.example/b', '/b', '/b'],
    ['http://a.example/bc', '/bc', null],
    ['http://a.example/b?c', '/b', '/b'],
    ['http://a.example/c?b', '/c', null],
    ['http://a.example/d/1', '/d/1', '/d/:e'],
    ['http://a.example/d/2', '/d/2', '/d/:e'],
    ['http://a.example/', '/', null],
    ['http://a.example', '/', null],
    ['http://a:99999/b', '/b', '/b'],
    ['http://b.example/b', '/b', '/b'],
    ['/b', '/b', '/b'],
    ['/', '/', null],
  ]
  const all = Array.from({ length: 300 }, (_, index) =>
    cases.map(([url, ...place]) => [url.replace('b.example', `b${index}.example`), ...place] as const),
  )
  for (const [url, path, route] of [...cases.toReversed(), ...all.flat()])
    expect([url, find(withUrl(url))]).toEqual([url, { path, route }])
})

test('caches only URLs of programs, without queries', () => {
  const asked: string[] = []
  const find = createPlaceFinder((path) => {
    asked.push(path)
    return path === '/b' || path === '/d/1' ? path.replace('/d/1', '/d/:e') : null
  })
  const urls = ['http://a.example/b', 'http://a.example/b?c=/b', 'http://a.example/d/1', 'http://a.example/c', '/b']
  for (const url of [...urls, ...urls]) find(withUrl(url))
  expect(asked).toEqual(['/b', '/b', '/d/1', '/c', '/b', '/b', '/d/1', '/c', '/b'])
})

describe('the route of a path', () => {
  const find = createRouteFinder(['/', '/apps/:app', '/apps/new', '/apps/:app/:page', '/apps/:app/keys'])
  test.each([
    ['/', '/'],
    ['/apps/new', '/apps/new'],
    ['/apps/app_1', '/apps/:app'],
    ['/apps/app_1/keys', '/apps/:app/keys'],
    ['/apps/app_1/people', '/apps/:app/:page'],
    ['/apps', null],
    ['/apps/app_1/', null],
    ['/apps/app_1/keys/new', null],
  ])('%s: %s', (path, route) => {
    expect(find(path)).toBe(route)
  })
})
