/** @jsxImportSource preact */
import { DeliveryBadge, deliveryPath } from './delivery-labels.tsx'
import { ResendAll, ResendNext } from './resend-all.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { hasRole } from '../../accounts/members.ts'
import type { DeliveryRow } from '../../deliveries/delivery-lists.ts'
import { CAPTURED_COUNTS, DeliverySections, MailNotices } from '../layout/mail-notices.tsx'
import type { MailState } from '../../monitoring/mail-state.ts'
import { Badge } from '../ui/badge.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { Notice } from '../ui/notice.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import type { UnwantedReason } from '../../store/message-types.ts'
import type { Viewer } from '../layout/viewer.ts'

/** A captured email; `capturedAt` is in ms UTC. `unwanted`: why the person can't get it now. */
export type Captured = {
  deliveryId: number
  to: string
  subject: string
  capturedAt: number
  delivery: DeliveryRow
  unwanted: UnwantedReason | null
}

type OutboxProps = {
  viewer: Viewer
  state: MailState
  mails: Captured[]
  isFirst: boolean
  /** cursor of the next page */
  older: string | null
  /** all captured emails, up to `MOST_COUNTED` + 1 */
  count: number
  /** from where on the next ones are sent, after some were */
  next: number | null
  /** how many these are, up to `MOST_COUNTED` + 1 */
  left: number
  /** error of the last action */
  notice?: string
  now: number
}

export const OutboxPage = (props: OutboxProps) => {
  const { viewer, state, mails, isFirst, older, notice, now } = props
  const path = pathOf(viewer.app.publicId, 'outbox')
  return (
    <Frame
      viewer={viewer}
      page="deliveries"
      title="Outbox"
      state="Emails captured instead of sent."
      action={<SendAll {...props} />}
    >
      {notice && <Notice kind="error">{notice}</Notice>}
      <SendNext {...props} />
      <MailNotices viewer={viewer} state={state} on="outbox" />
      <DeliverySections viewer={viewer} current="outbox" />
      {mails.length === 0 ? (
        <NoMails isFirst={isFirst} isCapturing={state.isCapturing} />
      ) : (
        <section class="outbox" aria-label="Captured emails">
          <p class="hint">
            {CAPTURED_COUNTS}
            {hasRole(viewer.member.role, 'editor') && ` ${describeSending(state)}`}
          </p>
          <Table
            label="Captured emails, newest first"
            columns={columnsOf(viewer, now)}
            rows={mails}
            idOf={({ deliveryId }) => String(deliveryId)}
            isLinked
          />
        </section>
      )}
      <Pager newest={isFirst ? undefined : path} older={older === null ? undefined : `${path}?before=${older}`} />
    </Frame>
  )
}

const mayLeave = ({ isCapturing, isUnreadable }: MailState): boolean => !isCapturing && !isUnreadable

const describeSending = (state: MailState): string =>
  mayLeave(state)
    ? 'Send all of them here, or each email from its page.'
    : 'Once a mail server is set up, you can send all of them here, or each email from its page.'

/** Editors, once emails can leave. */
const maySend = ({ viewer, state }: Pick<OutboxProps, 'viewer' | 'state'>): boolean =>
  mayLeave(state) && hasRole(viewer.member.role, 'editor')

const actionOf = ({ app }: Viewer): string => `${pathOf(app.publicId, 'outbox')}/send`

const SendAll = (props: OutboxProps) => {
  const { viewer, state, mails, isFirst, count } = props
  const newest = mails[0]
  if (!newest || !isFirst || count === 0 || !maySend(props)) return null
  const resending = { state: CAPTURED, count, until: newest.deliveryId, action: actionOf(viewer) }
  return <ResendAll opener="Send all" title="Send {}?" brake={state.brake} {...resending} />
}

const CAPTURED = 'captured'

const SendNext = (props: OutboxProps) => {
  const { viewer, next, left } = props
  if (next === null || left === 0 || !maySend(props)) return null
  return <ResendNext state={CAPTURED} count={left} until={next} action={actionOf(viewer)} />
}

const UNWANTED: Record<UnwantedReason, string> = {
  unsubscribed: 'Unsubscribed',
  pending: 'Address not confirmed',
  topic: 'Unsubscribed from topic',
  bounced: 'Address bounced',
  complained: 'Complained',
}

/** Some stay here though they can't be sent, and some were sent without success. */
const CapturedBadge = ({ delivery, unwanted }: Captured) =>
  delivery.state === 'kept' && unwanted !== null ? (
    <Badge mood="caution">{UNWANTED[unwanted]}</Badge>
  ) : (
    <DeliveryBadge delivery={delivery} />
  )

const columnsOf = ({ app }: Viewer, now: number): Column<Captured>[] => [
  {
    name: 'Subject',
    cell: ({ deliveryId, subject }) => (
      <a class="strong" href={`${deliveryPath(app.publicId, deliveryId)}#mail`}>
        <SentText most={120}>{subject}</SentText>
      </a>
    ),
  },
  {
    name: 'To',
    cell: ({ to }) => <SentText most={48}>{to}</SentText>,
  },
  { name: 'State', cell: CapturedBadge },
  { name: 'Captured', cell: ({ capturedAt }) => <Time at={capturedAt} now={now} />, isTime: true },
]

const NoMails = ({ isFirst, isCapturing }: { isFirst: boolean; isCapturing: boolean }) => {
  if (!isFirst) return <EmptyState title="Nothing older">You've reached the oldest captured email.</EmptyState>
  return isCapturing ? (
    <EmptyState title="No captured emails yet">
      Without a mail server, emails are captured here instead of sent.
    </EmptyState>
  ) : (
    <EmptyState title="No captured emails">This app has a mail server, so its emails aren't captured.</EmptyState>
  )
}
