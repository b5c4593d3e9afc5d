/** SMTP with a connection pool; each email is handed over just before its final dot. */
import { MOST_CONNECTIONS } from '../accounts/sender-settings.ts'
import { checkServerIdentity, type ConnectionOptions } from 'node:tls'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import { MINUTE_MS } from '../core/clock.ts'
import { isLoopback, type SmtpServer } from '../core/mail-addresses.ts'
import type { ComposedMail } from './compose.ts'
import { type Dial, dialAny } from './dial.ts'
import { loadConnection } from './nodemailer.ts'
import { mayBeLimit, readLimit } from './limit-replies.ts'
import type { HandOver, Outcome, Provider } from './provider.ts'
import { CLOSING, createSession, readRefusal, type Sending, type Session } from './smtp-session.ts'
import { createSlots, type Slot } from './slots.ts'

export type SmtpLimits = {
  connections: number
  connectMs: number
  /** some servers let everyone wait a minute (RFC 5321, section 4.5.3.2.1) */
  greetingMs: number
  answerMs: number
  /** for everything before the final dot */
  mailMs: number
  /** for the reply to the final dot (RFC 5321, section 4.5.3.2.6) */
  dotMs: number
  /** a connection that waits longer makes room for another, up to a limit */
  slowGreetingMs: number
  slowDotMs: number
  slowConnections: number
}

/** `mailMs` is below a claim's lease, so that the email isn't claimed again before the hand-over. */
export const SMTP_LIMITS: SmtpLimits = {
  connections: MOST_CONNECTIONS,
  connectMs: 10_000,
  greetingMs: 75_000,
  answerMs: MINUTE_MS,
  mailMs: 120_000,
  dotMs: 600_000,
  slowGreetingMs: 10_000,
  slowDotMs: 10_000,
  slowConnections: 30,
}

/** Closed before the server does it (RFC 5321, section 4.5.3.2.7), and after this many emails. */
const IDLE_MS = 4 * MINUTE_MS
const EMAILS_A_CONNECTION = 100
/** Retries when the server had dropped an idle connection. */
const NEW_BEGINNINGS = 2
/** A server may count a connection for a moment after it was closed. */
const CLOSING_MS = 5_000

export function createSmtpProvider(
  server: SmtpServer,
  limits: SmtpLimits = SMTP_LIMITS,
  dial: Dial = dialAny,
): Provider {
  const idle = new Map<Session, ReturnType<typeof setTimeout>>()
  const slots = createSlots(limits, () => performance.now())
  let [open, lastOpenAt, refusedAllAt, isClosed] = [0, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, false]

  const takeIdle = (): Session | undefined => {
    const [session, timer] = [...idle].findLast(([one]) => one.isOpen()) ?? []
    clearTimeout(timer)
    if (session) idle.delete(session)
    return session
  }

  const keep = (session: Session, slot: Slot): void => {
    if (!session.isOpen()) return
    const isSpare = slot.busyOthers() + idle.size >= slots.allowed()
    const isWorn = session.count() >= EMAILS_A_CONNECTION && !slots.isLearned()
    if (isClosed || isSpare || isWorn) return session.quit()
    idle.set(
      session,
      setTimeout(() => session.quit(), IDLE_MS),
    )
  }

  const start = async (signal: AbortSignal): Promise<Session | Outcome> => {
    try {
      const session = await openSession({ server, limits, dial }, signal)
      open += 1
      slots.noteOpened(open)
      void session.ended.then(() => {
        clearTimeout(idle.get(session))
        idle.delete(session)
        open -= 1
        lastOpenAt = performance.now()
      })
      return session
    } catch (error) {
      return signal.aborted
        ? { is: 'unreachable', reason: String(signal.reason) }
        : readConnectError(error, server.login)
    }
  }

  /** `wasAsked`: whether the hand-over has begun; then it is never retried. */
  const sendOver = async (mail: ComposedMail, { slot, onLogin, onSlow, wasAsked, ...sending }: Over): Promise<Sent> => {
    for (let left = NEW_BEGINNINGS; ; left -= 1) {
      const reused = left > 0 ? takeIdle() : undefined
      slot.watch(limits.slowGreetingMs, onSlow)
      const session = reused ?? (await start(sending.signal))
      slot.unwatch()
      if ('is' in session) return { outcome: session, session: null }
      if (!reused) onLogin()
      const outcome = await session.send(mail, sending)
      if (reused && !wasAsked() && isDropped(outcome)) continue
      onLogin()
      return { outcome, session }
    }
  }

  /** The number of other connections the server may have meant. null: the refusal is not about it. */
  const countOthers = ({ outcome, session }: Sent, slot: Slot): number | null => {
    if (outcome.is !== 'refused') return null
    const kind = readLimit(outcome)
    const isAboutCount = kind === 'connections' || (session === null && kind === null && mayBeLimit(outcome))
    return isAboutCount ? slot.others() + idle.size : null
  }
  const isAlone = (others: number): boolean => others === 0 && !hadOpen(performance.now() - CLOSING_MS)
  const hadOpen = (since: number): boolean => open > 0 || lastOpenAt > since

  return {
    async send(mail, handOver, { onLogin = () => {}, onSlow, signal } = {}) {
      const giveUp = followSignal(signal)
      const timer = setTimeout(() => giveUp.abort('eabort'), limits.mailMs)
      let isAsked = false
      const ask: HandOver = () => {
        isAsked = true
        return handOver()
      }
      const sending = { handOver: ask, onLogin, onSlow, signal: giveUp.signal, wasAsked: () => isAsked }
      let crowded: { outcome: Outcome; at: number } | null = null
      const tryOnce = async (): Promise<Outcome | null> => {
        const slot = await slots.take(giveUp.signal)
        if (!slot) return crowded ? asCrowded(crowded.outcome) : givenUp(giveUp.signal)
        if (crowded && refusedAllAt >= crowded.at && !hadOpen(crowded.at)) {
          slot.leave()
          return crowded.outcome
        }
        const sent = await sendOver(mail, { ...sending, slot, onDot: () => slot.watch(limits.slowDotMs, onSlow) })
        const others = isAsked ? null : countOthers(sent, slot)
        const isOver = others === null || isAlone(others)
        const waitMs = isOver ? 0 : slots.noteRefused(others)
        if (sent.session) keep(sent.session, slot)
        // the server refuses every connection, so this is not a limit on their number
        if (isOver && others !== null) {
          refusedAllAt = performance.now()
          slots.forget()
        }
        slot.leave()
        if (isOver) return sent.outcome
        crowded = { outcome: sent.outcome, at: performance.now() }
        if (others === 0) await sleep(waitMs, giveUp.signal)
        return null
      }
      let outcome: Outcome | null = null
      while (outcome === null) outcome = await tryOnce()
      clearTimeout(timer)
      giveUp.unfollow()
      return outcome
    },
    connections: { allowed: slots.allowed, findLearned: slots.findLearned },
    close(): void {
      isClosed = true
      for (const session of idle.keys()) session.quit()
    },
  }
}

type Over = Sending & { slot: Slot; onLogin: () => void; onSlow: (() => void) | undefined; wasAsked: () => boolean }
type Sent = { outcome: Outcome; session: Session | null }

/** The server let others in all the time. */
const asCrowded = (outcome: Outcome): Outcome => (outcome.is === 'refused' ? { ...outcome, isCrowded: true } : outcome)

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
  clearTimeout(timer)
}

const givenUp = (signal: AbortSignal): Outcome => ({ is: 'unreachable', reason: String(signal.reason) })

/** The server closed a connection that was used before, perhaps after so many emails. */
const isDropped = (outcome: Outcome): boolean =>
  (outcome.is === 'unreachable' && ['econnection', 'esocket', 'eprotocol'].includes(outcome.reason)) ||
  (outcome.is === 'refused' && outcome.code === CLOSING)

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

export const connectionOptions = (server: SmtpServer, limits: SmtpLimits) => {
  const { host, port, isSecure, login, isTlsOptional } = server
  return {
    host,
    port,
    secure: isSecure,
    ...(login === null ? {} : { auth: { user: login.user, pass: login.password } }),
    // a password always requires TLS; without one, this machine needs none
    requireTLS: !isSecure && (login !== null || !(isTlsOptional || isLoopback(host))),
    tls: trustOf(server),
    connectionTimeout: limits.connectMs + limits.greetingMs,
    greetingTimeout: limits.greetingMs,
    dnsTimeout: limits.connectMs,
    socketTimeout: Math.max(limits.answerMs, limits.greetingMs),
  }
}

/** Servers on this machine have no trusted certificate. The server's own needs no name. */
function trustOf({ host, isTlsOptional, certificates }: SmtpServer): ConnectionOptions {
  if (certificates === undefined) return { rejectUnauthorized: !(isTlsOptional || isLoopback(host)) }
  return {
    rejectUnauthorized: true,
    ca: certificates.map(toPem),
    allowPartialTrustChain: true,
    checkServerIdentity: (name, { raw, ...peer }) =>
      certificates.includes(raw.toString('base64url')) ? undefined : checkServerIdentity(name, { raw, ...peer }),
  }
}

const toPem = (der: string): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(der, 'base64url').toString('base64')}\n-----END CERTIFICATE-----\n`

type SmtpError = { code?: string; responseCode?: number; response?: string; syscall?: string; message?: string }

/** Tells broken connections from those that never opened or failed TLS. */
function namedError(said: SmtpError): SmtpError {
  // the reply to STARTTLS isn't about an email
  if (said.code === 'ETLS') return { code: said.code }
  if (said.code !== 'ESOCKET') return said
  if (said.syscall === 'connect') return { code: 'EREFUSED' }
  if (/WRONG_VERSION_NUMBER/.test(said.message ?? '')) return { code: 'EPLAIN' }
  return readCertificateError(said.message ?? '') ?? said
}

function readCertificateError(said: string): SmtpError | null {
  // an alert is the server's opinion of our certificate
  if (/alert/i.test(said) || !/certificate|altname/i.test(said)) return null
  if (/altname/i.test(said)) return { code: 'ENAME' }
  return { code: /expired|not yet valid/i.test(said) ? 'EEXPIRED' : 'EUNTRUSTED' }
}

export function readConnectError(error: unknown, login: SmtpServer['login']): Outcome {
  const { code = 'UNKNOWN', responseCode = 0, response = '' } = namedError(error as SmtpError)
  // any other code is no refusal: the server is out of step
  if (responseCode < 400 || responseCode > 599) return { is: 'unreachable', reason: code.toLowerCase() }
  return readRefusal({ code: responseCode, text: response }, 'session', login)
}
