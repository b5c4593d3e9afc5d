/** What the sender asks of whoever takes mail out. */
import type { ComposedMail } from './compose.ts'

/**
 * What became of a mail. `withheld`: the hand-over was refused, and nothing was sent. `refused`: the server said no,
 * with `code` and perhaps an enhanced one such as 5.1.1; `answer` is its text, for the log alone; `about` tells what it
 * meant. `unreachable`: nothing was sent. `unknown`: all of it was sent, and no answer came that says what became of it.
 */
export type Outcome =
  | { is: 'sent' }
  | { is: 'withheld' }
  | { is: 'refused'; code: number; enhanced: string | null; answer?: string; about: About }
  | { is: 'unreachable'; reason: string }
  | { is: 'unknown'; reason: string }

/** Another mail would fare no better with the same `sender`, and none in this `session`. */
export type About = 'recipient' | 'mail' | 'sender' | 'session'

type Refused = Pick<Outcome & { is: 'refused' }, 'about' | 'code'>

/** Whether a server refuses whoever is logged in, or asks who that is (RFC 4954). */
const isLoginRefused = ({ about, code }: Refused): boolean =>
  about === 'session' || (about === 'sender' && (code === 530 || code === 535))

/** Whether a server that knows nobody here asks for a login when it hears of a recipient: it is not about them. */
export const isLoginAsked = ({ about, code }: Refused): boolean =>
  about === 'recipient' && (code === 530 || code === 535)

/** Whether a server asks for a pause, whoever sends. */
export const isPlea = ({ code }: Pick<Refused, 'code'>): boolean => code === 421 || code === 454

const isSenderRefused = (refused: Refused): boolean =>
  refused.about === 'sender' && !isPlea(refused) && !isLoginRefused(refused)

/** The code that is kept of what became of a mail (deliveries/reason-words.ts says it in words). */
export const reasonOf = (outcome: Outcome): string => {
  if (outcome.is === 'refused') return `${isSenderRefused(outcome) ? 'from' : 'smtp'}_${outcome.code}`
  return 'reason' in outcome ? outcome.reason : outcome.is
}

/** The codes of a refusal, such as `550 5.7.1`: what is kept and shown of it, because its text may be anything. */
export const replyOf = (outcome: Outcome): string | undefined => {
  if (outcome.is !== 'refused') return undefined
  return outcome.enhanced === null ? String(outcome.code) : `${outcome.code} ${outcome.enhanced}`
}

/** What a mail server did not take, with its full answer: for the log. */
export type NoteServer = (line: Asked & { reason: string; answer: string }) => void
/** What it was asked for: a delivery by its id, or a test email or a check of the server. */
type Asked = { about: string; appId: string | null; server: string }

export function noteAnswer(
  { noteServer }: { noteServer: NoteServer },
  { outcome, ...asked }: Asked & { outcome: Outcome },
): void {
  if (outcome.is !== 'refused') return
  noteServer({ ...asked, reason: reasonOf(outcome), answer: outcome.answer ?? '' })
}

/** Asked when all of the mail but its end is out: commits the hand-over and says whether the mail may go. */
export type HandOver = () => Promise<boolean>

export type SendOptions = {
  /** a server has been reached and has taken the login: what fails afterwards is about the email or its sender */
  onLogin?: () => void
  /** the email has its final dot and still waits for the reply: another may be sent meanwhile */
  onSlow?: () => void
  /** aborted when the email is to be given up, unless it is being handed over */
  signal?: AbortSignal
}

export type Provider = {
  /** Never rejects, and calls `handOver` at most once an attempt, just before nothing can be taken back. */
  send(mail: ComposedMail, handOver: HandOver, options?: SendOptions): Promise<Outcome>
  /** Lets what is on its way finish, and ends the connections. */
  close(): void
}
