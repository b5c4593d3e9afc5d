/** The settings of double opt-in: whether people are asked to confirm their address, and in which words. */
import { cleanText } from '../core/visible-text.ts'
import type { FieldError } from '../core/refusals.ts'
import type { Mail, OptIn, OptInText } from '../store/message-types.ts'

export type { OptIn, OptInText }

/** How long a link works. */
const OPT_IN_DAYS = 7
const MOST_DAYS = 30

export const DEFAULT_TEXT: OptInText = {
  subject: 'Confirm your email address for {{ app.name }}',
  body: `Someone entered this email address at {{ app.name }}. If it was you, confirm that you want emails from {{ app.name }}.

If it wasn't you, ignore this email.`,
  button: 'Confirm email address',
}

export const daysOf = (optIn: OptIn | null): number => optIn?.days ?? OPT_IN_DAYS

export const textOf = (optIn: OptIn | null): OptInText => ({
  subject: optIn?.subject ?? DEFAULT_TEXT.subject,
  body: optIn?.body ?? DEFAULT_TEXT.body,
  button: optIn?.button ?? DEFAULT_TEXT.button,
})

/** The button is a paragraph of its own, so that no text can leave out the link. */
export const writeRequest = ({ subject, body, button }: OptInText): Mail => ({
  subject,
  body: `${body}\n\n[${button}]({{ confirmUrl }})`,
  category: 'transactional',
})

const VERSION_CHARACTERS = 12

/** The same text has the same version. */
export const versionOf = ({ subject, body, button }: OptInText): string =>
  new Bun.CryptoHasher('sha256')
    .update(JSON.stringify([subject, body, button]))
    .digest('hex')
    .slice(0, VERSION_CHARACTERS)

const LINES = ['days', 'subject', 'body', 'button'] as const

/** What the form shows. */
export type OptInForm = Record<(typeof LINES)[number], string> & { isOn: boolean; storesIp: boolean }

export const readOptInForm = (text: (name: string) => string): OptInForm => ({
  ...(Object.fromEntries(LINES.map((name) => [name, text(name)])) as Record<(typeof LINES)[number], string>),
  isOn: text('isOn') !== '',
  storesIp: text('storesIp') !== '',
})

export const writeOptIn = (optIn: OptIn | null): OptInForm => ({
  ...textOf(optIn),
  days: String(daysOf(optIn)),
  isOn: optIn?.isOn ?? false,
  storesIp: optIn?.storesIp ?? false,
})

const MOST_CHARACTERS = { subject: 300, body: 5_000, button: 60 } as const

/** What stays as the default is stored as such, so that it keeps up with it. */
export function readOptIn(form: OptInForm): { settings: { optIn: OptIn } } | { errors: FieldError[] } {
  const errors: FieldError[] = []
  const refuse = (field: string, message: string): null => {
    errors.push({ field, code: 'invalid', message })
    return null
  }
  const line = (name: 'subject' | 'button'): string | null => {
    const text = form[name].trim()
    if (text === '' || text === DEFAULT_TEXT[name]) return null
    const most = MOST_CHARACTERS[name]
    const isFit = text.length <= most && cleanText(text) === text
    return isFit ? text : refuse(name, `Enter one line of up to ${most} characters.`)
  }
  const subject = line('subject')
  const body = form.body.replaceAll('\r\n', '\n').trim()
  const isLong = body.length > MOST_CHARACTERS.body
  const button = line('button')
  const days = form.days.trim()
  const optIn = {
    isOn: form.isOn,
    days: days === '' || Number(days) === OPT_IN_DAYS ? null : readDays(days, refuse),
    storesIp: form.storesIp,
    subject,
    body: body === '' || body === DEFAULT_TEXT.body ? null : body,
    button,
  }
  if (isLong) refuse('body', 'Enter up to 5,000 characters.')
  if (button !== null && /[[\]\\]/.test(button)) refuse('button', 'Leave out square brackets and backslashes.')
  return errors.length > 0 ? { errors } : { settings: { optIn } }
}

function readDays(text: string, refuse: (field: string, message: string) => null): number | null {
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0
  return days >= 1 && days <= MOST_DAYS ? days : refuse('days', `Enter a whole number from 1 to ${MOST_DAYS}.`)
}
