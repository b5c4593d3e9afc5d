/** Checks whether a mail server is reachable and accepts the login. */
import type { Socket } from 'node:net'
import type { SmtpServer } from '../core/mail-addresses.ts'
import type { ServerCheck } from '../messages/mailer.ts'
import { type Dial, dialAny } from './dial.ts'
import { loadConnection } from './nodemailer.ts'
import { type Outcome, reasonOf, replyOf } from './provider.ts'
import { connect, connectionOptions, readConnectError, SMTP_LIMITS, type SmtpLimits } from './smtp.ts'

/** In total, because someone waits; below the idle timeout of the browser's connection (cli/serve.ts). */
export const CHECK_LIMITS: SmtpLimits = { ...SMTP_LIMITS, connectMs: 6_000, answerMs: 6_000, mailMs: 7_000 }

type Checking = { limits?: SmtpLimits; dial?: Dial; onFailure?: (outcome: Outcome) => void }

/** Not nodemailer's `verify`, which reports neither login nor TLS and can't be aborted. */
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
