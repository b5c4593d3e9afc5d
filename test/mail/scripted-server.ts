import { type AddressInfo, createServer, type Socket } from 'node:net'

export type Step = 'greeting' | 'EHLO' | 'MAIL' | 'RCPT' | 'DATA' | 'body' | 'dot' | 'RSET' | 'QUIT'
export type Talk = {
  /** sent as is */
  say: (text: string) => void
  drop: () => void
  stopReading: () => void
  /** complete emails before on this connection */
  emails: number
  /** of the envelope */
  to: string
}
/** Replaces the usual reply. `body` runs with the first bytes and has no reply. */
export type Script = Partial<Record<Step, (talk: Talk) => void | Promise<void>>>

const USUAL: Partial<Record<Step, string>> = {
  greeting: '220 scripted ESMTP\r\n',
  EHLO: '250-scripted\r\n250 8BITMIME\r\n',
  MAIL: '250 OK\r\n',
  RCPT: '250 OK\r\n',
  DATA: '354 go ahead\r\n',
  dot: '250 queued\r\n',
  RSET: '250 OK\r\n',
  QUIT: '221 bye\r\n',
}

/** `ehlo`: other extensions than the usual ones. */
export async function startScriptedServer(script: Script = {}, ehlo: string[] = []) {
  const sockets = new Set<Socket>()
  const emails: { to: string; at: number; raw: string }[] = []
  const commands: string[] = []
  let most = 0

  const server = createServer((socket) => {
    sockets.add(socket)
    most = Math.max(most, sockets.size)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    let [text, isBody, isBodyReported, to, count] = ['', false, false, '', 0]
    const say = (words: string): void => void (socket.destroyed || socket.write(words))
    const act = async (step: Step): Promise<void> => {
      const talk = { say, drop: () => socket.destroy(), stopReading: () => socket.pause(), emails: count, to }
      const own = script[step]
      if (own) return own(talk)
      const isExtended = step === 'EHLO' && ehlo.length > 0
      say(isExtended ? `250-scripted\r\n${ehlo.join('\r\n')}\r\n` : (USUAL[step] ?? ''))
    }
    const readBody = async (): Promise<boolean> => {
      if (!isBodyReported && text.length > 0) {
        isBodyReported = true
        await act('body')
      }
      const end = `\r\n${text}`.indexOf('\r\n.\r\n')
      if (end < 0) return false
      isBody = false
      const raw = text.slice(0, Math.max(0, end - 2))
      text = text.slice(end + 3)
      await act('dot')
      count += 1
      emails.push({ to, at: performance.now(), raw })
      return true
    }
    const readCommand = async (): Promise<boolean> => {
      const end = text.indexOf('\r\n')
      if (end < 0) return false
      const line = text.slice(0, end)
      text = text.slice(end + 2)
      commands.push(line)
      if (line.startsWith('RCPT')) to = /<(.*)>/.exec(line)?.[1] ?? ''
      const step = line.slice(0, 4).toUpperCase() as Step
      if (step === 'DATA') [isBody, isBodyReported] = [true, false]
      await act(step)
      return true
    }
    let running = Promise.resolve()
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      running = running.then(async () => {
        while (await (isBody ? readBody() : readCommand())) continue
      })
    })
    void act('greeting')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    emails,
    commands,
    connections: () => sockets.size,
    /** the most connections at a time */
    most: () => most,
    counts: () => Map.groupBy(emails, ({ to }) => to),
    stop: async (): Promise<void> => {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
