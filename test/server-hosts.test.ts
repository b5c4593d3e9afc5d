/** Who calls by no name, or by one that cannot be: health checks over HTTP/1.0, and whoever tries what happens. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestServer, EVENTS, type TestServer } from './helper.ts'

describe('a request with a missing or invalid Host', () => {
  const HOSTS = [null, '', 'a/b', 'a?b', 'a#b', 'a.example, b.example', 'a:99999', '[::1', '1.2.3.999', 'a%zz']
  const ask = async (port: number, head: string, body = ''): Promise<string> => {
    const { promise, resolve } = Promise.withResolvers<string>()
    let text = ''
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        data: (_, bytes) => void (text += bytes.toString()),
        close: () => resolve(text),
      },
    })
    socket.write(`${head}Connection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    return promise
  }
  /** HTTP/1.0 is what has no Host. */
  const headOf = (method: string, path: string, host: string | null): string =>
    host === null ? `${method} ${path} HTTP/1.0\r\n` : `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n`

  let one: TestServer
  let http: ReturnType<typeof Bun.serve>
  beforeAll(async () => {
    one = await createTestServer()
    http = Bun.serve({ port: 0, hostname: '127.0.0.1', development: false, fetch: (request) => one.send(request) })
  })
  afterAll(async () => {
    await http.stop(true)
    await one.close()
  })

  test.each(HOSTS)('reaches its route, is counted and is let go: %p', async (host) => {
    const port = http.port ?? 0
    const before = one.logged().length
    const key = `Authorization: Bearer ${one.first.apiKey}\r\nContent-Type: application/json\r\n`
    const statusOf = async (...given: Parameters<typeof ask>) => (await ask(...given)).split(' ')[1]
    const said = [
      await statusOf(port, headOf('GET', '/healthz', host)),
      await statusOf(
        port,
        headOf('POST', EVENTS, host) + key,
        JSON.stringify({ app: one.first.appId, email: 'ada@example.com', event: 'e', createContact: true }),
      ),
      await statusOf(port, `${headOf('GET', '/a/api/v1/foo', host)}Accept: text/html\r\n`),
      await statusOf(port, `${headOf('GET', '/hooks/bounces/x', host)}Accept: text/html\r\n`),
    ]
    expect(said).toEqual(['200', '202', '404', '405'])
    const lines = one.logged().slice(before).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).status)).toEqual([200, 202, 404, 405])
    expect(await statusOf(port, headOf('GET', '/sign-in', host))).toBe('403')
  })
})
