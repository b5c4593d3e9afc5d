/** One SMTP connection: sends emails in turn and accepts only well-formed, expected replies. */
import type { Socket } from 'node:net'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { SmtpServer } from '../core/mail-addresses.ts'
import type { ComposedMail } from './compose.ts'
import type { About, HandOver, Outcome } from './provider.ts'
import { cleanText, cutText, readVisibleText } from '../core/visible-text.ts'

type Waits = { answerMs: number; dotMs: number }

export type Sending = {
  handOver: HandOver
  /** the final dot has left: the server may deliver the email */
  onDot: () => void
  /** gives the email up before the hand-over; the reason is a code */
  signal: AbortSignal
}

export type Session = ReturnType<typeof createSession>

type Reply = { code: number; text: string }
type Lost = { lost: string }

const isLost = (reply: Reply | Lost): reply is Lost => 'lost' in reply

const classOf = ({ code }: Reply): number => Math.trunc(code / 100)
const POSITIVE = 2
const isRefusal = (reply: Reply): boolean => classOf(reply) === 4 || classOf(reply) === 5
const START_MAIL_INPUT = 354
/** The server is about to close the connection; valid at any time. */
export const CLOSING = 421

export function createSession(
  connection: SMTPConnection,
  { greeting, waits, login }: { greeting: string; waits: Waits; login: SmtpServer['login'] },
) {
  const socket = connection._socket as Socket
  const [isPipelined, isUtf8Taken] = [offers(greeting, 'PIPELINING'), offers(greeting, 'SMTPUTF8')]
  const ended = Promise.withResolvers<Lost>()
  const waiting: ((reply: Reply) => void)[] = []
  let [isOpen, isRefused, emails] = [true, false, 0]
  /** an unexpected reply */
  let stray: Reply | null = null

  const end = (reason: string): void => {
    if (!isOpen) return
    isOpen = false
    ended.resolve({ lost: reason })
    connection.close()
  }

  const reader = createReplyReader({
    onReply(reply) {
      const resolve = waiting.shift()
      if (resolve) return resolve(reply)
      stray ??= reply
      end(reply.code === CLOSING ? 'econnection' : 'eprotocol')
    },
    onMalformed: () => end('eprotocol'),
  })
  takeSocket(socket, (chunk) => isOpen && reader.read(chunk))
  connection.on('error', (error: { code?: string }) => end((error.code ?? 'esocket').toLowerCase()))
  connection.once('end', () => end('econnection'))

  /** The timeout starts when the returned function is called. */
  const takeReply = (ms: number): (() => Promise<Reply | Lost>) => {
    const { promise, resolve } = Promise.withResolvers<Reply>()
    waiting.push(resolve)
    return () => {
      const timer = setTimeout(() => end('etimedout'), ms)
      return Promise.race([promise, ended.promise]).finally(() => clearTimeout(timer))
    }
  }

  const write = (data: string | Buffer): Promise<void | Lost> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    socket.write(data, () => resolve())
    return Promise.race([promise, ended.promise])
  }

  const refuse = (reply: Reply, about: About): Outcome => {
    isRefused = true
    if (reply.code === CLOSING) end('econnection')
    return readRefusal(reply, about, login)
  }

  const readFailure = (reply: Reply, about: About): Outcome => {
    if (isRefusal(reply)) return refuse(reply, about)
    end('eprotocol')
    return { is: 'unreachable', reason: 'eprotocol' }
  }

  const steps = ({ from, to }: ComposedMail): Step[] => [
    ...(isRefused ? [{ command: 'RSET', about: 'session' as const, passes: isPositive }] : []),
    { command: `MAIL FROM:<${from}>${utf8(from + to)}`, about: 'sender', passes: isPositive },
    { command: `RCPT TO:<${to}>`, about: 'recipient', passes: isPositive },
    { command: 'DATA', about: 'mail', passes: ({ code }) => code === START_MAIL_INPUT },
  ]
  const utf8 = (addresses: string): string => (isAscii(addresses) || !isUtf8Taken ? '' : ' SMTPUTF8')

  /** Up to the reply to DATA; null when the server is ready. */
  const offer = async (mail: ComposedMail): Promise<Outcome | null> => {
    const all = steps(mail)
    let failure: Outcome | null = null
    // pipelined where offered; replies still come in order (RFC 2920)
    for (const batch of isPipelined ? [all] : all.map((step) => [step])) {
      const sent = batch.map((step) => ({ ...step, readReply: takeReply(waits.answerMs) }))
      void write(batch.map(({ command }) => `${command}\r\n`).join(''))
      for (const { command, about, passes, readReply } of sent) {
        const reply = await readReply()
        if (isLost(reply)) return failure ?? { is: 'unreachable', reason: reply.lost }
        // the server waits for an email whose sender or recipient it refused
        if (failure && reply.code === START_MAIL_INPUT) end('econnection')
        if (command === 'RSET') isRefused = !passes(reply)
        if (!passes(reply)) failure ??= readFailure(reply, about)
      }
      if (failure) return failure
    }
    return null
  }

  const readLast = (reply: Reply | Lost): Outcome => {
    if (isLost(reply)) return { is: 'unknown', reason: reply.lost }
    // a second, different reply: one of them answers another command
    const isUnsure = stray !== null && stray.code !== CLOSING && classOf(stray) !== classOf(reply)
    if (!isUnsure && isPositive(reply)) return { is: 'sent' }
    if (!isUnsure && isRefusal(reply)) return refuse(reply, 'mail')
    end('eprotocol')
    return { is: 'unknown', reason: 'eprotocol' }
  }

  const transfer = async (mail: ComposedMail, { handOver, onDot, signal }: Sending): Promise<Outcome> => {
    const abort = (): void => end(String(signal.reason))
    signal.addEventListener('abort', abort)
    const refused = await offer(mail)
    const lost = refused ? undefined : await write(toData(mail.raw))
    signal.removeEventListener('abort', abort)
    if (refused) return refused
    if (lost) return { is: 'unreachable', reason: lost.lost }
    const isHanded = await handOver().catch(() => false)
    if (!isHanded) {
      end('withheld')
      return { is: 'withheld' }
    }
    // nothing is lost: an email without its dot doesn't count (RFC 5321, section 4.1.1.4)
    if (!isOpen) return { is: 'unreachable', reason: (await ended.promise).lost }
    const last = takeReply(waits.dotMs)
    void write('.\r\n').then((unwritten) => unwritten ?? onDot())
    return readLast(await last())
  }

  return {
    isOpen: (): boolean => isOpen,
    count: (): number => emails,
    ended: ended.promise,
    /** Never rejects; one at a time. */
    async send(mail: ComposedMail, sending: Sending): Promise<Outcome> {
      emails += 1
      if (/[\r\n<>]/.test(mail.from + mail.to)) return { is: 'unreachable', reason: 'eenvelope' }
      if (sending.signal.aborted) return { is: 'unreachable', reason: String(sending.signal.reason) }
      return transfer(mail, sending)
    },
    quit(): void {
      if (isOpen) void write('QUIT\r\n')
      end('econnection')
    },
  }
}

export const readRefusal = ({ code, text }: Reply, about: About, login: SmtpServer['login']): Outcome => ({
  is: 'refused',
  code,
  enhanced: /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(text)?.[1] ?? null,
  answer: readServerAnswer(text, login),
  about,
})

type Step = { command: string; about: About; passes: (reply: Reply) => boolean }

const isPositive = (reply: Reply): boolean => classOf(reply) === POSITIVE

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length

const offers = (greeting: string, keyword: string): boolean =>
  greeting
    .split(/\r?\n/)
    .slice(1)
    .some((line) => line.slice(4).trim().toUpperCase().split(' ')[0] === keyword)

/** nodemailer neither reads nor times out the socket from here on. */
function takeSocket(socket: Socket, onData: (chunk: Buffer) => void): void {
  socket.removeAllListeners('data')
  socket.removeAllListeners('timeout')
  socket.setTimeout(0)
  socket.on('data', onData)
  socket.resume()
}

const REPLY_BYTES = 64 * 1024
const REPLY_LINE = /^([2-5]\d\d)(?:([ -]).*)?$/s

/** All lines of a reply must have the same code. */
export function createReplyReader({ onReply, onMalformed }: ReplyListener) {
  let rest = ''
  let lines: string[] = []
  let size = 0

  const readLine = (line: string): boolean => {
    // some servers send empty lines
    if (line === '') return true
    const [, code, separator] = REPLY_LINE.exec(line) ?? []
    if (code === undefined || (lines[0] !== undefined && !lines[0].startsWith(code))) return false
    lines.push(line)
    size += line.length
    if (separator === '-') return size <= REPLY_BYTES
    const text = decode(lines.join('\n'))
    lines = []
    size = 0
    onReply({ code: Number(code), text })
    return true
  }

  return {
    read(chunk: Buffer): void {
      const parts = (rest + chunk.toString('latin1')).split('\n')
      rest = parts.pop() ?? ''
      const isWell = parts.every((line) => readLine(line.endsWith('\r') ? line.slice(0, -1) : line))
      if (!isWell || rest.length > REPLY_BYTES) onMalformed()
    },
  }
}

type ReplyListener = { onReply: (reply: Reply) => void; onMalformed: () => void }

/** UTF-8 if valid, else Latin-1. */
function decode(latin1: string): string {
  const text = Buffer.from(latin1, 'latin1').toString('utf8')
  return text.includes('\ufffd') ? latin1 : text
}

const BARE_LINE_END = /\r(?!\n)|(?:^|[^\r])\n/

export function toData(raw: Buffer): Buffer {
  const text = raw.toString('latin1')
  const lines = BARE_LINE_END.test(text) ? text.replaceAll(/\r\n?|\n/g, '\r\n') : text
  const stuffed = `${lines.startsWith('.') ? '.' : ''}${lines.replaceAll('\r\n.', '\r\n..')}`
  return Buffer.from(stuffed.endsWith('\r\n') ? stuffed : `${stuffed}\r\n`, 'latin1')
}

const LOGGED_CHARACTERS = 2_000
const READ_CHARACTERS = 4_000

const HIDDEN = '[email]'

const CODES = /^\d{3}[ -]?(?:\d\.\d{1,3}\.\d{1,3}\b)?/

/**
 * For the log: one line, cut, without emails or invisible characters. undefined when empty, or when it repeats part of
 * the password.
 */
export function readServerAnswer(response: string, login: SmtpServer['login']): string | undefined {
  // a password must not be revealed in part at the cut
  if (login !== null && repeatsPassword(response.slice(0, READ_CHARACTERS + SECRET_CHARACTERS), login)) return undefined
  const read = response.slice(0, READ_CHARACTERS)
  const [first = '', ...others] = read.split(/[\r\n]+/)
  const lines = [first.replace(/^(\d{3})-/, '$1 '), ...others.map((other) => other.replace(CODES, ''))].join(' ')
  const seen = readVisibleText(cleanText(lines) ?? '').map((piece) => ('text' in piece ? piece.text : ''))
  const words = seen
    .join('')
    .split(' ')
    .filter((word) => word !== '')
  const line = words.map((word) => (word.includes('@') ? HIDDEN : word)).join(' ')
  const { text, isCut } = cutText(line, LOGGED_CHARACTERS)
  return text === '' ? undefined : `${text}${isCut ? '\u2026' : ''}`
}

/** A shorter match could be chance. */
const PIECE_CHARACTERS = 8
const SECRET_CHARACTERS = 512

/** As typed or as sent (RFC 4616): a server may echo commands. */
function repeatsPassword(response: string, { user, password }: { user: string; password: string }): boolean {
  const sent = [password, `\0${user}\0${password}`].map((text) => Buffer.from(text).toString('base64'))
  // possibly folded or interrupted by invisible characters
  const texts = [response, response.replaceAll(/[^!-~]/g, '')]
  const isThere = (piece: string): boolean => texts.some((text) => text.includes(piece))
  return password !== '' && [password, ...sent].some((secret) => listPieces(secret).some(isThere))
}

const listPieces = (secret: string): string[] =>
  Array.from({ length: Math.max(1, Math.min(secret.length, SECRET_CHARACTERS) - PIECE_CHARACTERS + 1) }, (_, at) =>
    secret.slice(at, at + PIECE_CHARACTERS),
  )
