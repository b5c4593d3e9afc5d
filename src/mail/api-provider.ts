/** Sending through the HTTP API of an email provider: each email is handed over just before its request. */
import { type ApiAccount, originOf } from '../core/mail-apis.ts'
import { isJsonObject } from '../core/json.ts'
import { readLimited } from './limited-body.ts'
import type { AccountNote, ServerCheck } from '../messages/mailer.ts'
import { type ApiAnswer, type ApiRequest, type MailApi, OF_ACCOUNT } from './api.ts'
import { type Dial, dialAny } from './dial.ts'
import { POSTMARK } from './postmark.ts'
import { type Outcome, type Provider, reasonOf, replyOf } from './provider.ts'
import { RESEND } from './resend.ts'
import { SES } from './ses.ts'
import { readConnectError } from './smtp.ts'
import { readServerAnswer } from './smtp-session.ts'

export type ApiLimits = { connectMs: number; answerMs: number }

/** The answer comes before a stopping server gives up waiting for it (`--stop-mail-s`). */
export const API_LIMITS: ApiLimits = { connectMs: 10_000, answerMs: 45_000 }

/** An API that answered so recently needs no other connection to see that it can be reached. */
const REACHABLE_MS = 10_000
const ANSWER_BYTES = 64 * 1024
const MOST_RETRY_AFTER_S = 86_400

const APIS: Record<ApiAccount['api'], MailApi> = { postmark: POSTMARK, resend: RESEND, ses: SES }

export function createApiProvider(account: ApiAccount, limits = API_LIMITS, dial: Dial = dialAny): Provider {
  const api = APIS[account.api]
  const reach = createReach(account, limits, dial)

  return {
    isOneStep: true,
    ...(api.repeatsForMs === null ? {} : { repeats: { forMs: api.repeatsForMs, account: hashOf(account) } }),
    async compose(fields) {
      const raw = Buffer.from(JSON.stringify(await api.writeEmail(fields, account)))
      return { from: fields.from.address, to: fields.to.address, raw, repeatKey: fields.repeatKey ?? fields.messageId }
    },
    async send(mail, handOver, { onLogin = () => {}, signal } = {}) {
      const unreachable = await reach.find(signal)
      if (unreachable) return unreachable
      const request = await api.writeSending(mail, account)
      if (!(await handOver())) return { is: 'withheld' }
      const answer = await ask(account, request, limits)
      if ('is' in answer) return answer
      reach.note()
      const outcome = readAnswer(account, answer)
      if (!(outcome.is === 'refused' && outcome.about === 'session')) onLogin()
      return outcome
    },
    close() {},
  }
}

const hashOf = ({ api, key }: ApiAccount): string => `${api} ${Bun.hash(key).toString(36)}`

/**
 * A request that fails may have arrived, so the connection is tried first: without one, nothing is handed over, and no
 * email's outcome becomes unknown.
 */
function createReach(account: ApiAccount, { connectMs }: ApiLimits, dial: Dial) {
  let reachedAt = Number.NEGATIVE_INFINITY
  let trying: Promise<Outcome | null> | null = null
  const note = (): void => void (reachedAt = performance.now())
  const attempt = async (): Promise<Outcome | null> => {
    try {
      const { host, port, key } = account
      const login = { user: '', password: key }
      const socket = await dial({ host, port: port ?? 443, login }, { withinMs: connectMs })
      socket.destroy()
      note()
      return null
    } catch (error) {
      return readConnectError(error, null)
    } finally {
      trying = null
    }
  }
  return {
    note,
    /** null when the API can be reached */
    async find(signal?: AbortSignal): Promise<Outcome | null> {
      if (performance.now() - reachedAt > REACHABLE_MS) {
        const unreachable = await (trying ??= attempt())
        if (unreachable) return unreachable
      }
      return signal?.aborted ? { is: 'unreachable', reason: 'stopped' } : null
    },
  }
}

type Answered = ApiAnswer & { retryAfterMs: number | null }

/** Redirects are not followed: the API has one address. */
async function ask(
  account: ApiAccount,
  { path, headers, body }: ApiRequest,
  { answerMs }: ApiLimits,
): Promise<Answered | Outcome> {
  const signal = AbortSignal.timeout(answerMs)
  try {
    const answer = await fetch(`${originOf(account)}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { Accept: 'application/json', 'User-Agent': 'Eventpost', ...headers },
      body,
      redirect: 'manual',
      signal,
    })
    const header = (name: string): string | null => answer.headers.get(name)
    return {
      status: answer.status,
      header,
      body: await readBody(answer.body),
      retryAfterMs: readRetryAfter(header('retry-after')),
    }
  } catch (error) {
    return readRequestError(error)
  }
}

/** Whatever happens to the body, the status tells whether the email was accepted. */
async function readBody(body: AsyncIterable<Uint8Array> | null): Promise<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse((await readLimited(body, ANSWER_BYTES)) ?? '')
    return isJsonObject(read) ? read : {}
  } catch {
    return {}
  }
}

/** Seconds; a date is not used by any of these providers. */
function readRetryAfter(text: string | null): number | null {
  return text !== null && /^\d{1,9}(?:\.\d{1,9})?$/.test(text)
    ? Math.min(Number(text), MOST_RETRY_AFTER_S) * 1_000
    : null
}

/** The connection was never made. Any other failure may have come after the request. */
const BEFORE_REQUEST = new Map([
  ['ECONNREFUSED', 'erefused'],
  ['ENOTFOUND', 'edns'],
  ['EPROTO', 'eplain'],
])
const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/

function readRequestError(error: unknown): Outcome {
  const { name, code } = error as { name?: string; code?: unknown }
  const known = BEFORE_REQUEST.get(String(code)) ?? (UNTRUSTED.test(String(code)) ? 'euntrusted' : null)
  if (known !== null) return { is: 'unreachable', reason: known }
  return { is: 'unknown', reason: name === 'TimeoutError' ? 'etimedout' : 'econnection' }
}

const UNAUTHORIZED = 401
const REQUEST_TIMEOUT = 408
const TOO_MANY_REQUESTS = 429
/** A gateway in front of the provider, such as Cloudflare (520 to 524), doesn't know whether the email was accepted. */
const OF_GATEWAY: readonly number[] = [502, 504, 520, 522, 524]

function readAnswer(account: ApiAccount, answer: Answered): Outcome {
  const api = APIS[account.api]
  const { status } = answer
  if ((status >= 200 && status < 300) || api.isAccepted(answer)) return { is: 'sent' }
  if (OF_GATEWAY.includes(status)) return { is: 'unknown', reason: 'etimedout' }
  if (status < 400) return { is: 'unreachable', reason: 'eprotocol' }
  const { error, message } = api.readError(answer)
  const { about, ...refusal } = isOfService(status) ? OF_ACCOUNT : api.readRefusal(answer)
  return {
    is: 'refused',
    code: status,
    enhanced: null,
    answer: readServerAnswer(typeof message === 'string' ? message : '', { user: '', password: account.key }),
    about,
    api: {
      ...refusal,
      error: readErrorCode(error),
      isLimit: status === TOO_MANY_REQUESTS || api.isLimit?.(answer) === true,
      retryAfterMs: answer.retryAfterMs,
    },
  }
}

/** It is stored and shown, so it may only be a code. */
const readErrorCode = (error: unknown): string | null =>
  error != null && /^[A-Za-z0-9_]{1,40}$/.test(String(error)) ? String(error) : null

/** It is about the login, the rate or the provider, and not about this email. */
const isOfService = (status: number): boolean =>
  status >= 500 || [UNAUTHORIZED, REQUEST_TIMEOUT, TOO_MANY_REQUESTS].includes(status)

/** Asks for what sending needs, without sending. */
export async function checkApi(
  account: ApiAccount,
  { limits, dial, onFailure }: { limits: ApiLimits; dial: Dial; onFailure: (outcome: Outcome) => void },
): Promise<ServerCheck> {
  const unreachable = await createReach(account, limits, dial).find()
  const { outcome, note } = unreachable ? { outcome: unreachable } : await askChecks(account, limits)
  if (outcome.is === 'sent')
    return { is: 'fine', isSecure: account.port === null, login: 'key', ...(note ? { note } : {}) }
  onFailure(outcome)
  const answer = outcome.is === 'refused' ? outcome.answer : undefined
  return { is: 'failed', reason: reasonOf(outcome), reply: replyOf(outcome), answer }
}

type Checked = { outcome: Outcome; note?: AccountNote | null }

async function askChecks(account: ApiAccount, limits: ApiLimits): Promise<Checked> {
  const api = APIS[account.api]
  let note: AccountNote | null = null
  for (const request of await api.listChecks(account)) {
    const answer = await ask(account, request, limits)
    if ('is' in answer) return { outcome: answer }
    const outcome = readAnswer(account, answer)
    if (outcome.is !== 'sent' && !api.isForSendingOnly(answer)) return { outcome }
    if (outcome.is === 'sent') note = api.readNote?.(answer) ?? note
  }
  return { outcome: { is: 'sent' }, note }
}
