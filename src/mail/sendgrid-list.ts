/**
 * The suppressions of SendGrid: https://www.twilio.com/docs/sendgrid/api-reference/bounces-api/retrieve-all-bounces,
 * .../invalid-emails-api/retrieve-all-invalid-emails, .../spam-reports-api/retrieve-all-spam-reports and
 * .../suppressions-global-suppressions/retrieve-all-global-suppressions
 */
import type { ListedAddress } from '../people/suppression-sync.ts'
import type { SuppressionReason } from '../store/message-types.ts'
import type { SuppressionList } from './api.ts'
import { fieldsOf, reasonText } from './hook.ts'

const PAGE_ROWS = 500

/** Blocks are about an email, and not about its recipient. */
const LISTS: readonly { name: string; reason: SuppressionReason; text: string }[] = [
  { name: 'bounces', reason: 'bounced', text: 'bounce' },
  { name: 'invalid_emails', reason: 'bounced', text: 'invalid email' },
  { name: 'spam_reports', reason: 'complained', text: 'spam report' },
  { name: 'unsubscribes', reason: 'unsubscribed', text: 'global unsubscribe' },
]

/** The list, and how many of its addresses were read. */
function readCursor(cursor: string | null): { index: number; offset: number } {
  const [index, offset] = (cursor ?? '0 0').split(' ').map(Number)
  return { index: index ?? 0, offset: offset ?? 0 }
}

/** Such as "4.2.2", for a full mailbox. */
const isPassing = (status: unknown): boolean => typeof status === 'string' && status.startsWith('4')

export const SENDGRID_LIST: SuppressionList = {
  writeRequest({ key }, cursor) {
    const { index, offset } = readCursor(cursor)
    return {
      path: `/v3/suppression/${LISTS[index]?.name}?limit=${PAGE_ROWS}&offset=${offset}`,
      headers: { Authorization: `Bearer ${key}` },
    }
  },
  readPage(body, cursor) {
    const { index, offset } = readCursor(cursor)
    const list = LISTS[index]
    if (!Array.isArray(body) || list === undefined) return null
    const rows = body.flatMap((one): ListedAddress[] => {
      const { email, reason, status } = fieldsOf(one)
      if (typeof email !== 'string' || isPassing(status)) return []
      return [{ email, reason: list.reason, text: reasonText([list.text, reason]) }]
    })
    const isWhole = body.length < PAGE_ROWS
    const next = isWhole ? `${index + 1} 0` : `${index} ${offset + PAGE_ROWS}`
    return { rows, next: isWhole && index === LISTS.length - 1 ? null : next }
  },
}
