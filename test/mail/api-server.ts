/** The HTTP side of the local stand-ins for email providers' APIs. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `cut` closes the connection without an answer; `hang` never answers. */
export type ApiDoing = 'accept' | 'cut' | 'hang' | { status: number; body?: object; headers?: Record<string, string> }

export type ApiBehaviour<Email> = {
  /** `count`: requests for this recipient so far, this one included */
  email?: (email: Email, count: number) => ApiDoing
  /** keeps emails whose answer is lost */
  keepsCut?: boolean
}

export type ApiCall = {
  method: string
  path: string
  headers: IncomingMessage['headers']
  text: string
  body: Record<string, unknown>
}

export type ApiReply = { status: number; body: object; headers?: Record<string, string> }

/** `answer` may return what to do with the connection instead. */
export async function startApiServer(answer: (call: ApiCall) => ApiReply | 'cut' | 'hang') {
  const calls: ApiCall[] = []
  const server = createServer((request, response) => void serve(request, response))

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const { method = '', url: path = '', headers } = request
    const call = { method, path, headers, text, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) }
    calls.push(call)
    const reply = answer(call)
    if (reply === 'hang') return
    if (reply === 'cut') return void response.socket?.destroy()
    response.writeHead(reply.status, { 'Content-Type': 'application/json', ...reply.headers })
    response.end(JSON.stringify(reply.body))
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    calls,
    stop(): Promise<void> {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
