/** Answers where no request has been looked at: while the service starts, and where it has failed altogether. */
import { expect, test } from 'bun:test'
import { unservedAnswer } from '../../src/api/answers.ts'
import { expectRefusal, no } from './expected.ts'

const read = async (response: Response) => {
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text) as Record<string, unknown>, headers: response.headers, text }
}

test('they have the shape of every refusal', async () => {
  const message = 'The service is starting. Send this again after Retry-After.'
  const early = await read(unservedAnswer({ refusal: 'unavailable', message }))
  expectRefusal(early, [503, no('unavailable', { message })])
  expect(early.headers.get('retry-after')).toBe('2')
  const failed = await read(unservedAnswer({ refusal: 'internal_error' }))
  expectRefusal(failed, [500, no('internal_error')])
  expect(failed.body.requestId).not.toBe(early.body.requestId)
})
