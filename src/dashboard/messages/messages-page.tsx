/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import { hasRole } from '../../accounts/members.ts'
import { describeTrigger, describeWait } from '../../messages/describe-message.ts'
import type { CountedMessage, MessageCounts, MessageRow } from '../../messages/messages.ts'
import { deliveriesPath } from '../deliveries/deliveries-view.ts'
import type { StateFilter } from '../deliveries/delivery-labels.tsx'
import type { DeliveryOutcome } from '../../deliveries/delivery-lists.ts'
import { publicId } from '../../core/ids.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { MailNotices } from '../layout/mail-notices.tsx'
import type { MailState } from '../../monitoring/mail-state.ts'
import { countIn, countSent, countWaiting, MessageBadge } from './message-status.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { None } from '../people/tags.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** `messages`: those of `all` on this page. `after`: the ID before them, or 0. */
type MessagesProps = {
  viewer: Viewer
  mail: MailState
  all: MessageRow[]
  messages: CountedMessage[]
  after: number
  hasMore: boolean
}

export const messagePath = (appId: string, id: number): string => `${pathOf(appId, 'messages')}/${publicId('msg', id)}`

export const resultsPath = (appId: string, id: number): string => `${messagePath(appId, id)}/results`

/** Drafts open in the editor; messages that have been live open on their results. */
export const openPath = (appId: string, { id, status }: Pick<MessageRow, 'id' | 'status'>): string =>
  status === 'draft' ? messagePath(appId, id) : resultsPath(appId, id)

export function MessagesPage({ viewer, mail, all, messages, after, hasMore }: MessagesProps) {
  const isEditor = hasRole(viewer.member.role, 'editor')
  const path = pathOf(viewer.app.publicId, 'messages')
  const last = messages.at(-1)
  const write = (
    <ButtonLink kind="primary" href={`${path}/new`}>
      New message
    </ButtonLink>
  )
  return (
    <Frame
      viewer={viewer}
      page="messages"
      title="Messages"
      state={describeTotals(all, mail)}
      action={isEditor && all.length > 0 ? write : undefined}
    >
      <MailNotices viewer={viewer} state={mail} />
      {all.length === 0 ? (
        <EmptyState title="No messages" next={isEditor ? write : undefined}>
          A message is an email that is sent automatically, such as when someone leaves before their results are ready.
        </EmptyState>
      ) : (
        <>
          <Table
            label="Messages, oldest first"
            columns={columnsOf(viewer, messages)}
            rows={messages}
            idOf={({ id }) => String(id)}
          />
          <p class="hint after-table">Totals since each message was created.</p>
          <Pager
            newest={after > 0 ? path : undefined}
            newestLabel="Oldest"
            older={hasMore && last ? `${path}?after=${publicId('msg', last.id)}` : undefined}
            olderLabel="Newer"
          />
        </>
      )}
    </Frame>
  )
}

function describeTotals(messages: MessageRow[], { hasSender, isCapturing }: MailState): string {
  const live = messages.filter(({ status }) => status === 'live')
  const unsent = hasSender ? 0 : live.filter(({ content }) => content.mail.fromEmail === undefined).length
  if (live.length === 0) return 'No message is live, so no emails are sent automatically.'
  const which =
    messages.length === 1
      ? 'The message is live.'
      : `${live.length} of ${messages.length} messages ${live.length === 1 ? 'is' : 'are'} live.`
  if (unsent > 0) return `${which} ${messages.length === 1 ? 'It' : unsent} can't be sent without a sender address.`
  return isCapturing ? `${which} Emails are captured until a mail server is set up.` : which
}

/** The captured column is shown only if needed. Those emails also count as not sent, as in Results. */
const columnsOf = (viewer: Viewer, messages: CountedMessage[]): Column<CountedMessage>[] => [
  {
    name: 'Message',
    cell: ({ id, status, name, content }) => (
      <>
        <a class="message-name" href={openPath(viewer.app.publicId, { id, status })}>
          <SentText>{name}</SentText>
        </a>
        <p class="hint">{`${describeStart(describeTrigger(content.trigger))}, ${describeWait(content.wait)}`}</p>
      </>
    ),
  },
  { name: 'State', isUnlabelled: true, cell: ({ status }) => <MessageBadge status={status} /> },
  numberOf(viewer, 'Waiting', { count: countWaiting, state: 'pending' }),
  numberOf(viewer, 'Sent', { count: countSent, state: 'left' }),
  numberOf(viewer, 'Came back', {
    count: ({ cameBack }) => cameBack,
    of: countSent,
    state: 'left',
    outcome: 'cameBack',
  }),
  numberOf(viewer, 'Opened the result', {
    count: ({ opened }) => opened,
    of: countSent,
    state: 'left',
    outcome: 'opened',
  }),
  numberOf(viewer, 'Not sent', { count: (counts) => countIn(counts, 'unsent') + counts.heldBack, state: 'unsent' }),
  ...(messages.some(({ counts }) => counts.kept > 0)
    ? [numberOf(viewer, 'Captured', { count: ({ kept }) => kept, state: 'kept' })]
    : []),
  numberOf(viewer, 'Problems', { count: (counts) => countIn(counts, 'amiss'), state: 'amiss' }),
]

const describeStart = (text: string): string => `When ${text}`

/** `of`: the total for the percentage. `state` and `outcome`: the linked filter. */
type Counted = {
  count(counts: MessageCounts): number
  of?(counts: MessageCounts): number
  state?: StateFilter
  outcome?: DeliveryOutcome | null
}

const numberOf = (viewer: Viewer, name: string, { count, of, state, outcome }: Counted): Column<CountedMessage> => ({
  name,
  isNumber: true,
  cell: ({ id, counts }) => {
    const [number, whole] = [count(counts), of?.(counts) ?? 0]
    if (number === 0 && whole === 0) return <None />
    const text = formatCount(number)
    return (
      <>
        {state && number > 0 ? (
          <a href={deliveriesPath(viewer.app.publicId, { messageId: id, state, outcome, isLead: true })}>{text}</a>
        ) : (
          text
        )}
        {whole > 0 && <span class="hint">{` ${Math.round((number * 100) / whole)}%`}</span>}
      </>
    )
  },
})
