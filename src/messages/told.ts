import type { MessageContent } from '../store/message-types.ts'
import { cleanText } from '../core/visible-text.ts'

/** Who and what a sentence is about. Times are ms UTC. */
export type Told = {
  person: { firstName: string | null; email: string | null }
  content: MessageContent
  triggeredAt: number
  /** when it was judged */
  at: number
  /** that of the app (IANA name): sentences tell times by it, as the pages around them do */
  zone: string
}

const NAME_CHARACTERS = 40

/** The first name, else the address: sentences must read well with either. */
export function sayName({ firstName, email }: Told['person']): string {
  const name = cleanText(firstName ?? '')
  return name === undefined ? (email ?? 'This person') : Array.from(name).slice(0, NAME_CHARACTERS).join('')
}

/** What started the delivery, as the end of "2 minutes after ...". */
export function sayTrigger({ trigger }: MessageContent): string {
  if ('event' in trigger) return 'the event'
  if ('page' in trigger) return 'the page view'
  return 'contact' in trigger ? 'they were added' : 'they got the tag'
}
