import type { Socket } from 'node:net'
import type { SmtpServer } from '../core/mail-addresses.ts'
import { isApi, type MailService } from '../core/mail-apis.ts'
import type { ServerCheck, Mailer } from '../messages/mailer.ts'
import { type Dial, dialAny } from './dial.ts'
import { loadConnection } from './nodemailer.ts'
import type { ApiLimits } from './api-provider.ts'
import { type Outcome, reasonOf, replyOf } from './provider.ts'
import { connect, connectionOptions, readConnectError, SMTP_LIMITS, type SmtpLimits } from './smtp.ts'
import type { Limit, Limits } from '../accounts/limits.ts'
import type { MailSettings } from '../store/message-types.ts'
import type { AppRow } from '../accounts/access.ts'
import { type Refusal, refuse } from '../core/refusals.ts'

/** In total, because someone waits; below the idle timeout of the browser's connection (cli/start-service.ts). */
export const CHECK_LIMITS: SmtpLimits = {
  ...SMTP_LIMITS,
  connectMs: 6_000,
  greetingMs: 6_000,
  answerMs: 6_000,
  mailMs: 7_000,
}

/** Below the idle timeout, too: at most two requests. */
export const API_CHECK_LIMITS: ApiLimits = { connectMs: 3_000, answerMs: 3_000 }

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
    const answer = outcome.is === 'refused' ? outcome.answer : undefined
    return { is: 'failed', reason: reasonOf(outcome), reply: replyOf(outcome), answer }
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

/** A connection without a login, which sends nothing. Returns why there is none, or null. */
export async function probeServer(server: MailService, dial: Dial): Promise<string | null> {
  try {
    if (isApi(server)) {
      const { host, port, key: password } = server
      const socket = await dial({ host, port: port ?? API_PORT, login: { user: '', password } }, PROBE_LIMIT)
      socket.destroy()
      return null
    }
    const socket = await dial(server, PROBE_LIMIT)
    // the server is reached as itself, but no password is sent
    await checkConnection(
      { ...server, login: null },
      { socket, dial: dialAny, limits: CHECK_LIMITS, leftMs: PROBE_LIMIT.withinMs },
    )
    return null
  } catch (error) {
    const outcome = readConnectError(error, null)
    // it answers: what it refuses shows with the next email
    return outcome.is === 'refused' ? null : reasonOf(outcome)
  }
}

const API_PORT = 443
const PROBE_LIMIT = { withinMs: 6_000 } as const

/** Per account: enough to set up a server, too few for a port scan. */
export const SERVER_CHECKS = { max: 20, windowMs: 600_000 } as const satisfies Limit

/** null when no server is set. Refusals: rate_limited. */
export async function checkMailServer(
  { mailer, limits }: { mailer: Mailer; limits: Limits },
  app: AppRow,
  settings: MailSettings,
): Promise<ServerCheck | Refusal | null> {
  const { allowed, retryAfterSeconds } = await limits.takeAlone(`server-check:${app.accountId}`, SERVER_CHECKS)
  return allowed > 0 ? mailer.checkServer(app, settings) : refuseChecks(retryAfterSeconds)
}

function refuseChecks(retryAfterSeconds: number): Refusal {
  const minutes = Math.ceil(retryAfterSeconds / 60)
  const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`
  const message = `Mail servers were checked ${SERVER_CHECKS.max} times in ten minutes. Wait ${wait}, then try again.`
  return refuse('rate_limited', { message })
}
