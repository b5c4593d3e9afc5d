import { readEmail } from './email.ts'
import { cleanText } from './visible-text.ts'

/** Address and name apart: one text could hold a second address. */
export type Mailbox = { name: string; address: string }

export const describeMailbox = ({ name, address }: Mailbox): string => (name === '' ? address : `${name} <${address}>`)

/** `smtp://user:password@host:587`, or `smtps://` for TLS from the first byte. */
export type SmtpServer = {
  host: string
  port: number
  /** TLS from the first byte; else STARTTLS */
  isSecure: boolean
  login: { user: string; password: string } | null
  /** allows no TLS or an untrusted certificate; never with a password */
  isTlsOptional?: true
  /** trusted instead of the public ones: CAs, or the server's own (DER in base64url) */
  certificates?: string[]
}

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/

export const isLoopback = (host: string): boolean => LOOPBACK.test(host)

const NAMED = /^([^<>]*)<([^<>]+)>$/
/** The longest name of an app, an account or a sender. */
const NAME_CHARACTERS = 100

/** `ada@example.com` or `Ada <ada@example.com>`; null for anything else, including two addresses. */
export function readMailbox(text: string): Mailbox | null {
  const [, name = '', address = text] = NAMED.exec(text.trim()) ?? []
  return makeMailbox(name.trim().replace(/^"(.*)"$/, '$1'), address)
}

export function makeMailbox(name: string, address: string): Mailbox | null {
  const email = readEmail(address)
  return email && { name: shorten(cleanText(name) ?? ''), address: email.email }
}

/** Ends at a word, if there are several. */
function shorten(name: string): string {
  const characters = Array.from(name)
  if (characters.length <= NAME_CHARACTERS) return name
  const cut = characters.slice(0, NAME_CHARACTERS + 1).join('')
  const end = cut.lastIndexOf(' ')
  return end > 0 ? cut.slice(0, end) : characters.slice(0, NAME_CHARACTERS).join('')
}

export const SUBMISSION_PORT = 587
export const SECURE_PORT = 465

export const SMTP_URL_MESSAGE =
  'Enter an address such as smtps://user:password@smtp.example.com:465. `?tls=optional` works only with smtp:// and without a password.'

const TLS_OPTIONAL = '?tls=optional'
const CERTIFICATES = /^\?ca=([\w-]+(?:\.[\w-]+)*)$/

export function readSmtpUrl(text: string): SmtpServer | null {
  const url = URL.parse(text)
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '') return null
  const certificates = CERTIFICATES.exec(url.search)?.[1]?.split('.')
  const isKnown = certificates !== undefined || ['', TLS_OPTIONAL].includes(url.search)
  if (!/^\/?$/.test(url.pathname) || !isKnown || url.hash !== '') return null
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
    const trust = isTlsOptional ? { isTlsOptional } : certificates ? { certificates } : {}
    return { host, port, isSecure, login, ...trust }
  } catch {
    return null
  }
}

/** `readSmtpUrl` reads the same server from it. */
export function composeSmtpUrl({ host, port, isSecure, login, isTlsOptional, certificates }: SmtpServer): string {
  const account = login === null ? '' : `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`
  const address = host.includes(':') ? `[${host}]` : host
  const trust = certificates ? `?ca=${certificates.join('.')}` : ''
  return `${isSecure ? 'smtps' : 'smtp'}://${account}${address}:${port}${isTlsOptional ? TLS_OPTIONAL : trust}`
}
