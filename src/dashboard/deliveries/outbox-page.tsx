/** @jsxImportSource preact */
import { deliveryPath } from './delivery-labels.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { DeliverySections, MailNotices, type MailState } from '../layout/mail-notices.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
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
  now: number
}

export const OutboxPage = ({ viewer, state, mails, isFirst, older, now }: OutboxProps) => {
  const path = pathOf(viewer.app.publicId, 'outbox')
  return (
    <Frame viewer={viewer} page="deliveries" title="Outbox" state="Emails captured instead of sent.">
      <MailNotices viewer={viewer} state={state} on="outbox" />
      <DeliverySections viewer={viewer} current="outbox" />
      {mails.length === 0 ? (
        <NoMails isFirst={isFirst} isCapturing={state.isCapturing} />
      ) : (
        <section aria-label="Captured emails">
          <p class="hint">
            A captured email counts as sent to its person.{' '}
            {state.isCapturing || state.isUnreadable
              ? 'Once a mail server is set, you can send each from its page.'
              : 'Each can be sent now, from its page.'}
          </p>
          <Table
            label="Captured emails, the newest first"
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

const columnsOf = ({ app }: Viewer, now: number): Column<Captured>[] => [
  {
    name: 'Subject',
    cell: ({ deliveryId, subject }) => (
      <a class="strong" href={`${deliveryPath(app.publicId, deliveryId)}#mail`}>
        <SentText most={120}>{subject}</SentText>
      </a>
    ),
  },
  { name: 'To', cell: ({ to }) => <SentText most={120}>{to}</SentText> },
  { name: 'Captured', cell: ({ capturedAt }) => <Time at={capturedAt} now={now} /> },
]

const NoMails = ({ isFirst, isCapturing }: { isFirst: boolean; isCapturing: boolean }) => {
  if (!isFirst) return <EmptyState title="Nothing older">You've reached the first captured email.</EmptyState>
  return isCapturing ? (
    <EmptyState title="No captured emails yet">
      Emails are captured here while no mail server is set. None yet.
    </EmptyState>
  ) : (
    <EmptyState title="No captured emails">
      This app sends through its mail server. Emails are captured only without one.
    </EmptyState>
  )
}
