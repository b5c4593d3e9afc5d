/** @jsxImportSource preact */
import { deliveryPath } from './delivery-labels.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { hasRole } from '../../accounts/members.ts'
import { publicId } from '../../core/ids.ts'
import { MOST_COUNTED } from '../../deliveries/delivery-lists.ts'
import { DeliverySections, MailNotices, type MailState } from '../layout/mail-notices.tsx'
import { ActionForm } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { Notice } from '../ui/notice.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { Breakable, SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** A captured email; `capturedAt` is in ms UTC. */
export type Captured = { deliveryId: number; to: string; subject: string; capturedAt: number }

type OutboxProps = {
  viewer: Viewer
  state: MailState
  mails: Captured[]
  isFirst: boolean
  /** cursor of the next page */
  older: string | null
  /** all captured emails, up to `MOST_COUNTED` + 1 */
  count: number
  /** what sending all of them did */
  sent: { sent: number; refused: number } | null
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
      {props.sent && <SentAll {...props.sent} />}
      <MailNotices viewer={viewer} state={state} on="outbox" />
      <DeliverySections viewer={viewer} current="outbox" />
      {mails.length === 0 ? (
        <NoMails isFirst={isFirst} isCapturing={state.isCapturing} />
      ) : (
        <section aria-label="Captured emails">
          <p class="hint">
            A captured email counts as sent.{' '}
            {state.isCapturing || state.isUnreadable
              ? 'Once a mail server is set, you can send each from its page.'
              : 'Send all of them, or each from its page.'}
          </p>
          <Table
            label="Captured emails, newest first"
            columns={columnsOf(viewer, now)}
            rows={mails}
            idOf={({ deliveryId }) => String(deliveryId)}
          />
        </section>
      )}
      <Pager newest={isFirst ? undefined : path} older={older === null ? undefined : `${path}?before=${older}`} />
    </Frame>
  )
}

/** For editors, once emails can leave. */
const SendAll = ({ viewer, state, mails, isFirst, count }: OutboxProps) => {
  const newest = mails[0]
  const mayLeave = !state.isCapturing && !state.isUnreadable
  if (!newest || !isFirst || !mayLeave || !hasRole(viewer.member.role, 'editor')) return null
  const number = count > MOST_COUNTED ? `more than ${MOST_COUNTED.toLocaleString('en')}` : count.toLocaleString('en')
  const emails = count === 1 ? '1 captured email' : `${number} captured emails`
  return (
    <Dialog id="send-captured" opener="Send all" title={`Send ${emails}?`}>
      <p>
        They are sent now, exactly as captured. Rules aren't checked again. People who have unsubscribed since don't get
        them.
      </p>
      <ActionForm
        action={`${pathOf(viewer.app.publicId, 'outbox')}/send`}
        fields={{ until: publicId('dlv', newest.deliveryId) }}
        kind="primary"
      >
        {`Send ${emails}`}
      </ActionForm>
    </Dialog>
  )
}

const count = (number: number, one: string, many: string): string =>
  number === 1 ? one : `${number.toLocaleString('en')} ${many}`

const SentAll = ({ sent, refused }: { sent: number; refused: number }) => (
  <Notice kind="done">
    {`${count(sent, 'One email is', 'emails are')} sent next, unless the person can't be emailed.`}
    {refused > 0 &&
      ` ${count(refused, 'One stays', 'stay')} captured, because another email of the same message was sent or is waiting.`}
  </Notice>
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
  { name: 'To', cell: ({ to }) => <Breakable>{to}</Breakable> },
  { name: 'Captured', cell: ({ capturedAt }) => <Time at={capturedAt} now={now} /> },
]

const NoMails = ({ isFirst, isCapturing }: { isFirst: boolean; isCapturing: boolean }) => {
  if (!isFirst) return <EmptyState title="Nothing older">You've reached the oldest captured email.</EmptyState>
  return isCapturing ? (
    <EmptyState title="No captured emails yet">
      Without a mail server, emails are captured here instead of sent.
    </EmptyState>
  ) : (
    <EmptyState title="No captured emails">
      This app sends through its mail server. Emails are captured only without one.
    </EmptyState>
  )
}
