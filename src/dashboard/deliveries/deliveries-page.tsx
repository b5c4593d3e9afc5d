/** @jsxImportSource preact */
import { formatCount, formatCounted, MOST_COUNTED } from '../../core/count.ts'
import {
  type DeliveryOutcome,
  type ListedDelivery,
  type MessageRow,
  shortenReason,
} from '../../deliveries/delivery-lists.ts'
import { publicId } from '../../core/ids.ts'
import { RANGE_DAYS } from '../layout/days.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { DeliverySections, MailNotices } from '../layout/mail-notices.tsx'
import type { MailState } from '../../monitoring/mail-state.ts'
import type { Viewer } from '../layout/viewer.ts'
import { MessageTabs } from '../messages/message-tabs.tsx'
import { peoplePath } from '../people/people-view.ts'
import { ButtonLink } from '../ui/button.tsx'
import { type Chip, Chips } from '../ui/chips.tsx'
import { Select } from '../ui/choice.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { FeedPending, FeedTools } from '../ui/feed.tsx'
import { DayField, FieldFrame } from '../ui/field.tsx'
import { FilterMenu } from '../ui/filter-menu.tsx'
import { Notice } from '../ui/notice.tsx'
import { Pager } from '../ui/table.tsx'
import { formatDate } from '../../core/format-time.ts'
import {
  daysAgo,
  type DeliveriesView,
  deliveriesPath,
  type FilterName,
  FILTER_NAMES,
  isNarrowed,
  listFilters,
  listKept,
  NO_FILTER,
} from './deliveries-view.ts'
import { hasRole } from '../../accounts/members.ts'
import { describeFilter, STATE_CHOICES } from './delivery-labels.tsx'
import { DeliveryHeads, DeliveryRow } from './delivery-row.tsx'
import { ResendAll, ResendNext } from './resend-all.tsx'

type DeliveriesProps = {
  viewer: Viewer
  mail: MailState
  view: DeliveriesView
  /** of the person filter, as typed if not one person has it */
  email: string
  error?: string
  /** of the days */
  fault: string | null
  /** of the last action */
  notice?: string
  messages: MessageRow[]
  /** codes that occur */
  reasons: string[]
  deliveries: ListedDelivery[]
  /** up to `MOST_COUNTED` + 1 */
  count: number
  /** whether this is the first page, which gets new deliveries */
  isFirst: boolean
  /** emails that failed, if only those are shown */
  failed: FailedEmails | null
  /** last delivery of this page, if there is another page */
  older: number | null
  now: number
}

/** Counts up to `MOST_COUNTED` + 1. `next`: from where on the `left` ones are sent, after some were. */
export type FailedEmails = { count: number; next: number | null; left: number }

/** Those of one message are a page of that message. */
export function DeliveriesPage(props: DeliveriesProps) {
  const { viewer, view, count, mail } = props
  const message = props.messages.find(({ id }) => id === view.messageId)
  return (
    <Frame
      viewer={viewer}
      page={message ? 'messages' : 'deliveries'}
      title={message?.name ?? 'Deliveries'}
      tabTitle={message && `Deliveries of ${message.name}`}
      state={
        <span data-feed-counts="state">
          <State count={count} isNarrowed={isNarrowed(view)} />
        </span>
      }
      action={<SendAllAgain {...props} />}
      islands={['feed']}
    >
      {props.notice && <Notice kind="error">{props.notice}</Notice>}
      <SendNext {...props} />
      <MailNotices viewer={viewer} state={mail} />
      {message ? (
        <MessageTabs viewer={viewer} message={message} page="deliveries" />
      ) : (
        <DeliverySections viewer={viewer} current="deliveries" />
      )}
      {isNothing(props) ? <FeedSection {...props} /> : <FilteredList {...props} />}
    </Frame>
  )
}

/** Editors, once emails can leave. */
const maySend = ({ viewer, mail }: DeliveriesProps): boolean =>
  !mail.isCapturing && !mail.isUnreadable && hasRole(viewer.member.role, 'editor')

const resendingOf = ({ viewer, view }: DeliveriesProps) => ({
  state: 'failed',
  action: deliveriesPath(viewer.app.publicId, view, { page: 'deliveries/resend' }),
})

const SendAllAgain = (props: DeliveriesProps) => {
  const { failed, deliveries, isFirst } = props
  const newest = deliveries[0]?.work.delivery
  if (!failed || failed.count === 0 || !newest || !isFirst || !maySend(props)) return null
  const resending = { ...resendingOf(props), count: failed.count, until: newest.id }
  return <ResendAll opener="Send all again" title="Send {} again?" brake={props.mail.brake} {...resending} />
}

const SendNext = (props: DeliveriesProps) => {
  const { failed } = props
  if (!failed || failed.next === null || failed.left === 0 || !maySend(props)) return null
  return <ResendNext {...resendingOf(props)} count={failed.left} until={failed.next} />
}

const isNothing = ({ deliveries, view, isFirst, error }: DeliveriesProps): boolean =>
  deliveries.length === 0 && isFirst && !isNarrowed(view) && error === undefined

export function State({ count, isNarrowed }: { count: number; isNarrowed: boolean }) {
  if (count === 0) return <>{isNarrowed ? 'No deliveries match.' : 'Every email, sent or not, and why.'}</>
  const deliveries = `${formatCounted(count)} ${count === 1 ? 'delivery' : 'deliveries'}`
  return <>{`${deliveries}${isNarrowed ? (count === 1 ? ' matches' : ' match') : ''}, newest first.`}</>
}

const FilteredList = (props: DeliveriesProps) => {
  const { viewer, view, isFirst } = props
  return (
    <>
      <div class="list-tools">
        <FilterForm {...props} />
        <Ranges {...props} />
        {isFirst && <FeedTools />}
      </div>
      {props.fault && <Notice kind="error">{props.fault}</Notice>}
      <Chips chips={chipsOf(props)} clear={deliveriesPath(viewer.app.publicId, NO_FILTER)} />
      {view.outcome === 'cameBack' && <Returned {...props} />}
      <FeedSection {...props} />
    </>
  )
}

const FeedSection = (props: DeliveriesProps) => (
  <section class="feed-section" aria-label="Deliveries">
    {props.isFirst && <p class="hint" role="status" data-stream-reason />}
    <DeliveryList {...props} />
  </section>
)

/** The days of the list are those on which the deliveries were created. */
const Returned = ({ viewer, view: { messageId } }: DeliveriesProps) => (
  <p class="hint">
    People who came back in the{' '}
    <a href={peoplePath(viewer.app.publicId, { emails: 'returned', days: '7', messageId })}>last 7 days</a>, in the{' '}
    <a href={peoplePath(viewer.app.publicId, { emails: 'returned', days: '30', messageId })}>last 30 days</a> or at{' '}
    <a href={peoplePath(viewer.app.publicId, { emails: 'returned', messageId })}>any time</a>.
  </p>
)

const Ranges = ({ viewer, view, now }: DeliveriesProps) => {
  const zone = viewer.app.timezone
  const ranges = [
    ...RANGE_DAYS.map((days) => ({ name: `${days} days`, from: daysAgo(days, now, zone) })),
    { name: 'All time', from: '' },
  ]
  return (
    <nav class="ranges" aria-label="Creation dates">
      <span>Created:</span>
      {ranges.map(({ name, from }) => (
        <a
          key={name}
          href={deliveriesPath(viewer.app.publicId, { ...view, from, to: '', isUtc: false })}
          aria-current={view.from === from && view.to === '' && !view.isUtc ? 'true' : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
  )
}

type Choices = { value: string; label: string }[]

const OUTCOME_NAMES: Record<DeliveryOutcome, string> = {
  delivered: 'Delivered',
  cameBack: 'Came back',
  opened: 'Opened the result',
  goal: 'Reached the goal',
}

const OUTCOME_CHOICES: Choices = Object.entries(OUTCOME_NAMES).map(([value, label]) => ({ value, label }))

/** By POST, so that emails don't appear in URLs and logs. */
const FilterForm = ({ viewer, view, email, error, messages, reasons }: DeliveriesProps) => (
  <form class="filter-form" role="search" method="post" action={pathOf(viewer.app.publicId, 'deliveries')}>
    {listKept(view).map(({ name, value }) => (
      <input key={name} type="hidden" name={name} value={value} />
    ))}
    <FilterMenu isOpen={error !== undefined}>
      <FieldFrame name="email" label="Person" error={error}>
        <input
          id="email"
          name="email"
          type="text"
          value={email}
          placeholder="Email or name"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          aria-invalid={error ? 'true' : undefined}
          aria-describedby={error ? 'email-fault' : undefined}
        />
      </FieldFrame>
      <Select
        name="message"
        label="Message"
        value={view.messageId === null ? '' : publicId('msg', view.messageId)}
        options={[
          { value: '', label: 'All messages' },
          ...messages.map(({ id, name }) => ({ value: publicId('msg', id), label: name })),
        ]}
      />
      <Select
        name="state"
        label="State"
        value={view.state ?? ''}
        options={[{ value: '', label: 'All states' }, ...STATE_CHOICES]}
      />
      <Select
        name="reason"
        label="Reason"
        value={view.reason}
        options={[{ value: '', label: 'All reasons' }, ...reasonChoices(reasons, view.reason)]}
      />
      <Select
        name="outcome"
        label="Result"
        value={view.outcome ?? ''}
        options={[{ value: '', label: 'Any result' }, ...OUTCOME_CHOICES]}
      />
      <DayField name="from" label="Created from" value={view.from} />
      <DayField name="to" label="Created to" value={view.to} />
    </FilterMenu>
  </form>
)

const reasonChoices = (reasons: string[], current: string): Choices =>
  [...new Set(current === '' ? reasons : [...reasons, current])]
    .map((value) => ({ value, label: shortenReason(value) }))
    .toSorted((a, b) => a.label.localeCompare(b.label, 'en'))

const chipsOf = (props: DeliveriesProps): Chip[] =>
  listFilters(props.view).map((name) => ({
    name: FILTER_NAMES[name],
    value: valueOf(name, props),
    href: deliveriesPath(props.viewer.app.publicId, { ...props.view, [name]: NO_FILTER[name] }),
  }))

const UNKNOWN = 'unknown'

function valueOf(name: FilterName, { view, email, messages }: DeliveriesProps): string {
  const { messageId, state, outcome } = view
  const values: Record<FilterName, () => string> = {
    contactId: () => (email === '' ? UNKNOWN : email),
    messageId: () => messages.find(({ id }) => id === messageId)?.name ?? UNKNOWN,
    state: () => (state === null ? '' : describeFilter(state)),
    reason: () => shortenReason(view.reason),
    outcome: () => (outcome === null ? '' : OUTCOME_NAMES[outcome]),
    from: () => formatDate(Date.parse(view.from)),
    to: () => formatDate(Date.parse(view.to)),
    isUtc: () => 'UTC',
    isLead: () => 'hidden',
  }
  return values[name]()
}

function DeliveryList(props: DeliveriesProps) {
  const { viewer, view, deliveries, count, isFirst, older, now } = props
  const { publicId: appId } = viewer.app
  const live = deliveriesPath(appId, view, { page: 'deliveries-live' })
  return (
    <>
      {isFirst && <FeedPending noun="delivery" plural="deliveries" />}
      <div class="delivery-list">
        <DeliveryHeads />
        <ol class="feed deliveries" data-feed={isFirst ? live : undefined}>
          {deliveries.map((row) => (
            <DeliveryRow key={row.work.delivery.id} appId={appId} row={row} now={now} />
          ))}
        </ol>
      </div>
      {(isFirst || deliveries.length === 0) && <NoMatch {...props} />}
      <div class="list-foot" data-feed-counts={isFirst ? 'foot' : undefined}>
        <ListFoot appId={appId} view={view} count={count} older={older} isFirst={isFirst} />
      </div>
    </>
  )
}

type FootProps = Pick<DeliveriesProps, 'view' | 'count' | 'older' | 'isFirst'> & { appId: string }

export const ListFoot = ({ appId, view, count, older, isFirst }: FootProps) => (
  <>
    <Pager
      newest={isFirst ? undefined : deliveriesPath(appId, view)}
      older={older === null ? undefined : deliveriesPath(appId, view, { before: older })}
    />
    {count > 0 && (
      <p class="hint">
        Export {count > MOST_COUNTED ? 'all' : formatCount(count)} as{' '}
        <a href={deliveriesPath(appId, view, { page: 'deliveries/export' })}>CSV</a>
      </p>
    )}
  </>
)

const NothingYet = ({ viewer, messages }: DeliveriesProps) => {
  const isLive = messages.some(({ status }) => status === 'live')
  const next = <ButtonLink href={pathOf(viewer.app.publicId, 'messages')}>Open Messages</ButtonLink>
  return (
    <EmptyState title="No deliveries yet" next={isLive ? undefined : next}>
      When something triggers a live message, the delivery appears here: who it is for, and why they got the email or
      didn't.{!isLive && ' No message is live yet.'}
    </EmptyState>
  )
}

const NoMatch = (props: DeliveriesProps) => {
  const { viewer, view, isFirst, fault } = props
  if (!isFirst) return <EmptyState title="Nothing older">You've reached the oldest delivery.</EmptyState>
  if (!isNarrowed(view)) return isNothing(props) ? <NothingYet {...props} /> : null
  const all = <ButtonLink href={deliveriesPath(viewer.app.publicId, NO_FILTER)}>Show all deliveries</ButtonLink>
  return (
    <EmptyState title="No deliveries match" next={all}>
      {fault ? 'Change the days in the filter.' : 'New deliveries that match appear here.'}
    </EmptyState>
  )
}
