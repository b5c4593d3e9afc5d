import { expect, mock, spyOn, test } from 'bun:test'
import zlib from 'node:zlib'
import { createPackedAnswer } from '../../src/http/packed-answer.ts'

const TEXT = 'A line of text.\n'.repeat(20_000)
const ask = (encoding: string) => new Request('https://post.example.com/', { headers: { 'Accept-Encoding': encoding } })

test.each([
  ['br', zlib.brotliDecompressSync],
  ['gzip', zlib.gunzipSync],
  ['', (bytes: Uint8Array) => Buffer.from(bytes)],
] as const)('unpacked from %p it is the text', async (encoding, unpack) => {
  const response = await createPackedAnswer(() => TEXT)(ask(encoding), {})
  expect(response.headers.get('content-encoding')).toBe(encoding || null)
  expect(unpack(new Uint8Array(await response.arrayBuffer())).toString()).toBe(TEXT)
})

test('it is made once for requests at the same time, and others are answered while it is compressed', async () => {
  const make = mock(() => TEXT)
  const answer = createPackedAnswer(make)
  const order: string[] = []
  const both = Promise.all([1, 2].map(async () => (await answer(ask('br'), {})).arrayBuffer()))
  const sizes = both.then((found) => {
    order.push('compressed')
    return found.map(({ byteLength }) => byteLength)
  })
  await new Promise((resolve) => setImmediate(resolve))
  order.push('another request')
  const [first = 0, second] = await sizes
  expect([order, first > 0, second]).toEqual([['another request', 'compressed'], true, first])
  expect(make).toHaveBeenCalledTimes(1)
})

test('after compressing failed, the next request tries again', async () => {
  const answer = createPackedAnswer(() => TEXT)
  const compress = spyOn(zlib.Gzip.prototype, '_transform').mockImplementationOnce((_chunk, _encoding, done) =>
    done(new Error('no memory')),
  )
  await expect(answer(ask('gzip'), {})).rejects.toThrow('no memory')
  const body = await (await answer(ask('gzip'), {})).arrayBuffer()
  compress.mockRestore()
  expect(zlib.gunzipSync(body).toString()).toBe(TEXT)
})
