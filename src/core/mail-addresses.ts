/** Where mail goes through and whom it comes from, as settings say it. */
import { readEmail } from './email.ts'
import { cleanText } from './visible-text.ts'

/** One validated address and a name beside it: a text with both could hold a second address. */
export type Mailbox = { name: string; address: string }

/** As a reader sees it. */
export const describeMailbox = ({ name, address }: Mailbox): string => (name === '' ? address : `${name} <${address}>`)

/** A mail server, as `smtp://user:password@host:587` or `smtps://` (TLS from the first byte) names it. */
export type SmtpServer = {
  host: string
  port: number
  /** TLS from the first byte; else by STARTTLS */
  isSecure: boolean
  login: { user: string; password: string } | null
  /** mail may go without TLS, or under a certificate that nobody signed; never with a password */
  isTlsOptional?: true
}

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/

/** A host of this machine, between which and us nobody listens. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host)

const NAMED = /^([^<>]*)<([^<>]+)>$/
const NAME_CHARACTERS = 64

/** Reads `ada@example.com` or `Ada <ada@example.com>`; null for anything else, two addresses among it. */
export function readMailbox(text: string): Mailbox | null {
  const [, name = '', address = text] = NAMED.exec(text.trim()) ?? []
  return makeMailbox(name.trim().replace(/^"(.*)"$/, '$1'), address)
}

/** A mailbox of two texts that came separately. A name that is blank or too long is cut; the address must be one. */
export function makeMailbox(name: string, address: string): Mailbox | null {
  const email = readEmail(address)
  return (
    email && {
      name: Array.from(cleanText(name) ?? '')
        .slice(0, NAME_CHARACTERS)
        .join(''),
      address: email.email,
    }
  )
}

const SUBMISSION_PORT = 587
const SECURE_PORT = 465

export const SMTP_URL_MESSAGE =
  'Give an address such as smtps://user:password@smtp.example.com:465. `?tls=optional` works only with smtp:// and without a password.'

const TLS_OPTIONAL = '?tls=optional'

/** Reads the URL of a mail server, or null when it is none. */
export function readSmtpUrl(text: string): SmtpServer | null {
  const url = URL.parse(text)
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '') return null
  if (!/^\/?$/.test(url.pathname) || !['', TLS_OPTIONAL].includes(url.search) || url.hash !== '') return null
  const isSecure = url.protocol === 'smtps:'
  const isTlsOptional = url.search === TLS_OPTIONAL
  const hasLogin = url.username !== ''
  if (isTlsOptional && (isSecure || hasLogin)) return null
  if (!hasLogin && url.password !== '') return null
  try {
    const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)]
    const port = url.port === '' ? (isSecure ? SECURE_PORT : SUBMISSION_PORT) : Number(url.port)
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
    const login = hasLogin ? { user, password } : null
    return { host, port, isSecure, login, ...(isTlsOptional ? { isTlsOptional } : {}) }
  } catch {
    return null
  }
}
