import { createSocket, type Socket } from 'node:dgram'
import { afterEach, describe, expect, test } from 'bun:test'
import { createTxtResolver } from '../../src/mail/dns.ts'
import { BEST_OF_FIVE } from '../waiting.ts'

let server: Socket | null = null
afterEach(() => server?.close())

/** The end of the question section. */
function endOfQuestion(message: Buffer): number {
  let at = 12
  while ((message[at] ?? 0) > 0) at += 1 + (message[at] ?? 0)
  return at + 5
}

const textRecord = (pieces: string[]): Buffer => {
  const data = Buffer.concat(pieces.map((piece) => Buffer.concat([Buffer.from([piece.length]), Buffer.from(piece)])))
  const head = Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, 0, 0])
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

/** Answers every question alike; null: never. */
async function listen(answer: { records: string[][]; code?: number } | null): Promise<string> {
  const socket = createSocket('udp4')
  server = socket
  socket.on('message', (message, { port, address }) => {
    if (answer === null) return
    const { records, code = 0 } = answer
    const head = Buffer.from(message.subarray(0, 12))
    head.writeUInt16BE(0x8180 | code, 2)
    head.writeUInt16BE(records.length, 6)
    head.writeUInt32BE(0, 8)
    const question = message.subarray(12, endOfQuestion(message))
    socket.send(Buffer.concat([head, question, ...records.map(textRecord)]), port, address)
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.bind(0, '127.0.0.1', resolve)
  await promise
  return `127.0.0.1:${socket.address().port}`
}

const ask = async (answer: Parameters<typeof listen>[0], answerMs = 3_000) =>
  createTxtResolver({ servers: [await listen(answer)], answerMs })('example.com')

describe('a name server', () => {
  test('that answers: each record is one text, however it is split', async () => {
    const records = [[`v=DKIM1; k=rsa; p=${'A'.repeat(237)}`, 'BB'], ['v=spf1 -all']]
    expect((await ask({ records }))?.sort()).toEqual([`v=DKIM1; k=rsa; p=${'A'.repeat(237)}BB`, 'v=spf1 -all'])
  })
  test('that does not know the name', async () => expect(await ask({ records: [], code: 3 })).toEqual([]))
  test('that has no such record', async () => expect(await ask({ records: [] })).toEqual([]))
  test('that fails', async () => expect(await ask({ records: [], code: 2 })).toBe(null))
  test(
    'that is silent is not waited for',
    async () => {
      const startedAt = performance.now()
      expect(await ask(null, 200)).toBe(null)
      expect(performance.now() - startedAt).toBeLessThan(3_000)
    },
    BEST_OF_FIVE,
  )
})
