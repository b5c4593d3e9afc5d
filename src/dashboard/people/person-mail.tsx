/** @jsxImportSource preact */
import type { MessageExplanation } from '../../deliveries/delivery-lists.ts'
import { DeliveryBadge, deliveryPath } from '../deliveries/delivery-labels.tsx'
import { Badge } from '../ui/badge.tsx'
import { SentText } from '../ui/text.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** Why this person did or didn't get each message. */
export const PersonMail = ({ viewer, messages }: { viewer: Viewer; messages: MessageExplanation[] }) =>
  messages.length === 0 ? null : (
    <section id="mail">
      <h2>Emails</h2>
      <ul class="fact-list">
        {messages.map((one) => (
          <li key={one.message.id}>
            <DeliveryLine viewer={viewer} {...one} />
          </li>
        ))}
      </ul>
    </section>
  )

type LineProps = { viewer: Viewer } & Pick<MessageExplanation, 'message' | 'delivery' | 'why'>

export const DeliveryLine = ({ viewer, message, delivery, why }: LineProps) => {
  const name = <SentText most={80}>{message.name}</SentText>
  return (
    <>
      <p class="with-badge">
        {delivery ? <a href={deliveryPath(viewer.app.publicId, delivery.id)}>{name}</a> : <b>{name}</b>}
        {delivery ? <DeliveryBadge delivery={delivery} /> : <Badge>{NOT_QUEUED[message.status]}</Badge>}
      </p>
      <p class="hint">
        <SentText most={400}>{why}</SentText>
      </p>
    </>
  )
}

const NOT_QUEUED = { draft: 'Draft', live: 'Never started', paused: 'Paused' } as const
