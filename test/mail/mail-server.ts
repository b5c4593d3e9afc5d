import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { findPort } from '../ports.ts'

export type Received = { from: string; to: string[]; raw: string; at: number }

/**
 * A number is the reply; `drop` disconnects; `hang` never answers. `dot` is after the email; it counts as received when
 * accepted there, or by `keepsDropped`.
 */
export type Doing = 'accept' | 'drop' | 'hang' | number
export type Behaviour = {
  connect?: () => Doing
  sender?: (from: string) => Doing
  recipient?: (to: string) => Doing
  /** after the first bytes of the email */
  data?: (to: string) => Doing
  dot?: (to: string, raw: string) => Doing | Promise<Doing>
  /** keeps the email although its reply is lost */
  keepsDropped?: boolean
  /** refuses with "no such mailbox" */
  unknownMailbox?: true
  /** text of refusals */
  words?: () => string
}

type Done = (error?: Error | null) => void

export type MailServer = Awaited<ReturnType<typeof startMailServer>>

/** `onPort`: that of one that stopped. */
export async function startMailServer(behaviour: Behaviour = {}, options: SMTPServerOptions = {}, onPort?: number) {
  const received: Received[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onConnect: (session, done) => act(session.id, behaviour.connect?.() ?? 'accept', done),
    onMailFrom: (address, session, done) => act(session.id, behaviour.sender?.(address.address) ?? 'accept', done),
    onRcptTo: (address, session, done) => act(session.id, behaviour.recipient?.(address.address) ?? 'accept', done),
    onData(stream, session, done) {
      const to = session.envelope.rcptTo.map(({ address }) => address)
      const chunks: Buffer[] = []
      let isStopped = false
      stream.on('data', (chunk: Buffer) => {
        if (chunks.push(chunk) > 1 || isStopped) return
        const doing = behaviour.data?.(to[0] ?? '') ?? 'accept'
        if (doing === 'accept') return
        isStopped = true
        act(session.id, doing, done)
      })
      stream.on('end', async () => {
        if (isStopped) return
        const raw = Buffer.concat(chunks).toString('latin1')
        const doing = (await behaviour.dot?.(to[0] ?? '', raw)) ?? 'accept'
        const { mailFrom } = session.envelope
        const isKept = doing === 'accept' || (behaviour.keepsDropped && typeof doing !== 'number')
        if (isKept) received.push({ from: mailFrom === false ? '' : mailFrom.address, to, raw, at: performance.now() })
        act(session.id, doing, done)
      })
    },
    ...options,
  })
  server.on('error', () => {})

  const socketOf = (id: string): Socket | undefined =>
    Array.from(server.connections as Set<{ id: string; _socket: Socket }>).find((one) => one.id === id)?._socket

  const wordsOf = behaviour.words ?? (() => (behaviour.unknownMailbox ? '5.1.1 no such mailbox' : 'as the test says'))
  const act = (id: string, doing: Doing, done: Done): void => {
    if (doing === 'accept') done()
    else if (doing === 'drop') socketOf(id)?.destroy()
    else if (doing !== 'hang') done(Object.assign(new Error(wordsOf()), { responseCode: doing }))
  }

  const port = onPort ?? (await findPort())
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    received,
    counts: () => Map.groupBy(received, ({ to }) => to[0] ?? ''),
    connections: () => server.connections.size,
    stop: () => new Promise<void>((resolve) => server.close(resolve)),
  }
}
