/**
 * What Amazon SES publishes to a topic of SNS, as events of a configuration set or as feedback of an identity:
 * https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html and
 * https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html
 */
import type { ReportKind } from '../store/delivery-reports.ts'
import { fieldsOf, type Hooks, kindOfBounce, reasonOf } from './hook.ts'

type Fields = Record<string, unknown>

const KINDS = new Map<unknown, (event: Fields) => ReportKind | undefined>([
  ['Bounce', ({ bounce }) => kindOfBounce(fieldsOf(bounce).bounceType, fieldsOf(bounce).bounceSubType)],
  // some people tell their mailbox that an email is no spam after all
  [
    'Complaint',
    ({ complaint }) => (fieldsOf(complaint).complaintFeedbackType === 'not-spam' ? undefined : 'complained'),
  ],
  ['Delivery', () => 'delivered'],
  ['DeliveryDelay', () => 'delayed'],
  ['Reject', () => 'blocked'],
])

const firstOf = (list: unknown): unknown => (Array.isArray(list) ? list[0] : undefined)

/** Events have the tags of the email; feedback has its headers, if that is turned on. */
function findDelivery(mail: Fields): unknown {
  const tagged = firstOf(fieldsOf(mail.tags).delivery)
  const headers = Array.isArray(mail.headers) ? mail.headers.map(fieldsOf) : []
  const messageId = headers.find(({ name }) => String(name).toLowerCase() === 'message-id')?.value
  return tagged ?? (typeof messageId === 'string' ? messageId.replace(/^<(.*)>$/, '$1') : undefined)
}

/** In the words of the recipient's server. */
function findReason({ bounce, deliveryDelay, reject }: Fields): string[] {
  const recipient = fieldsOf(firstOf(fieldsOf(bounce).bouncedRecipients))
  const delayed = fieldsOf(firstOf(fieldsOf(deliveryDelay).delayedRecipients))
  const [bounced, delay] = [fieldsOf(bounce).bounceSubType, fieldsOf(deliveryDelay).delayType]
  const texts = [recipient.diagnosticCode, bounced, delayed.diagnosticCode, delay, fieldsOf(reject).reason]
  return texts.filter((text) => typeof text === 'string')
}

export const SES_EVENTS: Pick<Hooks, 'read'> = {
  read(body) {
    const event = fieldsOf(body)
    const kind = KINDS.get(event.eventType ?? event.notificationType)?.(event)
    const delivery = findDelivery(fieldsOf(event.mail))
    if (kind === undefined || typeof delivery !== 'string') return []
    return [{ delivery, kind, reason: reasonOf(findReason(event), kind) }]
  },
}
