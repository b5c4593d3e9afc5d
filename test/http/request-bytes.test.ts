import { expect, test } from 'bun:test'
import { readBytes } from '../../src/http/request-input.ts'

const sent = (body: BodyInit, headers = {}): Request =>
  new Request('http://x.example/', { method: 'POST', body, headers })
const chunks = (count: number) => {
  let left = count
  return new ReadableStream({ pull: (out) => (left-- > 0 ? out.enqueue(new Uint8Array(10)) : out.close()) })
}

test('a body that says how long it is', async () => {
  expect(await readBytes(sent('1234', { 'Content-Length': '4' }), 4)).toEqual(new Uint8Array(Buffer.from('1234')))
  expect(readBytes(sent('12345', { 'Content-Length': '5' }), 4)).toBeNull()
})

test('a body that does not, which is left unread where it is too large', async () => {
  expect((await readBytes(sent(chunks(3)), 30))?.byteLength).toBe(30)
  expect(await readBytes(sent(chunks(1_000_000)), 30)).toBeNull()
})
