/**
 * A process of its own: clients that take their time. A quarter sends a head byte by byte, a quarter a body, a quarter
 * asks for megabytes and reads none, and a quarter says nothing. Whoever is disconnected comes back.
 */
import { connect, type Socket } from 'node:net'

const [url = '', key = '', app = '', count = '0'] = process.argv.slice(2)
const { hostname, port } = new URL(url)
/** What they ask for is a gigabyte: all at once, it would test something else. */
const COME_EVERY_MS = 10
/** More often than the server's idle timeout, and with 1,000 clients some write every millisecond. */
const BYTE_EVERY_MS = 1_000

const head = (method: string, path: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${key}\r\n`
const body = JSON.stringify({ app, email: 'slow@example.com', event: 'slow', createContact: true })
const post = `${head('POST', '/api/v1/events')}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
/** Large and cheap: what is measured is that nobody reads it. */
const large = `${head('GET', '/api/v1/openapi.json')}\r\n`

/** What it sends at once, what it sends a byte at a time, and whether it reads. */
const KINDS = [
  { atOnce: '', slowly: `${post}${body}`, reads: true },
  { atOnce: post, slowly: body, reads: true },
  { atOnce: large.repeat(20), slowly: '', reads: false },
  { atOnce: '', slowly: '', reads: true },
] as const

let open = 0
function start(number: number): void {
  const kind = KINDS[number % KINDS.length] ?? KINDS[0]
  const socket: Socket = connect(Number(port), hostname)
  let [sent, timer]: [number, ReturnType<typeof setInterval> | undefined] = [0, undefined]
  socket.on('connect', () => {
    open += 1
    if (kind.reads) socket.resume()
    else socket.pause()
    socket.write(kind.atOnce)
    timer = setInterval(() => sent < kind.slowly.length && socket.write(kind.slowly[sent++] ?? ''), BYTE_EVERY_MS)
    if (open === Number(count)) console.log('open')
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    open -= 1
    clearInterval(timer)
    setTimeout(() => start(number), BYTE_EVERY_MS)
  })
}

for (let number = 0; number < Number(count); number += 1) setTimeout(() => start(number), number * COME_EVERY_MS)
