/** Whether a mail server can be reached and takes the login, found out before a mail fails. */
import type { SmtpServer } from '../core/mail-addresses.ts'
import type { ServerCheck } from '../core/mailer.ts'
import { loadConnection } from './nodemailer.ts'
import { reasonOf } from './provider.ts'
import { connect, connectionOptions, readConnectError, SMTP_LIMITS, type SmtpLimits } from './smtp.ts'

/**
 * Altogether, because somebody waits for it: a server that is silent, and one that never comes to an end. Below the time
 * after which a connection on which nothing is said is closed (commands/serve.ts).
 */
export const CHECK_LIMITS: SmtpLimits = { ...SMTP_LIMITS, connectMs: 6_000, answerMs: 6_000, mailMs: 7_000 }

/**
 * Connects as for a mail, makes the connection secure, logs in, and takes its leave before any mail. By nodemailer's
 * connection, because its `verify` says neither whether it logged in nor whether it is secure, and cannot be ended.
 */
export async function checkServer(server: SmtpServer | null, limits = CHECK_LIMITS): Promise<ServerCheck | null> {
  if (server === null) return null
  const { auth, ...options } = connectionOptions(server, limits)
  const Connection = await loadConnection()
  const connection = new Connection(options)
  const timer = setTimeout(() => connection.emit('error', { code: 'ETIMEDOUT' }), limits.mailMs)
  try {
    await connect(connection, auth)
    connection.quit()
    return {
      is: 'fine',
      isSecure: connection.secure,
      login: auth ? (connection.allowsAuth ? 'taken' : 'unasked') : 'none',
    }
  } catch (error) {
    const outcome = readConnectError(error, server.login)
    return { is: 'failed', reason: reasonOf(outcome), said: outcome.is === 'refused' ? outcome.said : undefined }
  } finally {
    clearTimeout(timer)
    connection.close()
  }
}
