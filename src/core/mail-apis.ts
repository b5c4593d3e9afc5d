/**
 * Accounts at the HTTP APIs of email providers, stored as URLs like mail servers: `resend://KEY@api.resend.com`,
 * `ses://KEY_ID:KEY@email.eu-west-1.amazonaws.com`.
 */
import { composeSmtpUrl, isLoopback, readSmtpUrl, SMTP_URL_MESSAGE, type SmtpServer } from './mail-addresses.ts'

const APIS = {
  postmark: { name: 'Postmark', host: 'api.postmarkapp.com' },
  resend: { name: 'Resend', host: 'api.resend.com' },
  ses: { name: 'Amazon SES', host: 'email.REGION.amazonaws.com' },
} as const

export type ApiName = keyof typeof APIS

/**
 * `port`: only of a stand-in on this machine, which is reached without TLS. `stream`: the message stream at Postmark, the
 * configuration set at Amazon SES. `aws`: at Amazon SES only, whose `key` is the secret access key.
 */
export type ApiAccount = {
  api: ApiName
  key: string
  host: string
  port: number | null
  stream: string | null
  aws?: Aws
}

export type Aws = { keyId: string; region: string }

export type MailService = SmtpServer | ApiAccount

export const isApi = (service: MailService): service is ApiAccount => 'api' in service

export const isApiName = (text: string): text is ApiName => Object.hasOwn(APIS, text)

const apiNameOf = ({ api }: Pick<ApiAccount, 'api'>): string => APIS[api].name

/** Where emails go if no stream is named; null: nowhere else. */
const DEFAULT_STREAMS: Record<ApiName, string | null> = { postmark: 'outbound', resend: null, ses: null }

export const defaultStreamOf = (api: ApiName): string | null => DEFAULT_STREAMS[api]

export const hasStream = (api: ApiName): boolean => api !== 'resend'

export const isAws = (api: ApiName): boolean => api === 'ses'

/** As it goes into a header. */
export const isApiKey = (text: string): boolean => /^[!-~]{1,500}$/.test(text)
export const isStream = (text: string): boolean => /^[A-Za-z0-9_-]{1,100}$/.test(text)
export const isAwsKeyId = (text: string): boolean => /^[A-Z0-9]{16,128}$/.test(text)
export const isAwsRegion = (text: string): boolean => /^[a-z]{2}(?:-[a-z]{2,12}){1,2}-\d{1,2}$/.test(text)

/** Where a stand-in on this machine is. */
const STAND_IN_REGION = 'us-east-1'

const hostOf = (api: ApiName, region = ''): string => APIS[api].host.replace('REGION', region)

type Given = { key: string; stream: string | null; aws?: Aws }

/** At the provider's own host. */
export const makeApiAccount = (api: ApiName, { key, stream, aws }: Given): ApiAccount => ({
  api,
  key,
  host: hostOf(api, aws?.region),
  port: null,
  stream: hasStream(api) ? stream : null,
  ...(aws && isAws(api) ? { aws } : {}),
})

/** The region of a host of Amazon SES; '' for other APIs. */
const regionOf = (api: ApiName, host: string): string =>
  isAws(api) ? (host.split('.').find((label) => isAwsRegion(label)) ?? '') : ''

function readApiUrl(text: string): ApiAccount | null {
  const url = URL.parse(text)
  const api = url?.protocol.slice(0, -1) ?? ''
  if (!url || !isApiName(api) || url.search !== '' || url.hash !== '') return null
  const region = regionOf(api, url.hostname)
  const isOwn = url.hostname === hostOf(api, region) && url.port === ''
  if (!isOwn && !(isLoopback(url.hostname) && url.port !== '')) return null
  const path = url.pathname.replace(/^\//, '')
  if (path !== '' && !(hasStream(api) && isStream(path))) return null
  const [first, second] = [decodeKey(url.username), decodeKey(url.password)]
  const key = isAws(api) ? second : first
  if (key === null || !isApiKey(key) || (isAws(api) ? !isAwsKeyId(first ?? '') : second !== '')) return null
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const stream = path || defaultStreamOf(api)
  const account = { api, key, host, port: isOwn ? null : Number(url.port), stream }
  return isAws(api) ? { ...account, aws: { keyId: first ?? '', region: region || STAND_IN_REGION } } : account
}

function decodeKey(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

const addressOf = ({ host, port }: Pick<ApiAccount, 'host' | 'port'>): string =>
  `${host.includes(':') ? `[${host}]` : host}${port === null ? '' : `:${port}`}`

function composeApiUrl(account: ApiAccount): string {
  const { api, key, stream, aws } = account
  const login = aws === undefined ? '' : `${encodeURIComponent(aws.keyId)}:`
  return `${api}://${login}${encodeURIComponent(key)}@${addressOf(account)}${stream === null ? '' : `/${stream}`}`
}

export const originOf = (account: Pick<ApiAccount, 'host' | 'port'>): string =>
  `${account.port === null ? 'https' : 'http'}://${addressOf(account)}`

export const MAIL_URL_MESSAGE = `${SMTP_URL_MESSAGE} For an email API, enter postmark://TOKEN@${APIS.postmark.host}/STREAM, resend://KEY@${APIS.resend.host} or ses://KEY_ID:SECRET_KEY@${APIS.ses.host}, with %2F for each / in the key.`

/** A mail server, or an account at an API. */
export const readMailUrl = (text: string): MailService | null => readSmtpUrl(text) ?? readApiUrl(text)

/** `readMailUrl` reads the same service from it. */
export const composeMailUrl = (service: MailService): string =>
  isApi(service) ? composeApiUrl(service) : composeSmtpUrl(service)

/** For people, without key and password. */
export const describeService = (service: MailService): string => {
  if (!isApi(service)) return `${service.host}:${service.port}`
  const name = service.aws === undefined ? apiNameOf(service) : `${apiNameOf(service)} (${service.aws.region})`
  return service.port === null ? name : `${name} at ${addressOf(service)}`
}
