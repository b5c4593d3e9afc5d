import { SUPPRESSED_THERE } from '../deliveries/describe-reason.ts'
import { type ComposedMail, composeMail, type EmailFields } from './compose.ts'

/**
 * `withheld`: the final check refused. `refused`: the server said no. `unreachable`: nothing was sent. `unknown`:
 * everything was sent, but no reply came. `answer` is stored nowhere but in the log. `isCrowded`: other connections
 * were open all the time.
 */
export type Outcome =
  | { is: 'sent' }
  | { is: 'withheld' }
  | {
      is: 'refused'
      code: number
      enhanced: string | null
      answer?: string
      about: About
      api?: ApiRefusal
      isCrowded?: true
    }
  | { is: 'unreachable'; reason: string }
  | { is: 'unknown'; reason: string }

/** What would fail again: this `sender`, or everything in this `session`. */
export type About = 'recipient' | 'mail' | 'sender' | 'session'

/**
 * By an HTTP API, whose `code` is a status. `error`: its own code. `isSuppressed`: the provider has the address on its
 * suppression list. `isLimit`: the account may send no more for now. `retryAfterMs`: null if it named no time.
 */
export type ApiRefusal = {
  error: string | null
  isFinal: boolean
  isSuppressed: boolean
  isLimit: boolean
  retryAfterMs: number | null
}

type Refused = Pick<Outcome & { is: 'refused' }, 'about' | 'code' | 'api'>

const isLoginRefused = ({ about, code }: Refused): boolean =>
  about === 'session' || (about === 'sender' && (code === 530 || code === 535))

/** A server that asks for a login at RCPT doesn't refuse the recipient. */
export const isLoginAsked = ({ about, code }: Refused): boolean =>
  about === 'recipient' && (code === 530 || code === 535)

/** The server asks for a pause. */
export const asksForPause = ({ code, api }: Pick<Refused, 'code' | 'api'>): boolean =>
  api === undefined ? code === 421 || code === 454 : api.isLimit || api.retryAfterMs !== null

/** It would refuse the email again. */
export const isFinal = ({ code, api }: Pick<Refused, 'code' | 'api'>): boolean =>
  api === undefined ? code >= 500 : api.isFinal

const isSenderRefused = (refused: Refused): boolean =>
  refused.about === 'sender' && !asksForPause(refused) && !isLoginRefused(refused)

/** The stored code (see deliveries/describe-reason.ts). */
export const reasonOf = (outcome: Outcome): string => {
  if (outcome.is === 'refused') return isSenderRefused(outcome) ? `from_${outcome.code}` : reasonOfRefusal(outcome)
  return 'reason' in outcome ? outcome.reason : outcome.is
}

const reasonOfRefusal = ({ code, api }: Refused): string =>
  api === undefined ? `smtp_${code}` : api.isSuppressed ? SUPPRESSED_THERE : `api_${code}`

/** Only codes such as `550 5.7.1` are stored, because the text may be anything. */
export const replyOf = (outcome: Outcome): string | undefined => {
  if (outcome.is !== 'refused') return undefined
  const more = outcome.api ? outcome.api.error : outcome.enhanced
  return more === null ? String(outcome.code) : `${outcome.code} ${more}`
}

export type NoteServer = (line: Asked & { reason: string; answer: string }) => void
type Asked = { about: string; appId: string | null; server: string }

export function noteAnswer(
  { noteServer }: { noteServer: NoteServer },
  { outcome, ...asked }: Asked & { outcome: Outcome },
): void {
  if (outcome.is !== 'refused') return
  noteServer({ ...asked, reason: reasonOf(outcome), answer: outcome.answer ?? '' })
}

/** Called when only the final dot, or the request, is missing: commits the hand-over and returns whether to send. */
export type HandOver = () => Promise<boolean>

export type SendOptions = {
  /** the login was accepted: later failures are about the email or its sender */
  onLogin?: () => void
  /** still waiting for the reply to the final dot: another email may be sent */
  onSlow?: () => void
  /** gives the email up, unless it is being handed over */
  signal?: AbortSignal
}

/** Within this time, the provider takes a repeated email for the first one if both have the same key and account. */
export type Repeats = { forMs: number; account: string }

export type Provider = {
  /** Without it, emails are composed as MIME. @throws Error if the key can't sign */
  compose?: (fields: EmailFields) => ComposedMail | Promise<ComposedMail>
  /** One answer is about login, sender and recipient, so nobody is logged in before the hand-over. */
  isOneStep?: true
  repeats?: Repeats
  /** Never rejects. Calls `handOver` at most once, just before the final dot or the request. */
  send(mail: ComposedMail, handOver: HandOver, options?: SendOptions): Promise<Outcome>
  /** `allowed`: at a time, now. `findLearned`: from refusals, if there were any. */
  connections?: { allowed: () => number; findLearned: () => { most: number; msAgo: number } | null }
  /** Finishes what is on its way and closes the connections. */
  close(): void
}

/** null when the email can't be signed: nothing is sent unsigned. `provider` null: it is captured. */
export async function composeFor(provider: Provider | null, fields: EmailFields): Promise<ComposedMail | null> {
  try {
    return await (provider?.compose ?? composeMail)(fields)
  } catch {
    return null
  }
}
