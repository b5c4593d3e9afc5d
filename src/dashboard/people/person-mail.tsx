/** @jsxImportSource preact */
import type { MessageExplanation } from '../../deliveries/delivery-lists.ts'
import { DeliveryBadge, deliveryPath, LimitLink } from '../deliveries/delivery-labels.tsx'
import { Badge } from '../ui/badge.tsx'
import { OneLine, SentText } from '../ui/text.tsx'
import type { Viewer } from '../layout/viewer.ts'

type MailProps = { viewer: Viewer; messages: MessageExplanation[] }

/** More are folded away. */
const MOST_SHOWN = 8

/** Why this person did or didn't get each message. What has an email comes first, then what is live. */
export function PersonMail({ viewer, messages }: MailProps) {
  if (messages.length === 0) return null
  const rankOf = ({ delivery, message }: MessageExplanation): number =>
    delivery ? 0 : message.status === 'live' ? 1 : 2
  const sorted = messages.toSorted((a, b) => rankOf(a) - rankOf(b))
  const rest = sorted.slice(MOST_SHOWN)
  return (
    <section id="mail">
      <h2>Emails</h2>
      <Lines viewer={viewer} messages={sorted.slice(0, MOST_SHOWN)} />
      {rest.length > 0 && (
        <details>
          <summary>{rest.length === 1 ? 'One more message' : `${rest.length} more messages`}</summary>
          <Lines viewer={viewer} messages={rest} />
        </details>
      )}
    </section>
  )
}

const Lines = ({ viewer, messages }: MailProps) => (
  <ul class="fact-list">
    {messages.map((one) => (
      <li key={one.message.id}>
        <DeliveryLine viewer={viewer} {...one} />
      </li>
    ))}
  </ul>
)

type LineProps = { viewer: Viewer } & Pick<MessageExplanation, 'message' | 'delivery' | 'why'>

export const DeliveryLine = ({ viewer, message, delivery, why }: LineProps) => {
  const name = <OneLine>{message.name}</OneLine>
  return (
    <>
      <p class="with-badge">
        {delivery ? <a href={deliveryPath(viewer.app.publicId, delivery.id)}>{name}</a> : <b>{name}</b>}
        {delivery ? <DeliveryBadge delivery={delivery} /> : <Badge>{NOT_QUEUED[message.status]}</Badge>}
      </p>
      <p class="hint">
        <SentText most={400}>{why}</SentText>
        {delivery && <LimitLink appId={viewer.app.publicId} delivery={delivery} />}
      </p>
    </>
  )
}

const NOT_QUEUED = { draft: 'Draft', live: 'Never started', paused: 'Paused' } as const
