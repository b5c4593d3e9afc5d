/**
 * Webhooks of Postmark, which doesn't sign them: https://postmarkapp.com/developer/webhooks/bounce-webhook,
 * https://postmarkapp.com/developer/webhooks/spam-complaint-webhook and
 * https://postmarkapp.com/developer/webhooks/delivery-webhook
 */
import type { ReportKind } from '../store/delivery-reports.ts'
import { fieldsOf, type Hooks, OF_URL, reasonOf } from './hook.ts'

/** https://postmarkapp.com/developer/api/bounce-api#bounce-types; others are no failures, such as automatic replies. */
const BOUNCES = new Map<unknown, ReportKind>([
  ['HardBounce', 'bounced'],
  ['BadEmailAddress', 'bounced'],
  ['ManuallyDeactivated', 'bounced'],
  ['SoftBounce', 'softBounced'],
  ['Undeliverable', 'softBounced'],
  ['Unknown', 'softBounced'],
  ['DnsError', 'delayed'],
  ['Transient', 'delayed'],
  ['Blocked', 'blocked'],
  ['SpamNotification', 'blocked'],
  ['VirusNotification', 'blocked'],
  ['DMARCPolicy', 'blocked'],
  ['SMTPApiError', 'blocked'],
  ['SpamComplaint', 'complained'],
])

const kindOf = ({ RecordType, Type, Inactive }: Record<string, unknown>): ReportKind | undefined => {
  if (RecordType === 'Delivery') return 'delivered'
  if (RecordType === 'SpamComplaint') return 'complained'
  if (RecordType !== 'Bounce') return undefined
  const kind = BOUNCES.get(Type)
  // Postmark sends nothing more to the address
  return Inactive === true && kind !== 'complained' ? 'bounced' : kind
}

/** Over SMTP, its name comes from a header, whose case may change. */
const findMetadata = (metadata: Record<string, unknown>): unknown =>
  Object.entries(metadata).find(([name]) => name.toLowerCase() === 'delivery')?.[1]

export const POSTMARK_HOOKS: Hooks = {
  ...OF_URL,
  read(given) {
    const body = fieldsOf(given)
    const [kind, delivery] = [kindOf(body), findMetadata(fieldsOf(body.Metadata))]
    if (kind === undefined || typeof delivery !== 'string') return []
    const words = kind === 'complained' || kind === 'delivered' ? [] : [body.Details, body.Description, body.Name]
    return [{ delivery, kind, reason: reasonOf(words, kind) }]
  },
}
