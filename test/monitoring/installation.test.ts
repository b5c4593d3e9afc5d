import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { keepServerFacts, readServerFacts, readUntrustedProxy } from '../../src/monitoring/installation.ts'
import { createTestServer, EVENTS, TEST_SERVER, type TestServer } from '../helper.ts'

let server: TestServer
afterEach(() => server.close())

const callFrom = async (address: string) => {
  // refusals without a key are limited by address, which is found on demand
  const headers = { 'X-Forwarded-For': '203.0.113.9' }
  await server.call('POST', EVENTS, { key: null, address, headers, body: {} })
  // it is stored after the answer, as this is after it
  const { store } = server.parts()
  await store.setMailSettings({ accountId: server.first.accountId, appId: 1, actor: 'test', at: 0, settings: {} })
  return readUntrustedProxy(server.parts().store)
}

describe('a proxy that is not trusted', () => {
  beforeEach(async () => {
    server = await createTestServer()
  })

  test('is noted for the doctor until the next start', async () => {
    expect(await callFrom('10.0.0.7')).toBe('10.0.0.7')
    const { store } = server.parts()
    await keepServerFacts(store, TEST_SERVER)
    expect([await readUntrustedProxy(store), await readServerFacts(store)]).toEqual([null, TEST_SERVER])
  })

  test('is nobody from elsewhere, because anyone can send the header', async () => {
    expect(await callFrom('8.8.8.8')).toBeNull()
  })
})

test('a trusted proxy is not noted', async () => {
  server = await createTestServer({ trustedProxies: ['10.0.0.0/8'] })
  expect(await callFrom('10.0.0.7')).toBeNull()
})
