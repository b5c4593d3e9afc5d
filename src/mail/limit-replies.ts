/** Tells refusals because of a limit of the mail server from those of one email. */
import type { Outcome } from './provider.ts'

/** What the server limits: connections at a time, or emails in a period. */
export type LimitKind = 'connections' | 'rate'

type Refusal = Pick<Outcome & { is: 'refused' }, 'code' | 'enhanced' | 'answer' | 'api'>

const LIMIT_CODES: readonly number[] = [421, 450, 451, 452, 454]

/** About the recipient's address or mailbox (RFC 3463), or told to come back (RFC 6647). */
const OF_RECIPIENT = /^4\.[12]\./
const ABOUT_RECIPIENT = /mailbox|gr[ea]y-?list/i
/** The server's patience with a connection. */
const ABOUT_TIME = /tim(?:ed|e) ?(?:out|limit)/i
const ABOUT_CONNECTIONS = /\bconnections?\b|\bsessions?\b|concurren|simultaneous/i
const TOO_MANY = /too many|limit|maxim|exceed|concurren|simultaneous/i
const ABOUT_RATE = /\brates?\b/i
const TOO_MUCH =
  /throttl|quota|\blimit|too (?:many|much|fast|quickly)|slow(?:ing)? down|per (?:second|minute|hour|day)|hourly|daily/i

/** The codes that may stand for a limit, unless they are about the recipient. */
export const mayBeLimit = ({ code, enhanced, answer = '', api }: Refusal): boolean =>
  api === undefined && LIMIT_CODES.includes(code) && !OF_RECIPIENT.test(enhanced ?? '') && !ABOUT_RECIPIENT.test(answer)

/** A temporary refusal that speaks of a limit: in its text, or by the codes of an API. */
export function readLimit({ code, enhanced, answer = '', api }: Refusal): LimitKind | null {
  if (api !== undefined) return api.isLimit ? 'rate' : null
  const isTemporary = code >= 400 && code < 500
  if (!isTemporary || OF_RECIPIENT.test(enhanced ?? '') || ABOUT_RECIPIENT.test(answer) || ABOUT_TIME.test(answer))
    return null
  if (ABOUT_RATE.test(answer)) return 'rate'
  if (ABOUT_CONNECTIONS.test(answer) && TOO_MANY.test(answer)) return 'connections'
  return TOO_MUCH.test(answer) ? 'rate' : null
}
