import type { ComposedMail } from './compose.ts'

/**
 * `withheld`: the final check refused. `refused`: the server said no. `unreachable`: nothing was sent. `unknown`:
 * everything was sent, but no reply came. `answer` is for the log only.
 */
export type Outcome =
  | { is: 'sent' }
  | { is: 'withheld' }
  | { is: 'refused'; code: number; enhanced: string | null; answer?: string; about: About }
  | { is: 'unreachable'; reason: string }
  | { is: 'unknown'; reason: string }

/** What would fail again: this `sender`, or everything in this `session`. */
export type About = 'recipient' | 'mail' | 'sender' | 'session'

type Refused = Pick<Outcome & { is: 'refused' }, 'about' | 'code'>

const isLoginRefused = ({ about, code }: Refused): boolean =>
  about === 'session' || (about === 'sender' && (code === 530 || code === 535))

/** A server that asks for a login at RCPT doesn't refuse the recipient. */
export const isLoginAsked = ({ about, code }: Refused): boolean =>
  about === 'recipient' && (code === 530 || code === 535)

/** The server asks for a pause. */
export const asksForPause = ({ code }: Pick<Refused, 'code'>): boolean => code === 421 || code === 454

const isSenderRefused = (refused: Refused): boolean =>
  refused.about === 'sender' && !asksForPause(refused) && !isLoginRefused(refused)

/** The stored code (see deliveries/describe-reason.ts). */
export const reasonOf = (outcome: Outcome): string => {
  if (outcome.is === 'refused') return `${isSenderRefused(outcome) ? 'from' : 'smtp'}_${outcome.code}`
  return 'reason' in outcome ? outcome.reason : outcome.is
}

/** Only codes such as `550 5.7.1` are stored, because the text may be anything. */
export const replyOf = (outcome: Outcome): string | undefined => {
  if (outcome.is !== 'refused') return undefined
  return outcome.enhanced === null ? String(outcome.code) : `${outcome.code} ${outcome.enhanced}`
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

/** Called when only the final dot is missing: commits the hand-over and returns whether to send. */
export type HandOver = () => Promise<boolean>

export type SendOptions = {
  /** connected and logged in: later failures are about the email or its sender */
  onLogin?: () => void
  /** still waiting for the reply to the final dot: another email may be sent */
  onSlow?: () => void
  /** gives the email up, unless it is being handed over */
  signal?: AbortSignal
}

export type Provider = {
  /** Never rejects. Calls `handOver` at most once, just before the final dot. */
  send(mail: ComposedMail, handOver: HandOver, options?: SendOptions): Promise<Outcome>
  /** Finishes what is on its way and closes the connections. */
  close(): void
}
