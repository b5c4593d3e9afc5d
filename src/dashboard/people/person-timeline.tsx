/** @jsxImportSource preact */
import type { ContactChangeRow, PersonReport, Presences, TimelineItem } from '../../deliveries/person-timeline.ts'
import type { Expired } from '../../accounts/retention.ts'
import { describeAfter } from '../../deliveries/delivery-lists.ts'
import type { Consent } from '../../people/consent.ts'
import type { EventOutcome } from '../../deliveries/message-explanations.ts'
import { type Cause, describeCause, FAILURES } from '../../people/suppressions.ts'
import { publicId, readPublicId } from '../../core/ids.ts'
import { DeliveryBadge, deliveryPath } from '../deliveries/delivery-labels.tsx'
import { ShortReason } from '../deliveries/delivery-row.tsx'
import { describeEventName, isLate, KINDS, previewOf } from '../events/event-labels.ts'
import { eventPath } from '../events/feed.tsx'
import { DeletedNote } from '../layout/deleted-note.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { openPath } from '../messages/messages-page.tsx'
import { describeAsked } from './person-consent.tsx'
import { Badge } from '../ui/badge.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { Pager } from '../ui/table.tsx'
import { OneLine, SentText } from '../ui/text.tsx'
import { ClockTime, ExactTime, formatLongDay } from '../ui/time.tsx'
import { type Moment, Timeline } from '../ui/timeline.tsx'

export type TimelineProps = {
  viewer: Viewer
  /** the person's page */
  path: string
  /** deliveries that the page explains above */
  explained: ReadonlySet<number>
  items: TimelineItem[]
  nameMember: (actor: string) => string
  /** names of API keys by their id */
  keys: ReadonlyMap<string, string>
  isFirst: boolean
  /** cursor of the next page */
  older: string | null
  /** data of the app that was deleted because of its age */
  expired: Expired
  /** when the person was added (ms UTC) */
  since: number
  now: number
}

/** Everything about a person in one stream, newest first, by day. */
export const PersonTimeline = (props: TimelineProps) => {
  const { items, isFirst, older, path } = props
  return (
    <section id="timeline">
      <h2>Timeline</h2>
      {items.some(hasLate) && <p class="hint">In order of arrival.</p>}
      {items.length === 0 && isFirst && (
        <EmptyState title="Nothing yet">This person's events, page views, emails and changes appear here.</EmptyState>
      )}
      {groupByDay(props).map(({ day, items: ofDay }) => (
        <section key={day} class="day">
          <h3>{day}</h3>
          <Timeline hasClock moments={ofDay.map((item) => toMoment(props, item))} />
        </section>
      ))}
      {older === null && <DeletedNote {...props} />}
      <Pager newest={isFirst ? undefined : path} older={older === null ? undefined : `${path}?before=${older}`} />
    </section>
  )
}

/** It may have happened before others that are listed below it. */
function hasLate(item: TimelineItem): boolean {
  if (item.kind === 'event') return isLate(item.row.occurredAt, item.row.receivedAt)
  return item.kind === 'presence' && isLate(item.reports[0].at, item.at)
}

type Day = { day: string; items: TimelineItem[] }

function groupByDay({ items, viewer, now }: TimelineProps): Day[] {
  const days: Day[] = []
  for (const item of items) {
    const day = formatLongDay(item.at, now, viewer.app.timezone)
    const last = days.at(-1)
    if (last?.day === day) last.items.push(item)
    else days.push({ day, items: [item] })
  }
  return days
}

function toMoment(props: TimelineProps, item: TimelineItem): Moment {
  const about = { at: item.at, id: `${item.kind} ${item.position}` }
  switch (item.kind) {
    case 'event':
      return { ...about, ...ofEvent(props.viewer.app.publicId, item) }
    case 'email':
      return { ...about, ...ofEmail(props, item) }
    case 'change':
      return { ...about, ...ofChange(props, item) }
    case 'presence':
      return { ...about, ...ofPresence(item) }
  }
}

type Content = Omit<Moment, 'id' | 'at'>

/** An email that an event started has a moment of its own. */
function ofEvent(appId: string, { row, outcomes }: TimelineItem & { kind: 'event' }): Content {
  const isView = row.type === 'page'
  const preview = isView ? '' : previewOf(row)
  const cameLate = isLate(row.occurredAt, row.receivedAt)
  const unstarted = outcomes.filter(({ delivery }) => delivery === null)
  return {
    kind: KINDS[row.type],
    what: (
      <a href={eventPath(appId, row.id)}>
        <SentText most={160}>{isView ? (row.path ?? '/') : describeEventName(row.name)}</SentText>
      </a>
    ),
    detail: (cameLate || preview !== '') && (
      <>
        {cameLate && (
          <>
            Happened on <ExactTime at={row.occurredAt} />.{preview !== '' && ' '}
          </>
        )}
        <SentText most={160}>{preview}</SentText>
      </>
    ),
    followed: unstarted.map((one) => <Unstarted key={one.message.id} appId={appId} outcome={one} />),
  }
}

/** Why an event of a message's trigger started no email. */
const Unstarted = ({ appId, outcome }: { appId: string; outcome: EventOutcome }) => (
  <>
    <span class="with-badge">
      <a href={openPath(appId, outcome.message)}>
        <OneLine>{outcome.message.name}</OneLine>
      </a>
      <Badge>No email</Badge>
    </span>
    {outcome.delivery === null && (
      <span class="hint">
        <SentText most={400}>{outcome.why}</SentText>
      </span>
    )}
  </>
)

const ofEmail = (
  { viewer, explained: above, keys, now }: TimelineProps,
  { email, consent }: TimelineItem & { kind: 'email' },
): Content => {
  const {
    work: { delivery, message, send },
    explained,
  } = email
  return {
    kind: 'Email',
    isDue: delivery.state === 'waiting' || delivery.state === 'deferred',
    what: (
      <span class="with-badge">
        <a href={deliveryPath(viewer.app.publicId, delivery.id)}>
          <OneLine>{message.name}</OneLine>
        </a>
        <DeliveryBadge delivery={delivery} />
      </span>
    ),
    detail: above.has(delivery.id) ? (
      <>
        <ShortReason row={email} most={MOST_DETAIL} now={now} />.
      </>
    ) : (
      <SentText most={MOST_DETAIL}>{withAfter(explained.why, describeAfter(delivery))}</SentText>
    ),
    followed: [
      ...(send?.keyId
        ? [
            <span key="key" class="hint">
              Sent by the API key <SentText>{keys.get(send.keyId) ?? send.keyId}</SentText>
            </span>,
          ]
        : []),
      ...(consent
        ? [<span key="consent" class="hint">{`${describeAsked(consent)}. Wording ${consent.wording}`}</span>]
        : []),
    ],
  }
}

const MOST_DETAIL = 400

const withAfter = (why: string, after: string | null): string => (after === null ? why : `${why} ${after}.`)

const describeReport = ({ type, path }: PersonReport): string => `${type === 'leave' ? 'Left' : 'Back on'} ${path}`

const countTimes = (count: number): string => (count === 1 ? 'once' : `${count} times`)

/** The last of a visit; earlier ones are counted. */
function ofPresence({ at, reports }: { at: number; reports: Presences }): Content {
  const [last, ...earlier] = reports
  const first = earlier.at(-1)
  const leaves = reports.filter(({ type }) => type === 'leave').length
  const returns = reports.length - leaves
  const cameLate = isLate(last.at, at)
  return {
    kind: 'Page',
    what: <SentText most={160}>{describeReport(last)}</SentText>,
    detail: (cameLate || first) && (
      <>
        {cameLate && (
          <>
            Happened on <ExactTime at={last.at} />.{first && ' '}
          </>
        )}
        {first && (
          <>
            {[
              ...(leaves > 0 ? [`Left ${countTimes(leaves)}`] : []),
              ...(returns > 0 ? [`${leaves > 0 ? 'came' : 'Came'} back ${countTimes(returns)}`] : []),
            ].join(' and ')}{' '}
            after <ClockTime at={first.at} />.
          </>
        )}
      </>
    ),
  }
}

const STATUS_CHANGES = {
  subscribed: 'Resubscribed',
  pending: 'Has to confirm the address',
  unsubscribed: 'Unsubscribed',
  bounced: 'Address bounced',
  complained: 'Reported an email as spam',
} as const

function ofChange(
  { viewer, nameMember }: TimelineProps,
  { change: { actor, change }, consent }: TimelineItem & { kind: 'change' },
): Content {
  const differences = [...listDifferences(change), ...(consent ? listEvidence(consent) : [])]
  const { cause } = change
  return {
    kind: 'Change',
    what: describeChange(change, actor),
    detail: cause ? (
      <>
        <SentText most={MOST_DETAIL}>{describeCause(cause, nameMember)}</SentText>
        <CausingEmail appId={viewer.app.publicId} cause={cause} />
      </>
    ) : (
      describeActor(nameMember, { actor, change })
    ),
    followed: differences.map(({ name, text }) => (
      <span key={name}>
        <SentText most={64}>{name}</SentText>: <SentText most={300}>{text}</SentText>
      </span>
    )),
  }
}

function describeChange({ status, cause, topics, added }: ContactChangeRow['change'], actor: string | null): string {
  if (added) return 'Added'
  if (status === null && cause?.by === 'report') return FAILURES[cause.kind]
  if (status === null) return topics ? 'Topics changed' : 'Details changed'
  const [before, after] = status
  if (before === 'pending' && after === 'subscribed') return 'Confirmed their email address'
  return after === 'subscribed' && actor !== null ? 'Removed from suppressions' : STATUS_CHANGES[after]
}

const listEvidence = ({ wording, address }: Consent): Difference[] => [
  { name: 'Wording', text: wording },
  ...(address === null ? [] : [{ name: 'IP address', text: address }]),
]

const CausingEmail = ({ appId, cause }: { appId: string; cause: Cause }) => {
  const id = 'delivery' in cause && cause.delivery !== undefined ? readPublicId('dlv', cause.delivery) : null
  return (
    id !== null && (
      <>
        {'. '}
        <a href={deliveryPath(appId, id)}>Show the email</a>
      </>
    )
  )
}

/** Without a member, people unsubscribe by a link in an email or a button of their mail app, and confirm by a link. */
function describeActor(
  nameMember: TimelineProps['nameMember'],
  { actor, change }: Pick<ContactChangeRow, 'actor' | 'change'>,
): string | undefined {
  if (actor !== null) return `By ${nameMember(actor)}`
  const [before, after] = change.status ?? []
  if (before === 'pending' && after === 'subscribed') return 'With the link in an email'
  return after === 'unsubscribed' || change.topics ? 'By the person, from an email' : undefined
}

type Difference = { name: string; text: string }

const describePair = ([before, after]: readonly [string | null, string | null]): string =>
  before === null ? (after ?? 'removed') : after === null ? `removed (was ${before})` : `${before} → ${after}`

function listDifferences(change: ContactChangeRow['change']): Difference[] {
  const { firstName, lastName, source, tags, fields, topics } = change
  const named = { 'First name': firstName, 'Last name': lastName, Source: source }
  const [removed, added] = tags ?? [[], []]
  const [ended, resumed] = topics ?? [[], []]
  return [
    ...Object.entries(named).flatMap(([name, pair]) => (pair ? [{ name, text: describePair(pair) }] : [])),
    ...(added.length > 0 ? [{ name: 'Tags added', text: added.join(', ') }] : []),
    ...(removed.length > 0 ? [{ name: 'Tags removed', text: removed.join(', ') }] : []),
    ...(ended.length > 0 ? [{ name: 'Unsubscribed from', text: ended.join(', ') }] : []),
    ...(resumed.length > 0 ? [{ name: 'Resubscribed to', text: resumed.join(', ') }] : []),
    ...Object.entries(fields ?? {}).map(([name, pair]) => ({ name, text: describePair(pair) })),
  ]
}

export const timelineCursor = (position: number): string => publicId('evt', position)
