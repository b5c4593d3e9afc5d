import { expect, test } from 'bun:test'
import { isLiveToken, makeLiveToken } from '../../src/messages/messages.ts'
import { createTestServer } from '../helper.ts'
import { createMessaging, messageOf } from '../messaging.ts'

test('a token belongs to one message, its content, its app and this installation', async () => {
  const server = await createTestServer()
  const { app, put, store } = await createMessaging(server)
  const { id } = await put({ ...messageOf(), status: 'draft' })
  const message = await store().findMessage(app.id, id)
  if (!message) throw new Error('no message')
  const token = makeLiveToken('key', app, message)
  const is = (changes: Partial<Parameters<typeof isLiveToken>[1]>): boolean =>
    isLiveToken(token, { key: 'key', app, message, ...changes })
  const renamed = { ...message, name: 'Renamed', status: 'paused' as const }
  expect([is({}), is({ message: renamed })]).toEqual([true, true])
  expect(is({ message: { ...message, id: message.id + 1 } })).toBe(false)
  expect(is({ message: { ...message, content: { ...message.content, wait: { minutes: 0 } } } })).toBe(false)
  expect(is({ app: { ...app, publicId: 'app_other' } })).toBe(false)
  expect(is({ key: 'another' })).toBe(false)
  expect(isLiveToken('', { key: 'key', app, message })).toBe(false)
  await server.close()
})
