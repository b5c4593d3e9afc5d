/** HTTP over a plain socket, because what a fault does to a connection must be seen: `fetch` hides it and tries again. */
import { connect, type Socket } from 'node:net'

export type Sent =
  | { is: 'answered'; status: number; body: string }
  /** no connection was made */
  | { is: 'refused' }
  /** the connection ended before a byte of the answer came */
  | { is: 'unanswered' }
  /** the connection ended within the answer */
  | { is: 'cut' }

export type Client = { send(head: string, body?: object): Promise<Sent>; close(): void; isOpen(): boolean }

type Waiting = { got: string; done: (sent: Sent) => void }

/** One connection at a time, kept alive while the server does. */
export function createClient(url: string, key: string): Client {
  const { hostname, port } = new URL(url)
  const headers = `Host: ${hostname}:${port}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
  let socket: Socket | null = null
  let waiting: Waiting | null = null

  const finish = (sent: Sent): void => {
    const { done } = waiting ?? {}
    waiting = null
    done?.(sent)
  }
  const receive = (own: Socket, text: string): void => {
    if (!waiting) return
    waiting.got += text
    const answer = readAnswer(waiting.got)
    if (!answer) return
    if (answer.isLast) {
      own.destroy()
      socket = null
    }
    finish({ is: 'answered', status: answer.status, body: answer.body })
  }
  const open = (): Promise<Socket | null> =>
    new Promise((resolve) => {
      const own = connect(Number(port), hostname)
      own.setNoDelay(true)
      own.setEncoding('utf8')
      own.on('connect', () => resolve(own))
      own.on('error', () => resolve(null))
      own.on('data', (text: string) => receive(own, text))
      own.on('close', () => {
        if (socket !== own) return
        socket = null
        if (waiting) finish({ is: waiting.got === '' ? 'unanswered' : 'cut' })
      })
    })

  return {
    async send(head, body) {
      socket ??= await open()
      const own = socket
      if (!own) return { is: 'refused' }
      const text = body === undefined ? '' : JSON.stringify(body)
      const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(text)}\r\n`
      return new Promise((done) => {
        waiting = { got: '', done }
        own.write(`${head} HTTP/1.1\r\n${headers}${length}\r\n${text}`)
      })
    },
    close(): void {
      socket?.destroy()
      socket = null
    },
    isOpen: () => socket !== null,
  }
}

/** null while the answer is not whole. */
function readAnswer(text: string): { status: number; body: string; isLast: boolean } | null {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return null
  const head = text.slice(0, end)
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
  const body = text.slice(end + 4)
  if (Buffer.byteLength(body) < length) return null
  return { status: Number(head.slice(9, 12)), body, isLast: /^connection: close/im.test(head) }
}
