import { expect, test } from 'bun:test'
import { COSTLY_CALL_LIMIT, takeCostly } from '../../src/accounts/costly-calls.ts'
import { createTestServer } from '../helper.ts'
import { RETURNED_LATE_MS } from '../postgres/test-databases.ts'

test('limits apply per key and kind of call', async () => {
  const server = await createTestServer()
  const parts = server.parts()
  const [one, other] = [await parts.access.find(server.first.apiKey), await parts.access.find(server.second.apiKey)]
  if (!one || !other) throw new Error('no key')
  for (let taken = 0; taken < COSTLY_CALL_LIMIT.max; taken += 1) expect(await takeCostly(parts, one, 'a')).toBeNull()
  expect(await takeCostly(parts, one, 'a')).toMatchObject({
    refusal: 'rate_limited',
    message: expect.stringContaining('has reached its limit of 20 calls of this kind per minute'),
    limited: { scope: 'key', keyId: one.key.id, limit: COSTLY_CALL_LIMIT.max, retryAfter: 60 },
  })
  expect([await takeCostly(parts, one, 'b'), await takeCostly(parts, other, 'a')]).toEqual([null, null])
  server.clock.tick(COSTLY_CALL_LIMIT.windowMs + RETURNED_LATE_MS)
  expect(await takeCostly(parts, one, 'a')).toBeNull()
  await server.close()
})
