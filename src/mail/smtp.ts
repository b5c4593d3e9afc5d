/** Mail over SMTP (messages.md, Sending): a pool of connections, TLS, and a hand-over just before the final dot. */
import { Readable } from 'node:stream'
import { createTransport } from 'nodemailer'
import { isLoopback, type SmtpServer } from '../core/mail-addresses.ts'
import type { HandOver, Outcome, Provider } from './provider.ts'

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
export function createSmtpProvider(server: SmtpServer, limits: SmtpLimits = SMTP_LIMITS): Provider {
  const transport = createTransport({ pool: true, ...poolOptions(server, limits) })
  const handOvers = new WeakMap<object, HandOver>()
  transport.use('stream', ({ data, message }, done) => {
    const raw = data.raw as Buffer
    message.createReadStream = () => readGated(raw, handOvers.get(raw) ?? refuse)
    done()
  })
  return {
    async send({ from, to, raw }, handOver) {
      let progress = 'before' as Progress
      handOvers.set(raw, async () => {
        // the pool may begin a mail anew on another connection, but never once it was asked
        if (progress !== 'before') return false
        progress = 'asking'
        progress = (await handOver().catch(() => false)) ? 'handed' : 'withheld'
        return progress === 'handed'
      })
      const giveUp = new AbortController()
      const timer = setTimeout(() => giveUp.abort(), limits.mailMs)
      try {
        await transport.sendMail({ envelope: { from, to }, raw, signal: giveUp.signal })
        return { is: 'sent' }
      } catch (error) {
        return readOutcome(error, progress)
      } finally {
        clearTimeout(timer)
      }
    },
    close: () => transport.close(),
  }
}

const refuse: HandOver = async () => false

/** While it is asked the server has not seen the dot, so that a connection which breaks then took nothing with it. */
type Progress = 'before' | 'asking' | 'handed' | 'withheld'

const poolOptions = ({ host, port, isSecure, login }: SmtpServer, limits: SmtpLimits) => ({
  host,
  port,
  secure: isSecure,
  ...(login === null ? {} : { auth: { user: login.user, pass: login.password } }),
  // a password travels under TLS only; within this machine nobody can listen, and nobody has a certificate
  requireTLS: login !== null && !isSecure && !isLoopback(host),
  tls: { rejectUnauthorized: !isLoopback(host) },
  maxConnections: limits.connections,
  // for a connection that the server dropped while nothing was on it
  maxRequeues: 2,
  connectionTimeout: limits.connectMs,
  greetingTimeout: limits.connectMs,
  dnsTimeout: limits.connectMs,
  socketTimeout: limits.answerMs,
  disableFileAccess: true,
  disableUrlAccess: true,
})

/**
 * A mail whose end is asked for only when all before it has gone: whoever reads ahead into a buffer would ask before
 * the recipient was even named. Without its end nodemailer writes no final dot, and drops the connection.
 */
function readGated(raw: Buffer, handOver: HandOver): Readable {
  let isOut = false
  const finish = async (mail: Readable): Promise<void> => {
    if (await handOver()) mail.push(null)
    else mail.destroy(new Error('withheld'))
  }
  return new Readable({
    highWaterMark: 0,
    read() {
      if (isOut) void finish(this)
      else this.push(raw)
      isOut = true
    },
  })
}

/** What nodemailer says of an error. `command` is the one that was answered. */
type SmtpError = { code?: string; responseCode?: number; response?: string; command?: string }

function readOutcome(error: unknown, progress: Progress): Outcome {
  if (progress === 'withheld') return { is: 'withheld' }
  const { code = 'UNKNOWN', responseCode, response = '', command = '' } = error as SmtpError
  if (responseCode === undefined) {
    return { is: progress === 'handed' ? 'unknown' : 'unreachable', reason: code.toLowerCase() }
  }
  const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1] ?? null
  return { is: 'refused', code: responseCode, enhanced, about: ABOUT[command] ?? 'sender' }
}

/** All before these commands is between us and the server, and no fault of a mail. */
const ABOUT: Record<string, 'recipient' | 'mail'> = { 'RCPT TO': 'recipient', DATA: 'mail' }
