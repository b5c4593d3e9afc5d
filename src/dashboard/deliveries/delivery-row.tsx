/** @jsxImportSource preact */
import { type ListedDelivery, shortenListed } from '../../deliveries/delivery-lists.ts'
import { cleanText } from '../../core/visible-text.ts'
import { publicId, timeOfId } from '../../core/ids.ts'
import { SentText } from '../ui/text.tsx'
import { CountdownTime, Time } from '../ui/time.tsx'
import { DeliveryBadge, deliveryPath } from './delivery-labels.tsx'

const NAME_MOST = 60

/** Above the list. On phones, a row has two lines. */
export const DeliveryHeads = () => (
  <div class="delivery-heads" aria-hidden="true">
    <span>Person</span>
    <span>Message</span>
    <span>State</span>
    <span>What happened</span>
    <span>Created</span>
  </div>
)

/** One line; the whole row is a link. */
export const DeliveryRow = ({ appId, row, now }: { appId: string; row: ListedDelivery; now: number }) => {
  const { explained, work } = row
  const { delivery, contact, message } = work
  return (
    <li data-id={publicId('dlv', delivery.id)}>
      <a href={deliveryPath(appId, delivery.id)}>
        <span class="who" title={contact.email}>
          <SentText>{contact.email}</SentText>
        </span>
        <span class="message" title={cleanText(message.name)}>
          <SentText>{message.name}</SentText>
        </span>
        <span class="state">
          <DeliveryBadge delivery={delivery} />
        </span>
        <span class="why" title={explained.why}>
          <ShortReason row={row} most={NAME_MOST} now={now} />
        </span>
        <Time at={timeOfId(delivery.id)} now={now} />
      </a>
    </li>
  )
}

/** `most`: characters */
export const ShortReason = ({ row, most, now }: { row: ListedDelivery; most: number; now: number }) => {
  const { words, countdown } = shortenListed(row)
  return (
    <>
      <SentText most={most}>{words}</SentText>
      {countdown && (
        <>
          {' '}
          <CountdownTime {...countdown} now={now} />
        </>
      )}
    </>
  )
}
