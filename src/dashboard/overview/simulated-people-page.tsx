/** @jsxImportSource preact */
import { describeTooOld, type SimulationLine } from '../../deliveries/simulation/index.ts'
import { hasRole } from '../../accounts/members.ts'
import { personPath } from '../events/feed.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { messagePath } from '../messages/messages-page.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import { describeSimulated } from './answer.ts'
import type { Simulated } from './overview-page.tsx'

/** `skipped`: people on earlier pages. */
type PeopleProps = { viewer: Viewer; simulated: Simulated; skipped: number; now: number }

/** More would make the page too tall. */
const PAGE_ROWS = 40

export const SimulatedPeoplePage = (props: PeopleProps) => {
  const { viewer, simulated } = props
  const { message, found } = simulated
  return (
    <Frame
      viewer={viewer}
      page="overview"
      title="Who would get it"
      tabTitle={`Who would get “${message.name}”`}
      islands={found.state === 'running' ? ['live'] : undefined}
      state={<SentText>{describeSimulated(simulated)}</SentText>}
      action={
        <ButtonLink kind="primary" href={messagePath(viewer.app.publicId, message.id)}>
          {hasRole(viewer.member.role, 'editor') ? 'Review' : 'Open'} “<SentText most={60}>{message.name}</SentText>”
        </ButtonLink>
      }
    >
      <div
        data-live="people"
        data-live-from={found.state === 'running' ? `${pathOf(viewer.app.publicId, 'overview')}/live` : undefined}
      >
        <SimulatedPeople {...props} />
      </div>
    </Frame>
  )
}

export const SimulatedPeople = ({ viewer, simulated, skipped, now }: PeopleProps) => {
  const { found } = simulated
  const all = found.result?.lines ?? []
  const rows = all.slice(skipped, skipped + PAGE_ROWS)
  const path = pathOf(viewer.app.publicId, 'overview/people')
  const total = found.result?.people.emailed ?? 0
  const tooOld = found.result !== null && found.result.tooOld > 0 ? describeTooOld(found.result) : null
  if (rows.length === 0) {
    return (
      <EmptyState
        title={found.state === 'running' ? 'Counting' : 'Nobody'}
        next={<ButtonLink href={pathOf(viewer.app.publicId, 'overview')}>Back to Overview</ButtonLink>}
      >
        {found.state === 'running'
          ? 'Simulating the message on stored events. Reload to see the result.'
          : [describeSimulated(simulated), ...(tooOld === null ? [] : [tooOld])].join(' ')}
      </EmptyState>
    )
  }
  return (
    <>
      <Table
        label="People, newest first"
        columns={columnsOf(viewer, now)}
        rows={rows}
        idOf={({ contactId }) => String(contactId)}
        isLinked
      />
      <p class="hint after-table">
        {all.length < total && `The newest ${all.length} of ${total}. `}
        {tooOld !== null && `${tooOld} `}
        Simulated <Time at={found.result?.at ?? now} now={now} />, with today's subscriptions, names, tags and fields.
      </p>
      <Pager
        newest={skipped > 0 ? path : undefined}
        older={all.length > skipped + rows.length ? `${path}?skip=${skipped + rows.length}` : undefined}
      />
    </>
  )
}

const columnsOf = ({ app }: Viewer, now: number): Column<SimulationLine>[] => [
  {
    name: 'Person',
    cell: ({ contactId, email }) =>
      email === null ? (
        'Erased'
      ) : (
        <a href={personPath(app.publicId, contactId)}>
          <SentText>{email}</SentText>
        </a>
      ),
  },
  {
    name: 'Triggered',
    cell: ({ triggeredAt }) => (
      <>
        <span class="on-phones">Triggered </span>
        <Time at={triggeredAt} now={now} />
      </>
    ),
  },
  { name: 'Would have been sent', cell: ({ dueAt }) => <Time at={dueAt} now={now} />, isExtra: true },
]
