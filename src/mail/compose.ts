import type { Mailbox } from '../core/mail-addresses.ts'
import type { RenderedMail } from '../messages/mailer.ts'
import type { DkimKey } from '../accounts/dkim.ts'
import { hasOneClick } from '../core/urls.ts'
import { signMail } from './dkim.ts'
import { loadMime, type Mime } from './nodemailer.ts'

export type EmailFields = {
  mail: Pick<RenderedMail, 'subject' | 'html' | 'text'>
  from: Mailbox
  replyTo: Mailbox | null
  to: Mailbox
  /** without angle brackets; the same for every attempt */
  messageId: string
  at: number
  /** tells a provider's API that an email is repeated; default: the Message-ID */
  repeatKey?: string
  unsubscribeUrl: string | null
  /** what Gmail's Postmaster Tools count complaints by; null: the mail provider adds its own */
  feedbackId?: string | null
  dkim: DkimKey | null
  /** for the email provider */
  headers?: readonly [name: string, value: string][]
}

/** `raw`: what is sent: MIME, or the body of a request. */
export type ComposedMail = { from: string; to: string; raw: Buffer<ArrayBuffer>; repeatKey?: string }

/** @throws Error if the key can't sign */
export async function composeMail(fields: EmailFields): Promise<ComposedMail> {
  const { mail, from, to, dkim } = fields
  const mime = await loadMime()
  // random, so that no part can contain it
  const boundary = `=_${crypto.randomUUID()}`
  const head = writeHead(fields, mime, boundary)
  const body = [writePart('text/plain', mail.text, mime), writePart('text/html', mail.html, mime)].map(
    (part) => `--${boundary}\r\n${part}\r\n`,
  )
  const whole = { head, body: `${body.join('')}--${boundary}--\r\n` }
  const signature = dkim === null ? '' : `${await signMail(whole, dkim)}\r\n`
  const raw = Buffer.from(`${signature}${head}\r\n\r\n${whole.body}`)
  return { from: from.address, to: to.address, raw }
}

function writeHead(fields: EmailFields, { MimeNode }: Mime, boundary: string): string {
  const { mail, from, replyTo, to, messageId, at, unsubscribeUrl, feedbackId, headers = [] } = fields
  // nodemailer only encodes the headers: its streams for the parts triple the time per email
  const root = new MimeNode(`multipart/alternative; boundary="${boundary}"`)
  const folded = (value: string) => ({ prepared: true, foldLines: true, value })
  for (const [name, value] of listHeaders(unsubscribeUrl))
    root.addHeader(name, name === 'List-Unsubscribe' ? folded(value) : value)
  for (const [name, value] of headers) root.addHeader(name, folded(value))
  if (feedbackId) root.addHeader('Feedback-ID', feedbackId)
  root.setHeader('from', from)
  root.setHeader('to', to)
  if (replyTo !== null) root.setHeader('reply-to', replyTo)
  root.setHeader('subject', mail.subject)
  root.setHeader('message-id', `<${messageId}>`)
  root.setHeader('date', new Date(at))
  return root.buildHeaders()
}

/** Arrives unchanged without an encoding: ASCII, in lines below the 990 characters at which some servers break them. */
const SEVEN_BIT_LINE = /^[\t -~]{0,900}$/
/** A line that is the same in quoted-printable. */
const PLAIN_LINE = /^(?:[ -<>-~]{0,75}[!-<>-~])?$/

function writePart(type: string, text: string, { encode, wrap }: Mime): string {
  const lines = text.split(/\r\n?|\n/)
  const is7Bit = lines.every((line) => SEVEN_BIT_LINE.test(line))
  const sent = is7Bit ? lines : lines.map((line) => (PLAIN_LINE.test(line) ? line : wrap(encode(line))))
  const headers = [
    `Content-Type: ${type}; charset=utf-8`,
    `Content-Transfer-Encoding: ${is7Bit ? '7bit' : 'quoted-printable'}`,
  ]
  return `${headers.join('\r\n')}\r\n\r\n${sent.join('\r\n')}`
}

/** Stops automatic replies, and lets mail apps unsubscribe. */
export const listHeaders = (unsubscribeUrl: string | null): [name: string, value: string][] => [
  ['Auto-Submitted', 'auto-generated'],
  ...(unsubscribeUrl === null || !hasOneClick(unsubscribeUrl)
    ? []
    : [
        ['List-Unsubscribe', `<${unsubscribeUrl}>`] satisfies [string, string],
        ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'] satisfies [string, string],
      ]),
]
