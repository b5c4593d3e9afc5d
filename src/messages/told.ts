import type { MessageContent } from '../store/message-types.ts'
import { cleanText } from '../core/visible-text.ts'

/** Times are ms UTC. */
export type Told = {
  person: { firstName: string | null; email: string | null }
  content: MessageContent
  triggeredAt: number
  at: number
  /** the app's (IANA name) */
  zone: string
}

const NAME_CHARACTERS = 40

/** The first name, else the address. */
export function sayName({ firstName, email }: Told['person']): string {
  const name = cleanText(firstName ?? '')
  return name === undefined ? (email ?? 'This person') : Array.from(name).slice(0, NAME_CHARACTERS).join('')
}

/** Completes "2 minutes after". */
export function sayTrigger({ trigger }: MessageContent): string {
  if ('event' in trigger) return 'the event'
  if ('page' in trigger) return 'the page view'
  return 'contact' in trigger ? 'they were added' : 'they got the tag'
}
