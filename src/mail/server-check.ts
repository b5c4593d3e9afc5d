/** Whether a mail server can be reached and takes the login, found out before a mail fails. */
import type { Socket } from 'node:net'
import type { SmtpServer } from '../core/mail-addresses.ts'
import type { ServerCheck } from '../messages/mailer.ts'
import { type Dial, dialAny } from './dial.ts'
import { loadConnection } from './nodemailer.ts'
import { type Outcome, reasonOf, replyOf } from './provider.ts'
import { connect, connectionOptions, readConnectError, SMTP_LIMITS, type SmtpLimits } from './smtp.ts'

/**
 * Altogether, because somebody waits for it: a server that is silent, and one that never comes to an end. Below the time
 * after which a connection on which nothing is said is closed (cli/serve.ts).
 */
export const CHECK_LIMITS: SmtpLimits = { ...SMTP_LIMITS, connectMs: 6_000, answerMs: 6_000, mailMs: 7_000 }

type Checking = { limits?: SmtpLimits; dial?: Dial; onFailure?: (outcome: Outcome) => void }

/**
 * Connects as for a mail, makes the connection secure, logs in, and takes its leave before any mail. By nodemailer's
 * connection, because its `verify` says neither whether it logged in nor whether it is secure, and cannot be ended.
 */
export async function checkServer(
  server: SmtpServer | null,
  { limits = CHECK_LIMITS, dial = dialAny, onFailure = () => {} }: Checking = {},
): Promise<ServerCheck | null> {
  if (server === null) return null
  const startedAt = performance.now()
  try {
    const socket = await dial(server, { withinMs: Math.min(limits.connectMs, limits.mailMs) })
    return await checkConnection(server, {
      socket,
      dial,
      limits,
      leftMs: limits.mailMs - (performance.now() - startedAt),
    })
  } catch (error) {
    const outcome = readConnectError(error, server.login)
    onFailure(outcome)
    return { is: 'failed', reason: reasonOf(outcome), reply: replyOf(outcome) }
  }
}

type Connected = { socket: Socket; dial: Dial; limits: SmtpLimits; leftMs: number }

async function checkConnection(server: SmtpServer, { socket, dial, limits, leftMs }: Connected): Promise<ServerCheck> {
  const { auth, ...options } = connectionOptions(server, limits)
  const Connection = await loadConnection()
  const connection = new Connection({ ...options, connection: socket })
  const timer = setTimeout(() => connection.emit('error', { code: 'ETIMEDOUT' }), leftMs)
  try {
    await connect(connection, auth, dial)
    connection.quit()
    return {
      is: 'fine',
      isSecure: connection.secure,
      login: auth ? (connection.allowsAuth ? 'taken' : 'unasked') : 'none',
    }
  } finally {
    clearTimeout(timer)
    connection.close()
  }
}
