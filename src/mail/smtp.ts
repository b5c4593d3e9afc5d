/** Mail over SMTP (messages.md, Sending): a pool of connections, TLS, and a hand-over just before the final dot. */
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { isLoopback, type SmtpServer } from '../core/mail-addresses.ts'
import { openLate } from '../core/open-late.ts'
import { type Dial, dialAny } from './dial.ts'
import { loadTransport } from './nodemailer.ts'
import type { About, HandOver, Outcome, Provider } from './provider.ts'
import { readServerAnswer } from './server-answer.ts'

export type SmtpLimits = {
  connections: number
  /** to connect, to be greeted, to answer a command */
  connectMs: number
  answerMs: number
  /** for one mail altogether, however busy the server looks */
  mailMs: number
}

/** Below the lease of a claim, so that a mail is over before anybody else may take it up. */
export const SMTP_LIMITS: SmtpLimits = { connections: 10, connectMs: 10_000, answerMs: 60_000, mailMs: 120_000 }

/** Opens connections when mail comes, and keeps them for the next. */
export function createSmtpProvider(
  server: SmtpServer,
  limits: SmtpLimits = SMTP_LIMITS,
  dial: Dial = dialAny,
): Provider {
  const gates = new WeakMap<object, Gate>()
  const open = async () => {
    const createTransport = await loadTransport()
    const transport = createTransport({
      pool: true,
      ...connectionOptions(server, limits),
      maxConnections: limits.connections,
      // for a connection that the server dropped while nothing was on it
      maxRequeues: 2,
      disableFileAccess: true,
      disableUrlAccess: true,
      // for every connection of the pool, so that nodemailer itself resolves no name
      getSocket: (_options: unknown, done: (error: Error | null, socket?: { connection: Socket }) => void) =>
        void dial(server, limits.connectMs).then((connection) => done(null, { connection }), done),
    })
    transport.use('stream', ({ data, message }, done) => {
      const raw = data.raw as Buffer
      message.createReadStream = () => readGated(raw, gates.get(raw) ?? SHUT)
      done()
    })
    return transport
  }
  const pool = openLate(open)
  return {
    async send({ from, to, raw }, handOver) {
      let progress = 'before' as Progress
      const giveUp = new AbortController()
      const ask: HandOver = async () => {
        // the pool may begin a mail anew on another connection, but never once it was asked
        if (progress !== 'before') return false
        progress = 'asking'
        progress = (await handOver().catch(() => false)) ? 'handed' : 'withheld'
        return progress === 'handed'
      }
      const leave = (openMs: number): void => {
        // nor where the server was silent: to wait for it twice is longer than a mail may take. What the server said at
        // last, if anything, is told before the immediate
        if (progress === 'before' && openMs >= limits.answerMs) setImmediate(() => giveUp.abort(SILENT))
      }
      gates.set(raw, { ask, leave })
      const timer = setTimeout(() => giveUp.abort(), limits.mailMs)
      try {
        const transport = await pool.get()
        await transport.sendMail({ envelope: { from, to }, raw, signal: giveUp.signal })
        return { is: 'sent' }
      } catch (error) {
        return readOutcome(error, progress, server.login)
      } finally {
        clearTimeout(timer)
      }
    },
    close: () =>
      void pool.peek()?.then(
        (transport) => transport.close(),
        () => {},
      ),
  }
}

/** `leave` is told when the mail has gone or its connection has ended, and how long it was open (ms). */
type Gate = { ask: HandOver; leave: (openMs: number) => void }
const SHUT: Gate = { ask: async () => false, leave: () => {} }

/** What nodemailer says itself where it does not begin anew. */
export const SILENT: SmtpError = { code: 'ETIMEDOUT' }

/** While it is asked the server has not seen the dot, so that a connection which breaks then took nothing with it. */
type Progress = 'before' | 'asking' | 'handed' | 'withheld'

/** How a connection to a server is made, and how long each step of it may take. `host` names it for TLS. */
export const connectionOptions = ({ host, port, isSecure, login, isTlsOptional }: SmtpServer, limits: SmtpLimits) => ({
  host,
  port,
  secure: isSecure,
  ...(login === null ? {} : { auth: { user: login.user, pass: login.password } }),
  // a password always travels under TLS; without one, mail within this machine may go without
  requireTLS: !isSecure && (login !== null || !(isTlsOptional || isLoopback(host))),
  // servers on this machine have no certificate that anybody signed
  tls: { rejectUnauthorized: !(isTlsOptional || isLoopback(host)) },
  connectionTimeout: limits.connectMs,
  greetingTimeout: limits.connectMs,
  dnsTimeout: limits.connectMs,
  socketTimeout: limits.answerMs,
})

/**
 * A mail whose end is asked for only when all before it has gone: whoever reads ahead into a buffer would ask before
 * the recipient was even named. Without its end nodemailer writes no final dot, and drops the connection.
 */
function readGated(raw: Buffer, { ask, leave }: Gate): Readable {
  const openedAt = performance.now()
  let isOut = false
  const finish = async (mail: Readable): Promise<void> => {
    if (await ask()) mail.push(null)
    else mail.destroy(new Error('withheld'))
  }
  return new Readable({
    highWaterMark: 0,
    read() {
      if (isOut) void finish(this)
      else this.push(raw)
      isOut = true
    },
    destroy(error, done) {
      leave(performance.now() - openedAt)
      done(error)
    },
  })
}

/** What nodemailer says of an error. `command` is the one that was answered, `cause` why we gave up. */
type SmtpError = {
  code?: string
  responseCode?: number
  response?: string
  command?: string
  syscall?: string
  message?: string
  cause?: unknown
}

/** A connection that broke is another thing than one that was never made, or could not be made secure. */
function namedError(said: SmtpError): SmtpError {
  if (said.cause === SILENT) return SILENT
  // what the server answered to STARTTLS is no answer to a mail
  if (said.code === 'ETLS') return { code: said.code }
  if (said.code !== 'ESOCKET') return said
  if (said.syscall === 'connect') return { code: 'EREFUSED' }
  if (/WRONG_VERSION_NUMBER/.test(said.message ?? '')) return { code: 'EPLAIN' }
  // an alert is what the server says of ours
  return /^(?!.*alert).*(certificate|altname)/i.test(said.message ?? '') ? { code: 'EUNTRUSTED' } : said
}

/** What nodemailer's error says of a mail that had come so far. */
export function readOutcome(error: unknown, progress: Progress, login: SmtpServer['login']): Outcome {
  if (progress === 'withheld') return { is: 'withheld' }
  const { code = 'UNKNOWN', responseCode, response = '', command = '' } = namedError(error as SmtpError)
  if (responseCode === undefined) {
    return { is: progress === 'handed' ? 'unknown' : 'unreachable', reason: code.toLowerCase() }
  }
  const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1] ?? null
  const answer = readServerAnswer(response, login)
  return { is: 'refused', code: responseCode, enhanced, answer, about: ABOUT.get(command) ?? 'session' }
}

/** All before these commands is between us and the server, and no fault of a mail. */
const ABOUT = new Map<string, About>(Object.entries({ 'MAIL FROM': 'sender', 'RCPT TO': 'recipient', DATA: 'mail' }))
