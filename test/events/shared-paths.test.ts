import { expect, test } from 'bun:test'
import { createSharedPaths } from '../../src/events/shared-paths.ts'

const [ADA, BOB] = ['ada@example.com', 'bob@example.com']
const ONE = { appId: 1, email: ADA, url: 'https://a.example/results?id=1' }

test.each([
  ['another query of another person', { email: BOB, url: 'https://a.example/results?id=2' }, 1],
  ['the same page, spelled otherwise', { email: BOB, url: 'https://a.example/results/?id=2' }, 1],
  ['the same person again', { url: 'https://a.example/results?id=2' }, 0],
  ['the same result of another person', { email: BOB }, 0],
  ['another path', { email: BOB, url: 'https://a.example/results/2?id=2' }, 0],
  ['another app', { appId: 2, email: BOB, url: 'https://a.example/results?id=2' }, 0],
  ['no query', { email: BOB, url: 'https://a.example/results' }, 0],
  ['no URL', { email: BOB, url: null }, 0],
])('after a result with a query, %s', (_, next, warnings) => {
  const paths = createSharedPaths()
  expect(paths.warn(ONE)).toEqual([])
  expect(paths.warn({ ...ONE, ...next })).toHaveLength(warnings)
})

test('the oldest pages are forgotten', () => {
  const paths = createSharedPaths()
  for (let page = 0; page <= 10_000; page += 1) paths.warn({ ...ONE, url: `https://a.example/${page}?id=1` })
  expect(paths.warn({ ...ONE, email: BOB, url: 'https://a.example/0?id=2' })).toEqual([])
  expect(paths.warn({ ...ONE, email: BOB, url: 'https://a.example/10000?id=2' })).toHaveLength(1)
})
