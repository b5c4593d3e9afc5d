/** @jsxImportSource preact */
import { DELIVERY_STATES, type MessageRow, type ListedDelivery } from '../../deliveries/delivery-lists.ts'
import { publicId } from '../../core/ids.ts'
import { DeliveryBadge, deliveryPath, STATE_GROUPS, type StateFilter, describeState } from './delivery-labels.tsx'
import { personPath } from '../events/feed.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { DeliverySections, MailNotices, type MailState } from '../layout/mail-notices.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Select } from '../ui/choice.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** Filters; null = all. */
type Filter = { messageId: number | null; state: StateFilter | null }

type DeliveriesProps = {
  viewer: Viewer
  mail: MailState
  messages: MessageRow[]
  filter: Filter
  deliveries: ListedDelivery[]
  isFirst: boolean
  /** cursor of the next page */
  older: string | null
  now: number
}

export const DeliveriesPage = (props: DeliveriesProps) => (
  <Frame viewer={props.viewer} page="deliveries" title="Deliveries" state="Every email, sent or not, and why.">
    <MailNotices viewer={props.viewer} state={props.mail} />
    <DeliverySections viewer={props.viewer} current="deliveries" />
    <FilterForm {...props} />
    <DeliveryList {...props} />
  </Frame>
)

const FilterForm = ({ viewer, messages, filter: { messageId, state } }: DeliveriesProps) => (
  <form class="filters" method="get" action={pathOf(viewer.app.publicId, 'deliveries')}>
    <Select
      name="message"
      label="Message"
      value={messageId === null ? '' : publicId('msg', messageId)}
      options={[
        { value: '', label: 'Every message' },
        ...messages.map(({ id, name }) => ({ value: publicId('msg', id), label: name })),
      ]}
    />
    <Select
      name="state"
      label="State"
      value={state ?? ''}
      options={[
        { value: '', label: 'Every state' },
        ...Object.entries(STATE_GROUPS).map(([value, { word }]) => ({ value, label: word })),
        ...DELIVERY_STATES.map((one) => ({ value: one, label: describeState(one) })),
      ]}
    />
    <Button>Show</Button>
  </form>
)

const isNarrowed = ({ messageId, state }: Filter): boolean => messageId !== null || state !== null

function DeliveryList(props: DeliveriesProps) {
  const { viewer, filter, deliveries, isFirst, older, now } = props
  const asked = new URLSearchParams()
  if (filter.messageId !== null) asked.set('message', publicId('msg', filter.messageId))
  if (filter.state !== null) asked.set('state', filter.state)
  const path = (before?: string): string => {
    const query = new URLSearchParams([
      ...asked,
      ...(before === undefined ? [] : [['before', before] as [string, string]]),
    ])
    return `${pathOf(viewer.app.publicId, 'deliveries')}${query.size === 0 ? '' : `?${query}`}`
  }
  return (
    <>
      {deliveries.length === 0 ? (
        <Nothing {...props} />
      ) : (
        <Table
          label="Deliveries, the newest first"
          columns={columnsOf(viewer, now)}
          rows={deliveries}
          idOf={({ work }) => String(work.delivery.id)}
        />
      )}
      <Pager newest={isFirst ? undefined : path()} older={older === null ? undefined : path(older)} />
    </>
  )
}

const columnsOf = ({ app }: Viewer, now: number): Column<ListedDelivery>[] => [
  {
    name: 'Person',
    cell: ({ work: { contact } }) => (
      <a class="address" href={personPath(app.publicId, contact.id)}>
        <SentText most={60}>{contact.email}</SentText>
      </a>
    ),
  },
  {
    name: 'Message',
    cell: ({ work: { message, delivery } }) => (
      <a class="strong" href={deliveryPath(app.publicId, delivery.id)}>
        <SentText most={60}>{message.name}</SentText>
      </a>
    ),
  },
  { name: 'State', cell: ({ work }) => <DeliveryBadge delivery={work.delivery} /> },
  { name: 'Why', cell: ({ explained }) => <SentText most={240}>{explained.why}</SentText> },
  { name: 'Triggered', cell: ({ work }) => <Time at={work.delivery.triggeredAt} now={now} /> },
]

const Nothing = ({ viewer, filter, isFirst }: DeliveriesProps) => {
  if (isNarrowed(filter)) {
    const all = <ButtonLink href={pathOf(viewer.app.publicId, 'deliveries')}>Show all</ButtonLink>
    return (
      <EmptyState title="None of these" next={all}>
        No delivery of this app is of this message and in this state.
      </EmptyState>
    )
  }
  return isFirst ? (
    <EmptyState title="Nothing to deliver yet">
      As soon as something triggers a live message, it is listed here with the person it is for, and with the reason why
      they got it or did not. Nothing has triggered one yet.
    </EmptyState>
  ) : (
    <EmptyState title="Nothing older">These were the first deliveries of this app.</EmptyState>
  )
}
