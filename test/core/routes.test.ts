import { describe, expect, test } from 'bun:test'
import { createRouteFinder, pathOf, withWholeUrl } from '../../src/core/routes.ts'

test.each([
  ['http://a.example/b/c', '/b/c'],
  ['http://a.example/b?c=/d', '/b'],
  ['http://a.example/b#c', '/b'],
  ['http://a.example', '/'],
  ['http://a.example/', '/'],
  ['http://a.example/?b', '/'],
])('the path of %s is %s', (url, path) => {
  expect(pathOf(url)).toBe(path)
})

test('a request with a whole URL stays what it is', () => {
  const request = new Request('http://a.example/b')
  expect(withWholeUrl(request)).toBe(request)
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
