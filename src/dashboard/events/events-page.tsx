/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import { publicId } from '../../core/ids.ts'
import { formatZone } from '../../core/format-time.ts'
import { CountsSection, countViews, NamesSection, RANGE_WORDS } from './counts-section.tsx'
import { describeEventName } from './event-labels.ts'
import { type CountsProps, type EventsProps, eventsPath, exportPath, feedPath } from './events-view.ts'
import { FeedRow } from './feed.tsx'
import { DeletedNote } from '../layout/deleted-note.tsx'
import { Frame, pathOf } from '../layout/frame.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { FeedPending, FeedTools, FeedZone } from '../ui/feed.tsx'
import { SentText } from '../ui/text.tsx'
import { Pager } from '../ui/table.tsx'
import { upperFirst } from '../../core/text.ts'

export function EventsPage(props: EventsProps) {
  const { viewer, view, counts, rows, isOld } = props
  const hasNone = rows.length === 0 && counts.total === 0 && view.name === null && !isOld
  return (
    <Frame
      viewer={viewer}
      page="events"
      title="Events"
      state={
        <span data-feed-counts="state">
          <State {...props} />
        </span>
      }
      islands={['feed', 'chart']}
    >
      {hasNone ? (
        <FeedSection {...props} />
      ) : (
        <>
          <CountsSection {...props} />
          <div class="columns beside-names">
            <FeedSection {...props} />
            <aside aria-label="Names">
              <NamesSection {...props} />
            </aside>
          </div>
        </>
      )}
    </Frame>
  )
}

export function State({ view: { range, name }, counts }: CountsProps) {
  const { total, points } = counts
  const when = RANGE_WORDS[range].last
  if (name === null)
    return (
      <>
        {total === 0
          ? `No events arrived in ${when}.`
          : `${describeTotal(total, countViews(counts))} arrived in ${when}.`}
      </>
    )
  const count = points.reduce((sum, point) => sum + point.count, 0)
  const times = count === 0 ? 'no events' : count === 1 ? 'one event' : `${formatCount(count)} events`
  return (
    <>
      <SentText>{describeEventName(name)}</SentText>: {times} arrived in {when}.
    </>
  )
}

const describeTotal = (total: number, views: number): string => {
  const viewed = views === 1 ? 'one page view' : `${formatCount(views)} page views`
  if (views === 0) return countEvents(total)
  return total === views ? upperFirst(viewed) : `${countEvents(total - views)} and ${viewed}`
}

const countEvents = (count: number): string => (count === 1 ? 'One event' : `${formatCount(count)} events`)

const FeedSection = (props: EventsProps) => (
  <section class="feed-section" aria-label="Newest events">
    <div class="section-head">
      <h2>{props.isOld ? 'Older events' : 'Newest events'}</h2>
      {props.isOld ? (
        <span class="hint small">{formatZone(props.viewer.app.timezone)}</span>
      ) : (
        <FeedTools zone={formatZone(props.viewer.app.timezone)} />
      )}
    </div>
    {!props.isOld && <p class="hint" role="status" data-stream-reason />}
    <FeedList {...props} />
  </section>
)

function FeedList({ viewer, view, rows, isOld, older, expired }: EventsProps) {
  const { publicId: appId } = viewer.app
  const path = (cursor: string | null) => eventsPath(appId, view, cursor)
  return (
    <>
      {!isOld && <FeedPending noun="event" />}
      <ol
        class="feed"
        data-feed={isOld ? undefined : feedPath(appId, view)}
        data-cursor={publicId('evt', rows[0]?.id ?? 0)}
      >
        {rows.map((row) => (
          <FeedRow key={row.id} appId={appId} row={row} />
        ))}
      </ol>
      {rows.length === 0 && <NoRows viewer={viewer} view={view} isOld={isOld} />}
      {!isOld && <FeedZone zone={formatZone(viewer.app.timezone)} />}
      <div class="list-foot">
        <Pager newest={isOld ? path(null) : undefined} older={older === null ? undefined : path(older)} />
        {rows.length > 0 && (
          <p class="hint">
            Export {view.name === null ? 'all events' : 'all with this name'} as{' '}
            <a href={exportPath(appId, view)}>CSV</a>
          </p>
        )}
      </div>
      {older === null && <DeletedNote viewer={viewer} expired={expired} since={0} />}
    </>
  )
}

const NoRows = ({ viewer, view, isOld }: Pick<EventsProps, 'viewer' | 'view' | 'isOld'>) => {
  if (isOld) return <EmptyState title="Nothing older">You've reached the oldest event.</EmptyState>
  if (view.name !== null)
    return (
      <EmptyState
        title="No events with this name"
        next={<ButtonLink href={eventsPath(viewer.app.publicId, { ...view, name: null })}>Show all events</ButtonLink>}
      >
        New ones appear here as soon as they arrive.
      </EmptyState>
    )
  return (
    <EmptyState
      title="No events yet"
      next={
        <ButtonLink kind="primary" href={pathOf(viewer.app.publicId, 'activation')}>
          Send the first one
        </ButtonLink>
      }
    >
      Your server and your pages report what people do. The first event appears here as soon as it arrives.
    </EmptyState>
  )
}
