/** Emails to members. Those about their sign-in contain no token and link to the sign-in page only. */
import type { MailSettings } from '../store/message-types.ts'
import type { Mailbox } from '../core/mail-addresses.ts'
import type { Clock } from '../core/clock.ts'

export type NoticeKind =
  | 'wrong_passwords'
  | 'wrong_codes'
  | 'password_changed'
  | 'two_step_on'
  | 'two_step_off'
  | 'recovery_codes_made'
  | 'recovery_code_used'

/** A paragraph, a heading, or a list. */
export type NoticePart = string | { heading: string } | { items: string[] }

/** `id`: of the email, if it may be sent again. `unsubscribeUrl`: ends notices of its kind. */
export type Notice = {
  subject: string
  paragraphs: NoticePart[]
  link: { text: string; url: string }
  id?: string
  unsubscribeUrl?: string
  /** why the member gets it */
  reason?: string
}

export type NoticeFacts = {
  email: string
  baseUrl: string
  at: ReturnType<Clock['now']>
  count?: number
  addresses?: number
}

type Words = { subject: string; what: (facts: NoticeFacts) => string; ifNotYou: string }

const TELL_OWNER = "If this wasn't you, change your password now, or ask an owner of your account for help."

const NOTICES: Record<NoticeKind, Words> = {
  wrong_passwords: {
    subject: 'Many failed sign-ins with your Eventpost email',
    what: ({ count = 0, addresses = 0 }) =>
      `Someone entered ${count} wrong passwords for your account, from ${countAddresses(addresses)}. None of them worked.`,
    ifNotYou:
      "If this wasn't you, someone is guessing your password. Each wrong attempt delays the next one, and you can still sign in. Use a password that you don't use anywhere else, and turn on two-step sign-in.",
  },
  wrong_codes: {
    subject: 'Someone may know your Eventpost password',
    what: ({ count = 0, addresses = 0 }) =>
      `Someone entered your password and then ${count} wrong codes, from ${countAddresses(addresses)}.`,
    ifNotYou: "If this wasn't you, someone knows your password. Change it now.",
  },
  password_changed: {
    subject: 'Your Eventpost password was changed',
    what: () => 'Your password was changed, and your other sessions have ended.',
    ifNotYou:
      "If this wasn't you, ask an owner of your account, or the operator of the installation, for a password link.",
  },
  two_step_on: {
    subject: 'Two-step sign-in for Eventpost was turned on',
    what: () => 'Two-step sign-in was turned on. Signing in now requires a code after your password.',
    ifNotYou: TELL_OWNER,
  },
  two_step_off: {
    subject: 'Two-step sign-in for Eventpost was turned off',
    what: () => 'Two-step sign-in was turned off. Signing in now requires only your password.',
    ifNotYou: TELL_OWNER,
  },
  recovery_codes_made: {
    subject: 'New recovery codes for Eventpost were created',
    what: () => 'New recovery codes were created. Your earlier ones no longer work.',
    ifNotYou: TELL_OWNER,
  },
  recovery_code_used: {
    subject: 'A recovery code was used to sign in to Eventpost',
    what: () => 'Someone signed in with your password and one of your recovery codes.',
    ifNotYou: TELL_OWNER,
  },
}

const countAddresses = (count: number): string => (count === 1 ? 'one IP address' : `${count} IP addresses`)

const timeOf = (at: number): string =>
  `${new Date(at).toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })} UTC`

export function writeNotice(kind: NoticeKind, facts: NoticeFacts): Notice {
  const { subject, what, ifNotYou } = NOTICES[kind]
  const where = `Email: ${facts.email}. Time: ${timeOf(facts.at)}.`
  return {
    subject,
    paragraphs: [what(facts), where, ifNotYou],
    link: { text: 'Sign in', url: `${facts.baseUrl}/sign-in` },
  }
}

export type NoticeResult = { is: 'sent' } | { is: 'failed' | 'unknown'; reason: string }

/** `server`: as `findMailRoute` names it. */
export type NoticeSender = { server: string; send(notice: Notice, to: Mailbox): Promise<NoticeResult> }

export type NoticeMailer = {
  /** Of each server in turn: the installation's, that for alerts, then those of the apps. */
  listNoticeSenders(apps: MailSettings[]): NoticeSender[]
  /** Uses the installation's server, else the first app's own. null if there is none. */
  findNoticeSender(apps: MailSettings[]): ((notice: Notice, to: Mailbox) => Promise<NoticeResult>) | null
}
