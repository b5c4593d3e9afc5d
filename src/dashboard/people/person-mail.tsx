/** @jsxImportSource preact */
import type { ListedDelivery, MessageExplanation } from '../../deliveries/delivery-lists.ts'
import type { ContactRow } from '../../people/contacts.ts'
import { deliveriesPath } from '../deliveries/deliveries-view.ts'
import { DeliveryBadge, deliveryPath, LimitLink } from '../deliveries/delivery-labels.tsx'
import { Badge } from '../ui/badge.tsx'
import { OneLine, SentText } from '../ui/text.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** `isMore`: there are older emails. */
export type PersonEmails = { emails: ListedDelivery[]; isMore: boolean }

type MailProps = { viewer: Viewer; person: ContactRow; messages: MessageExplanation[] } & PersonEmails

/** Further emails are collapsed, or on Deliveries. */
export const MOST_SHOWN = 8

/** A person's emails, newest first, then why the other messages sent none, live messages first. */
export function PersonMail({ viewer, person, messages, emails, isMore }: MailProps) {
  if (messages.length === 0) return null
  const whyOf = new Map(messages.map(({ delivery, why }) => [delivery?.id, why]))
  const unsent = messages.filter(({ delivery }) => delivery === null)
  const lines = [
    ...emails.map(({ work: { delivery, message }, explained }) => ({
      delivery,
      message,
      why: whyOf.get(delivery.id) ?? explained.why,
    })),
    ...unsent.toSorted((a, b) => Number(b.message.status === 'live') - Number(a.message.status === 'live')),
  ]
  const rest = lines.slice(MOST_SHOWN)
  return (
    <section id="mail">
      <h2>Emails</h2>
      <Lines viewer={viewer} lines={lines.slice(0, MOST_SHOWN)} />
      {isMore && (
        <p>
          <a href={deliveriesPath(viewer.app.publicId, { contactId: person.id, isLead: true })}>All emails</a>
        </p>
      )}
      {rest.length > 0 && (
        <details>
          <summary>{rest.length === 1 ? 'One more message' : `${rest.length} more messages`}</summary>
          <Lines viewer={viewer} lines={rest} />
        </details>
      )}
    </section>
  )
}

const Lines = ({ viewer, lines }: { viewer: Viewer; lines: Line[] }) => (
  <ul class="fact-list">
    {lines.map((one) => (
      <li key={one.delivery?.id ?? `message ${one.message.id}`}>
        <DeliveryLine viewer={viewer} {...one} />
      </li>
    ))}
  </ul>
)

type Line = Pick<MessageExplanation, 'message' | 'delivery' | 'why' | 'scheduledAt'>
type LineProps = { viewer: Viewer } & Line

export const DeliveryLine = ({ viewer, message, delivery, why, scheduledAt }: LineProps) => {
  const name = <OneLine>{message.name}</OneLine>
  return (
    <>
      <p class="with-badge">
        {delivery ? <a href={deliveryPath(viewer.app.publicId, delivery.id)}>{name}</a> : <b>{name}</b>}
        {delivery ? (
          <DeliveryBadge delivery={delivery} />
        ) : (
          <Badge>{scheduledAt === undefined ? NOT_QUEUED[message.status] : 'Scheduled'}</Badge>
        )}
      </p>
      <p class="hint">
        <SentText most={400}>{why}</SentText>
        {delivery && <LimitLink appId={viewer.app.publicId} delivery={delivery} />}
      </p>
    </>
  )
}

const NOT_QUEUED = { draft: 'Draft', live: 'Never triggered', paused: 'Paused' } as const
