/** The mail server of an app, as a form shows it; it is stored as a URL. */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { foldHost } from '../core/domains.ts'
import { SECURE_PORT, type SmtpServer, SUBMISSION_PORT } from '../core/mail-addresses.ts'
import { composeMailUrl, type MailService, readMailUrl } from '../core/mail-apis.ts'
import { isHostName } from '../core/public-addresses.ts'
import type { FieldError } from '../core/refusals.ts'
import type { MailProvider, Security } from './mail-providers.ts'
import type { TypedSecret } from './typed-secrets.ts'

export const UNREADABLE_SERVER = "The saved mail server settings can't be read, so no email is sent."

export const SERVER_FIELDS = [
  'smtpHost',
  'smtpPort',
  'smtpSecurity',
  'smtpUser',
  'smtpPassword',
  'smtpCertificates',
] as const

export type ServerText = Record<(typeof SERVER_FIELDS)[number], string>

export const readServerText = (text: (name: string) => string): ServerText =>
  Object.fromEntries(SERVER_FIELDS.map((name) => [name, withoutKeys(text(name))])) as ServerText

/** A private key that was pasted by mistake is not shown again. */
const withoutKeys = (text: string): string => text.replaceAll(/(PRIVATE KEY-----)[\w+/=\s]+/g, '$1\n')

const securityOf = ({ isSecure, isTlsOptional }: SmtpServer): Security =>
  isTlsOptional ? 'optional' : isSecure ? 'tls' : 'starttls'

/** Without the password, which never leaves the server. */
export const writeServer = (server: SmtpServer): ServerText => ({
  smtpHost: server.host,
  smtpPort: String(server.port),
  smtpSecurity: securityOf(server),
  smtpUser: server.login?.user ?? '',
  smtpPassword: '',
  smtpCertificates: (server.certificates ?? []).map(toPem).join(''),
})

/** In lines of 64, as programs write them (RFC 7468). */
const toPem = (der: string): string => {
  const lines =
    Buffer.from(der, 'base64url')
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

export const NO_SERVER: ServerText = {
  smtpHost: '',
  smtpPort: String(SUBMISSION_PORT),
  smtpSecurity: 'starttls',
  smtpUser: '',
  smtpPassword: '',
  smtpCertificates: '',
}

export const writeProvider = ({ host, port, security, user = '' }: MailProvider): ServerText => ({
  smtpHost: host,
  smtpPort: String(port),
  smtpSecurity: security,
  smtpUser: user,
  smtpPassword: '',
  smtpCertificates: '',
})

const PORTS: Record<Security, number> = { tls: SECURE_PORT, starttls: SUBMISSION_PORT, optional: 25 }
const MAX_PORT = 65_535
const MAX_LOGIN_CHARACTERS = 1_000

const isSecurity = (text: string): text is Security => Object.hasOwn(PORTS, text)

function readHost(text: string): string | null {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) > 0) return host
  return foldHost(host) ?? (isHostName(host) ? host.toLowerCase() : null)
}

function readPort(text: string, security: Security): number | null {
  if (text === '') return PORTS[security]
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= MAX_PORT ? port : null
}

const MAX_CERTIFICATES = 5
const MAX_CERTIFICATE_CHARACTERS = 20_000
const PEM = /-----BEGIN CERTIFICATE-----([\w+/=\s]+)-----END CERTIFICATE-----/g

/** DER in base64url; a text is what is wrong. */
function readCertificates(text: string): string[] | string {
  if (text.length > MAX_CERTIFICATE_CHARACTERS) return `Enter up to ${MAX_CERTIFICATES} certificates.`
  if (text.includes('PRIVATE KEY-----')) return 'This is a private key. Paste the certificate only.'
  const found = Array.from(text.matchAll(PEM), ([, base64 = '']) => readCertificate(base64))
  if (found.length > MAX_CERTIFICATES) return `Enter up to ${MAX_CERTIFICATES} certificates.`
  if (found.length === 0 && text !== '')
    return 'Paste a certificate in PEM format, starting with -----BEGIN CERTIFICATE-----.'
  const broken = found.indexOf(null)
  if (broken !== -1) return `Certificate ${broken + 1} can't be read. Copy all of its lines.`
  return found.flatMap((one) => one ?? [])
}

function readCertificate(base64: string): string | null {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).raw.toString('base64url')
  } catch {
    return null
  }
}

/** Passwords that an empty field stands for, each for its own host and user only. */
export type KnownLogin = Pick<SmtpServer, 'host' | 'login'>

export function readServer(text: ServerText, known: readonly KnownLogin[]): { server: SmtpServer } | Faults {
  const errors: FieldError[] = []
  const fault = (field: keyof ServerText, message: string): null => {
    errors.push({ field, code: 'invalid', message })
    return null
  }
  const security = isSecurity(text.smtpSecurity) ? text.smtpSecurity : 'starttls'
  const host = readHost(text.smtpHost.trim()) ?? fault('smtpHost', 'Enter a host name only, such as smtp.example.com.')
  const port = readPort(text.smtpPort.trim(), security) ?? fault('smtpPort', `Enter a port from 1 to ${MAX_PORT}.`)
  const user = text.smtpUser.trim()
  const typed = text.smtpPassword
  const kept = known.find((one) => one.host === host && one.login?.user === user)?.login?.password
  const password = typed === '' ? kept : typed
  if (user.length > MAX_LOGIN_CHARACTERS) fault('smtpUser', `Enter up to ${MAX_LOGIN_CHARACTERS} characters.`)
  if (typed.length > MAX_LOGIN_CHARACTERS) fault('smtpPassword', `Enter up to ${MAX_LOGIN_CHARACTERS} characters.`)
  if (user === '' && typed !== '') fault('smtpUser', 'Enter the username for this password.')
  if (user !== '' && password === undefined) {
    const isKnown = known.some(({ login }) => login !== null)
    fault('smtpPassword', isKnown ? 'Enter the password again for this host and username.' : 'Enter the password.')
  }
  if (user !== '' && security === 'optional') fault('smtpSecurity', 'Passwords are sent only over TLS or STARTTLS.')
  const certificates = readCertificates(text.smtpCertificates.trim())
  if (typeof certificates === 'string') fault('smtpCertificates', certificates)
  if (certificates.length > 0 && security === 'optional') fault('smtpSecurity', 'A certificate needs TLS or STARTTLS.')
  if (host === null || port === null || errors.length > 0) return { errors }
  const login = user === '' ? null : { user, password: password ?? '' }
  const isSecure = security === 'tls'
  const isOwn = typeof certificates !== 'string' && certificates.length > 0
  const trust = security === 'optional' ? { isTlsOptional: true as const } : isOwn ? { certificates } : {}
  return { server: { host, port, isSecure, login, ...trust } }
}

type Faults = { errors: FieldError[] }

/** The stored URL stays as it is if it means the same server. */
export function urlOf(service: MailService, stored: string | null): string {
  const before = stored === null ? null : readMailUrl(stored)
  return stored !== null && Bun.deepEquals(before, service, true) ? stored : composeMailUrl(service)
}

/** null without a host or a user. */
export function typedLogin({ smtpHost, smtpUser, smtpPassword }: ServerText): TypedSecret | null {
  const [host, user] = [readHost(smtpHost.trim()), smtpUser.trim()]
  return host === null || user === '' ? null : { host, user, secret: smtpPassword }
}
