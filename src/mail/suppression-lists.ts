/** Reads the lists of addresses to which email providers send nothing. */
import { providerOfApi, providerOfHost } from '../accounts/mail-providers.ts'
import {
  type ApiAccount,
  defaultStreamOf,
  isApi,
  type MailService,
  makeApiAccount,
  originOf,
} from '../core/mail-apis.ts'
import type { ProviderList } from '../people/suppression-sync.ts'
import type { ListAccount, SuppressionList } from './api.ts'
import { readLimited } from './limited-body.ts'
import { POSTMARK_LIST } from './postmark.ts'
import { RESEND_LIST } from './resend.ts'
import { SENDGRID_LIST } from './sendgrid-list.ts'
import { SES_LIST } from './ses.ts'

const LISTS: ReadonlyMap<string, SuppressionList> = new Map([
  ['postmark', POSTMARK_LIST],
  ['resend', RESEND_LIST],
  ['ses', SES_LIST],
  ['sendgrid', SENDGRID_LIST],
])

/** A provider whose list can't be read. */
type NoList = { provider: string; why: string }

/** Their logins over SMTP are no keys of their APIs. */
const OF_LOGIN = ['ses', 'mailgun', 'brevo']

const PAGE_MS = 30_000
/** A hundred thousand addresses in one answer. */
const PAGE_BYTES = 32 * 1024 * 1024

type StandIns = Partial<Record<string, { host: string; port: number }>>

/** null: no provider that is known to have one. */
export function findSuppressionList(service: MailService, standIns: StandIns = {}): ProviderList | NoList | null {
  const provider = isApi(service) ? providerOfApi(service.api) : providerOfHost(service.host)
  if (provider === null) return null
  const { id, name } = provider
  const [list, account] = [LISTS.get(id), isApi(service) ? service : accountOf(id, service)]
  if (list === undefined && !OF_LOGIN.includes(id)) return null
  if (list === undefined || account === null) {
    const why = `Eventpost's SMTP login for ${name} can't read the suppression list there. Export that list, then add it as a file.`
    return { provider: id, why }
  }
  const at = { ...account, ...standIns[id] }
  return { provider: id, readPage: (cursor) => readPage(list, at, cursor) }
}

type Smtp = Exclude<MailService, ApiAccount>

/** Logins over SMTP that are keys of the API, too. */
function accountOf(provider: string, { host, login }: Smtp): ListAccount | null {
  const region = host.toLowerCase().includes('.eu.') ? '.eu' : ''
  switch (provider) {
    case 'postmark': {
      const stream = host.toLowerCase().startsWith('smtp-broadcasts') ? 'broadcast' : defaultStreamOf(provider)
      return login && makeApiAccount('postmark', { key: login.user, stream })
    }
    case 'resend':
      return login && makeApiAccount('resend', { key: login.password, stream: null })
    case 'sendgrid':
      return login && { key: login.password, host: `api${region}.sendgrid.com`, port: null, stream: null }
    default:
      return null
  }
}

async function readPage(
  list: SuppressionList,
  account: ListAccount,
  cursor: string | null,
): ReturnType<ProviderList['readPage']> {
  const { path, headers } = await list.writeRequest(account, cursor)
  const answer = await ask(`${originOf(account)}${path}`, headers)
  if (answer === null) return { fault: 'unreachable' }
  const { status, body, retryAfter } = answer
  if (status === 429) return { fault: 'http_429', retryAfterMs: readSeconds(retryAfter) }
  if (status !== 200) return { fault: `http_${status}` }
  const page = body === null ? null : list.readPage(parse(body), cursor)
  // a cursor becomes a part of the next URL
  return page === null || page.next?.isWellFormed() === false ? { fault: 'unreadable' } : page
}

async function ask(url: string, headers: Record<string, string>) {
  try {
    const answer = await fetch(url, {
      headers: { Accept: 'application/json', 'User-Agent': 'Eventpost', ...headers },
      redirect: 'manual',
      signal: AbortSignal.timeout(PAGE_MS),
    })
    const body = await readLimited(answer.body, PAGE_BYTES)
    return { status: answer.status, body, retryAfter: answer.headers.get('retry-after') }
  } catch {
    return null
  }
}

const DEFAULT_PAUSE_S = 1

const readSeconds = (text: string | null): number =>
  1_000 * (text !== null && /^\d{1,5}(?:\.\d{1,3})?$/.test(text) ? Number(text) : DEFAULT_PAUSE_S)

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}
