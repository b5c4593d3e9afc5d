/** Accounts at the HTTP APIs of email providers, stored as URLs like mail servers: `resend://KEY@api.resend.com`. */
import { composeSmtpUrl, isLoopback, readSmtpUrl, SMTP_URL_MESSAGE, type SmtpServer } from './mail-addresses.ts'

const APIS = {
  postmark: { name: 'Postmark', host: 'api.postmarkapp.com' },
  resend: { name: 'Resend', host: 'api.resend.com' },
} as const

export type ApiName = keyof typeof APIS

/** `port`: only of a stand-in on this machine, which is reached without TLS. `stream`: the message stream at Postmark. */
export type ApiAccount = { api: ApiName; key: string; host: string; port: number | null; stream: string | null }

export type MailService = SmtpServer | ApiAccount

export const isApi = (service: MailService): service is ApiAccount => 'api' in service

export const isApiName = (text: string): text is ApiName => Object.hasOwn(APIS, text)

const apiNameOf = ({ api }: Pick<ApiAccount, 'api'>): string => APIS[api].name

export const DEFAULT_STREAM = 'outbound'

export const hasStream = (api: ApiName): boolean => api === 'postmark'

/** As it goes into a header. */
export const isApiKey = (text: string): boolean => /^[!-~]{1,500}$/.test(text)
export const isStream = (text: string): boolean => /^[A-Za-z0-9_-]{1,100}$/.test(text)

/** At the provider's own host. */
export const makeApiAccount = (api: ApiName, { key, stream }: { key: string; stream: string }): ApiAccount => ({
  api,
  key,
  host: APIS[api].host,
  port: null,
  stream: hasStream(api) ? stream : null,
})

function readApiUrl(text: string): ApiAccount | null {
  const url = URL.parse(text)
  const api = url?.protocol.slice(0, -1) ?? ''
  if (!url || !isApiName(api) || url.password !== '' || url.search !== '' || url.hash !== '') return null
  const isOwn = url.hostname === APIS[api].host && url.port === ''
  if (!isOwn && !(isLoopback(url.hostname) && url.port !== '')) return null
  const path = url.pathname.replace(/^\//, '')
  if (path !== '' && !(hasStream(api) && isStream(path))) return null
  const key = decodeKey(url.username)
  if (key === null || !isApiKey(key)) return null
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const stream = hasStream(api) ? path || DEFAULT_STREAM : null
  return { api, key, host, port: isOwn ? null : Number(url.port), stream }
}

function decodeKey(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

const addressOf = ({ host, port }: ApiAccount): string =>
  `${host.includes(':') ? `[${host}]` : host}${port === null ? '' : `:${port}`}`

function composeApiUrl(account: ApiAccount): string {
  const { api, key, stream } = account
  return `${api}://${encodeURIComponent(key)}@${addressOf(account)}${stream === null ? '' : `/${stream}`}`
}

export const originOf = (account: ApiAccount): string =>
  `${account.port === null ? 'https' : 'http'}://${addressOf(account)}`

export const MAIL_URL_MESSAGE = `${SMTP_URL_MESSAGE} For an email API, enter postmark://TOKEN@${APIS.postmark.host}/STREAM or resend://KEY@${APIS.resend.host}.`

/** A mail server, or an account at an API. */
export const readMailUrl = (text: string): MailService | null => readSmtpUrl(text) ?? readApiUrl(text)

/** `readMailUrl` reads the same service from it. */
export const composeMailUrl = (service: MailService): string =>
  isApi(service) ? composeApiUrl(service) : composeSmtpUrl(service)

/** For people, without key and password. */
export const describeService = (service: MailService): string => {
  if (!isApi(service)) return `${service.host}:${service.port}`
  return service.port === null ? apiNameOf(service) : `${apiNameOf(service)} at ${addressOf(service)}`
}
