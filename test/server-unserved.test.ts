/** Answers where no request has been looked at: while the service starts, and where it has failed altogether. */
import { expect, test } from 'bun:test'
import { createUnserved } from '../src/server.ts'
import { expectRefusal, no } from './api/expected.ts'

const unserved = createUnserved('http://localhost:8080')

const read = async (response: Response) => {
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text) as Record<string, unknown>, headers: response.headers, text }
}
const early = (path: string) => read(unserved.early(new Request(`http://localhost:8080${path}`, { method: 'POST' })))

test('have the format of every refusal', async () => {
  const message = 'Eventpost is starting. Wait for the time in Retry-After, then send this again.'
  const starting = await early('/api/v1/events')
  expectRefusal(starting, [503, no('unavailable', { message })])
  expect(starting.headers.get('retry-after')).toBe('2')
  const failed = await read(unserved.fault())
  expectRefusal(failed, [500, no('internal_error')])
  expect(failed.body.requestId).not.toBe(starting.body.requestId)
})

test('a page can read the answer to its report', async () => {
  const shown = ({ headers }: { headers: Headers }) => [
    headers.get('access-control-allow-origin'),
    headers.get('access-control-expose-headers'),
  ]
  expect(shown(await early('/c?x'))).toEqual(['*', 'Retry-After'])
  expect(shown(await read(unserved.fault()))).toEqual(['*', 'Retry-After'])
  expect(shown(await early('/api/v1/events'))).toEqual([null, null])
})

test('while the server starts, it is alive but not ready', async () => {
  const { status, body } = await early('/healthz')
  expect([status, body]).toEqual([200, { ok: true }])
  const ready = await early('/readyz')
  expect(ready.status).toBe(503)
  expect(ready.body).toEqual({
    ok: false,
    reason: 'Eventpost is starting. The log shows the progress of an upgrade.',
  })
})
