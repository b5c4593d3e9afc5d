/** SMTP with a connection pool; each email is handed over just before its final dot. */
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import { MINUTE_MS } from '../core/clock.ts'
import { isLoopback, type SmtpServer } from '../core/mail-addresses.ts'
import type { ComposedMail } from './compose.ts'
import { type Dial, dialAny } from './dial.ts'
import { loadConnection } from './nodemailer.ts'
import type { HandOver, Outcome, Provider } from './provider.ts'
import { createSession, readRefusal, type Sending, type Session } from './smtp-session.ts'

export type SmtpLimits = {
  connections: number
  connectMs: number
  answerMs: number
  /** for everything before the final dot */
  mailMs: number
  /** for the reply to the final dot (RFC 5321, section 4.5.3.2.6) */
  dotMs: number
  /** a connection that waits longer makes room for another, up to a limit */
  slowDotMs: number
  slowConnections: number
}

/** `mailMs` is below a claim's lease, so that the email isn't claimed again before the hand-over. */
export const SMTP_LIMITS: SmtpLimits = {
  connections: 10,
  connectMs: 10_000,
  answerMs: MINUTE_MS,
  mailMs: 120_000,
  dotMs: 600_000,
  slowDotMs: 10_000,
  slowConnections: 30,
}

/** Closed before the server does it (RFC 5321, section 4.5.3.2.7), and after this many emails. */
const IDLE_MS = 4 * MINUTE_MS
const EMAILS_A_CONNECTION = 100
/** Retries when the server had dropped an idle connection. */
const NEW_BEGINNINGS = 2

export function createSmtpProvider(
  server: SmtpServer,
  limits: SmtpLimits = SMTP_LIMITS,
  dial: Dial = dialAny,
): Provider {
  const idle = new Map<Session, ReturnType<typeof setTimeout>>()
  const slots = createSlots(limits)
  let isClosed = false

  const takeIdle = (): Session | undefined => {
    const [session, timer] = [...idle].findLast(([one]) => one.isOpen()) ?? []
    clearTimeout(timer)
    if (session) idle.delete(session)
    return session
  }

  const keep = (session: Session): void => {
    if (!session.isOpen()) return
    const isSpare = slots.busy() + idle.size >= limits.connections
    if (isClosed || isSpare || session.count() >= EMAILS_A_CONNECTION) return session.quit()
    idle.set(
      session,
      setTimeout(() => session.quit(), IDLE_MS),
    )
  }

  const open = async (signal: AbortSignal): Promise<Session | Outcome> => {
    try {
      const session = await openSession({ server, limits, dial }, signal)
      void session.ended.then(() => {
        clearTimeout(idle.get(session))
        idle.delete(session)
      })
      return session
    } catch (error) {
      return signal.aborted
        ? { is: 'unreachable', reason: String(signal.reason) }
        : readConnectError(error, server.login)
    }
  }

  /** `wasAsked`: whether the hand-over has begun; then it is never retried. */
  const sendOver = async (mail: ComposedMail, sending: Sending & { onLogin: () => void }, wasAsked: () => boolean) => {
    for (let left = NEW_BEGINNINGS; ; left -= 1) {
      const reused = left > 0 ? takeIdle() : undefined
      const session = reused ?? (await open(sending.signal))
      if ('is' in session) return { outcome: session, session: null }
      if (!reused) sending.onLogin()
      const outcome = await session.send(mail, sending)
      if (reused && !wasAsked() && isDropped(outcome)) continue
      sending.onLogin()
      return { outcome, session }
    }
  }

  return {
    async send(mail, handOver, { onLogin = () => {}, onSlow, signal } = {}) {
      const giveUp = followSignal(signal)
      const timer = setTimeout(() => giveUp.abort('eabort'), limits.mailMs)
      const slot = await slots.take(giveUp.signal)
      let isAsked = false
      const ask: HandOver = () => {
        isAsked = true
        return handOver()
      }
      const sending = { handOver: ask, onLogin, onDot: () => slot?.watch(onSlow), signal: giveUp.signal }
      const { outcome, session } = slot
        ? await sendOver(mail, sending, () => isAsked)
        : { outcome: givenUp(giveUp.signal), session: null }
      clearTimeout(timer)
      giveUp.unfollow()
      slot?.leave()
      if (session) keep(session)
      return outcome
    },
    close(): void {
      isClosed = true
      for (const session of idle.keys()) session.quit()
    },
  }
}

const givenUp = (signal: AbortSignal): Outcome => ({ is: 'unreachable', reason: String(signal.reason) })

const isDropped = (outcome: Outcome): boolean =>
  outcome.is === 'unreachable' && ['econnection', 'esocket', 'eprotocol'].includes(outcome.reason)

/** Call the returned function to detach from `signal`. */
function followSignal(signal: AbortSignal | undefined) {
  const controller = new AbortController()
  const follow = (): void => controller.abort('stopped')
  if (signal?.aborted) follow()
  signal?.addEventListener('abort', follow)
  return {
    signal: controller.signal,
    abort: (reason: string): void => controller.abort(reason),
    unfollow: (): void => signal?.removeEventListener('abort', follow),
  }
}

/** A connection that waits long for the final reply makes room for another. */
function createSlots({ connections, slowConnections, slowDotMs }: SmtpLimits) {
  const waiting: (() => void)[] = []
  const waitingSlow = new Set<() => void>()
  let [busy, slow] = [0, 0]

  const admit = (): void => {
    while (busy < connections && waiting.length > 0) waiting.shift()?.()
  }

  const createSlot = () => {
    let state: 'busy' | 'slow' | 'left' = 'busy'
    let timer: ReturnType<typeof setTimeout> | undefined
    let becomeSlow = (): void => {}
    busy += 1
    return {
      watch(onSlow = (): void => {}): void {
        becomeSlow = () => {
          if (slow >= slowConnections) return void waitingSlow.add(becomeSlow)
          state = 'slow'
          slow += 1
          busy -= 1
          onSlow()
          admit()
        }
        if (state === 'busy') timer = setTimeout(() => becomeSlow(), slowDotMs)
      },
      leave(): void {
        clearTimeout(timer)
        waitingSlow.delete(becomeSlow)
        if (state === 'busy') busy -= 1
        if (state === 'slow') slow -= 1
        const [next] = waitingSlow
        if (state === 'slow' && next && waitingSlow.delete(next)) next()
        state = 'left'
        admit()
      },
    }
  }

  return {
    busy: (): number => busy,
    /** null when the signal aborts first. */
    take(signal: AbortSignal): Promise<ReturnType<typeof createSlot> | null> {
      if (signal.aborted) return Promise.resolve(null)
      if (busy < connections) return Promise.resolve(createSlot())
      const { promise, resolve } = Promise.withResolvers<ReturnType<typeof createSlot> | null>()
      const giveUp = (): void => {
        waiting.splice(waiting.indexOf(begin), 1)
        resolve(null)
      }
      const begin = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve(createSlot())
      }
      waiting.push(begin)
      signal.addEventListener('abort', giveUp, { once: true })
      return promise
    },
  }
}

type Opening = { server: SmtpServer; limits: SmtpLimits; dial: Dial }

async function openSession({ server, limits, dial }: Opening, signal: AbortSignal): Promise<Session> {
  const { auth, ...options } = connectionOptions(server, limits)
  const Connection = await loadConnection()
  // nodemailer must not resolve the name itself
  const connection = new Connection({
    ...options,
    connection: await dial(server, { withinMs: limits.connectMs, signal }),
  })
  const abort = (): void => connection.close()
  signal.addEventListener('abort', abort)
  try {
    signal.throwIfAborted()
    const greeting = await connect(connection, auth, dial)
    return createSession(connection, { greeting, waits: limits, login: server.login })
  } catch (error) {
    connection.close()
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

export function connect(
  connection: SMTPConnection,
  auth: { user: string; pass: string } | undefined,
  { mustLogIn = false }: { mustLogIn?: boolean },
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  connection.on('error', reject)
  connection.on('end', () => reject({ code: 'ECONNECTION' }))
  connection.connect((failed) => {
    if (failed) return reject(failed)
    const greeting = connection.lastServerResponse || ''
    if (auth && mustLogIn && !connection.allowsAuth) return reject({ code: 'ENOLOGIN' })
    if (!auth || !connection.allowsAuth) return resolve(greeting)
    connection.login(auth, (refused) => (refused ? reject(refused) : resolve(greeting)))
  })
  return promise
}

export const connectionOptions = ({ host, port, isSecure, login, isTlsOptional }: SmtpServer, limits: SmtpLimits) => ({
  host,
  port,
  secure: isSecure,
  ...(login === null ? {} : { auth: { user: login.user, pass: login.password } }),
  // a password always requires TLS; without one, this machine needs none
  requireTLS: !isSecure && (login !== null || !(isTlsOptional || isLoopback(host))),
  // servers on this machine have no trusted certificate
  tls: { rejectUnauthorized: !(isTlsOptional || isLoopback(host)) },
  connectionTimeout: limits.connectMs,
  greetingTimeout: limits.connectMs,
  dnsTimeout: limits.connectMs,
  socketTimeout: limits.answerMs,
})

type SmtpError = { code?: string; responseCode?: number; response?: string; syscall?: string; message?: string }

/** Tells broken connections from those that never opened or failed TLS. */
function namedError(said: SmtpError): SmtpError {
  // the reply to STARTTLS isn't about an email
  if (said.code === 'ETLS') return { code: said.code }
  if (said.code !== 'ESOCKET') return said
  if (said.syscall === 'connect') return { code: 'EREFUSED' }
  if (/WRONG_VERSION_NUMBER/.test(said.message ?? '')) return { code: 'EPLAIN' }
  // an alert is the server's opinion of our certificate
  return /^(?!.*alert).*(certificate|altname)/i.test(said.message ?? '') ? { code: 'EUNTRUSTED' } : said
}

export function readConnectError(error: unknown, login: SmtpServer['login']): Outcome {
  const { code = 'UNKNOWN', responseCode = 0, response = '' } = namedError(error as SmtpError)
  // any other code is no refusal: the server is out of step
  if (responseCode < 400 || responseCode > 599) return { is: 'unreachable', reason: code.toLowerCase() }
  return readRefusal({ code: responseCode, text: response }, 'session', login)
}
