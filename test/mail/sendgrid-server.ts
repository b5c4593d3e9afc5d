/**
 * A local stand-in for SendGrid's lists of suppressions, from its documentation:
 * https://www.twilio.com/docs/sendgrid/api-reference/bounces-api/retrieve-all-bounces and its neighbours
 */
import { type ApiReply, startApiServer } from './api-server.ts'

export const SENDGRID_KEY = 'SG.FullAccess.4uTSDNyYDHpYhcXKcS2pAv'
const LISTS = ['bounces', 'invalid_emails', 'spam_reports', 'unsubscribes'] as const
const MOST_ROWS = 500

type Listed = { email: string; reason?: string; status?: string }
export type SendgridLists = Partial<Record<(typeof LISTS)[number], Listed[]>>

export async function startSendgrid(lists: SendgridLists = {}) {
  const server = await startApiServer(({ path, headers }): ApiReply => {
    const fault = (status: number, message: string) => ({ status, body: { errors: [{ field: null, message }] } })
    if (headers.authorization !== `Bearer ${SENDGRID_KEY}`) return fault(403, 'access forbidden')
    const { pathname, searchParams } = new URL(path, 'http://localhost')
    const name = LISTS.find((one) => pathname === `/v3/suppression/${one}`)
    if (name === undefined) return fault(404, 'not found')
    const [limit, offset] = [Number(searchParams.get('limit') ?? MOST_ROWS), Number(searchParams.get('offset') ?? 0)]
    if (limit > MOST_ROWS) return fault(400, 'limit is too large')
    const body = (lists[name] ?? []).slice(offset, offset + limit).map((one) => ({ created: 1_777_000_000, ...one }))
    return { status: 200, body }
  })
  return { ...server, standIn: { host: '127.0.0.1', port: server.port } }
}
