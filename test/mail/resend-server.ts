/**
 * A local stand-in for Resend, from its documentation: https://resend.com/docs/api-reference/emails/send-email,
 * https://resend.com/docs/api-reference/errors, https://resend.com/docs/dashboard/emails/idempotency-keys,
 * https://resend.com/docs/api-reference/domains/list-domains,
 * https://resend.com/docs/api-reference/suppressions/list-suppressions and
 * https://resend.com/docs/api-reference/pagination
 */
import { type ApiBehaviour, type ApiCall, type ApiReply, startApiServer } from './api-server.ts'

export type ResendEmail = {
  from: string
  to: string[]
  reply_to?: string
  subject: string
  html: string
  text: string
  headers: Record<string, string>
  tags: { name: string; value: string }[]
}

export type ResendSuppression = { id: string; email: string; origin: 'bounce' | 'complaint' | 'manual' }

const KEY = 're_FullAccess_4uTSDNyYDHpYhcXKcS2pAv'
const SENDING_KEY = 're_SendingOnly_9kWFvQxYbJmT2cZrLdXpNa'
const KEY_AGE_MS = 86_400_000

type Behaviour = ApiBehaviour<ResendEmail> & {
  now?: () => number
  unverifiedDomains?: string[]
  suppressions?: ResendSuppression[]
  /** answers instead of a page of suppressions; `count`: how many were asked for so far */
  page?: (count: number) => ApiReply | null
}

const fault = (statusCode: number, name: string, message: string): ApiReply => ({
  status: statusCode,
  body: { statusCode, name, message },
})

type Accepted = { id: string; body: string; at: number }

export async function startResend(behaviour: Behaviour = {}) {
  const received: ResendEmail[] = []
  const counts = new Map<string, number>()
  const accepted = new Map<string, Accepted>()
  const now = behaviour.now ?? Date.now

  const accept = (email: ResendEmail, key: string | undefined): ApiReply => {
    const id = crypto.randomUUID()
    received.push(email)
    if (key !== undefined) accepted.set(key, { id, body: JSON.stringify(email), at: now() })
    return { status: 200, body: { id } }
  }

  const send = ({ headers, body }: ApiCall): ApiReply | 'cut' | 'hang' => {
    const email = body as ResendEmail
    const [to = ''] = email.to
    const count = (counts.get(to) ?? 0) + 1
    counts.set(to, count)
    const key = headers['idempotency-key'] as string | undefined
    if (key !== undefined && (key.length < 1 || key.length > 256))
      return fault(400, 'invalid_idempotency_key', 'The key must be between 1-256 chars.')
    const domain = /@([^@>]*)>?$/.exec(email.from)?.[1] ?? ''
    if (behaviour.unverifiedDomains?.includes(domain))
      return fault(403, 'validation_error', `The ${domain} domain is not verified.`)
    if (!/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(/<([^>]*)>$/.exec(to)?.[1] ?? to))
      return fault(422, 'validation_error', 'Invalid `to` field.')
    const doing = behaviour.email?.(email, count) ?? 'accept'
    if (typeof doing === 'object') return { body: {}, ...doing }
    const known = key === undefined ? undefined : accepted.get(key)
    const isKnown = known !== undefined && now() - known.at < KEY_AGE_MS
    if (isKnown && known.body !== JSON.stringify(email))
      return fault(409, 'invalid_idempotent_request', 'Same idempotency key used with a different request payload.')
    const reply = isKnown
      ? { status: 200, body: { id: known.id } }
      : doing === 'accept' || behaviour.keepsCut
        ? accept(email, key)
        : null
    return doing === 'accept' && reply ? reply : (doing as 'cut' | 'hang')
  }

  let pages = 0
  const listSuppressions = (query: URLSearchParams): ApiReply => {
    pages += 1
    const instead = behaviour.page?.(pages)
    if (instead) return instead
    const { suppressions: all = [] } = behaviour
    const [limit, after] = [Number(query.get('limit') ?? 20), query.get('after')]
    if (limit < 1 || limit > 100) return fault(422, 'validation_error', 'The limit must be between 1 and 100.')
    const rest = after === null ? all : all.slice(all.findIndex(({ id }) => id === after) + 1)
    const data = rest.slice(0, limit).map((one) => ({
      object: 'suppression',
      source_id: null,
      created_at: '2026-05-01T12:00:00.000Z',
      ...one,
    }))
    return { status: 200, body: { object: 'list', has_more: rest.length > limit, data } }
  }

  const server = await startApiServer((call) => {
    const { method, path, headers } = call
    const isSending = method === 'POST' && path === '/emails'
    const key = String(headers.authorization).replace(/^Bearer /, '')
    if (key === SENDING_KEY && !isSending)
      return fault(401, 'restricted_api_key', 'This API key is restricted to only send emails.')
    if (key !== KEY && key !== SENDING_KEY)
      return fault(isSending ? 401 : 400, 'validation_error', 'API key is invalid')
    if (isSending) return send(call)
    const { pathname, searchParams } = new URL(path, 'http://localhost')
    if (pathname === '/suppressions') return listSuppressions(searchParams)
    return path === '/domains' ? { status: 200, body: { data: [] } } : fault(404, 'not_found', 'Not found.')
  })
  const urlOf = (key: string): string => `resend://${key}@127.0.0.1:${server.port}`
  return {
    ...server,
    received,
    counts: () => Map.groupBy(received, ({ to }) => to[0] ?? ''),
    urlOf,
    url: urlOf(KEY),
    sendingUrl: urlOf(SENDING_KEY),
  }
}
