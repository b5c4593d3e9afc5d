import { expect, test } from 'bun:test'
import { retryDelay, SERVER_RETRY_MS } from '../../src/mail/marks.ts'

const MINUTE = 60_000

test('after 1, 5 and 15 minutes, 1, 4 and 8 hours, then every 8 hours', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 50].map(
    (attempt) => retryDelay(attempt, { isServerFault: false, spread: 0 }) / MINUTE,
  )
  expect(delays).toEqual([1, 5, 15, 60, 240, 480, 480, 480])
})

test('after at most 15 minutes if the server is at fault', () => {
  const delays = [1, 2, 3, 4, 50].map((attempt) => retryDelay(attempt, { isServerFault: true, spread: 0 }))
  expect(delays).toEqual([MINUTE, 5 * MINUTE, SERVER_RETRY_MS, SERVER_RETRY_MS, SERVER_RETRY_MS])
})
