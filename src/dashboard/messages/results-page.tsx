/** @jsxImportSource preact */
import type { Expired } from '../../accounts/retention.ts'
import { DAY_MS } from '../../core/clock.ts'
import { formatCount } from '../../core/count.ts'
import type { MessageCounts, MessageRow } from '../../messages/messages.ts'
import type { Comparison, GoalPeriod, Goals, Results } from '../../deliveries/results.ts'
import { shortenReason } from '../../deliveries/short-reasons.ts'
import { type DeliveriesView, deliveriesPath } from '../deliveries/deliveries-view.ts'
import { Frame } from '../layout/frame.tsx'
import { DeletedNote } from '../layout/deleted-note.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { describeStatus } from './message-status.tsx'
import { MessageTabs } from './message-tabs.tsx'
import { messagePath, resultsPath } from './messages-page.tsx'
import { DayChart } from './results-chart.tsx'
import { RANGE_DAYS, writeDay } from '../layout/days.ts'
import type { ResultsView } from './results-view.ts'
import { describeCaptured, describeWaiting, formatExtra } from '../../deliveries/describe-results.ts'
import { peoplePath } from '../people/people-view.ts'
import { Button } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { DayField } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { ExactTime } from '../ui/time.tsx'

/** The linked list has the rest. */
const MOST_REASONS = 8

export type ResultsProps = {
  viewer: Viewer
  message: MessageRow
  counts: MessageCounts
  view: ResultsView
  results: Results
  goals: Goals
  /** the app's email provider reports deliveries; without that, only complaints would mark emails as delivered */
  reportsDelivered: boolean
  /** data of the app that was deleted because of its age */
  expired: Expired
}

export function ResultsPage(props: ResultsProps) {
  const { viewer, message, counts, view, results } = props
  return (
    <Frame
      viewer={viewer}
      page="messages"
      title={message.name}
      tabTitle={`Results of ${message.name}`}
      state={describeStatus(message, counts)}
    >
      <MessageTabs viewer={viewer} message={message} page="results" />
      {(message.status !== 'draft' || results.funnel.started > 0) && <RangeSection {...props} />}
      {view.error && <Notice kind="error">{`${view.error} Showing the last 30 days.`}</Notice>}
      {results.funnel.started === 0 ? <Nothing message={message} viewer={viewer} view={view} /> : <Found {...props} />}
    </Frame>
  )
}

const Nothing = ({ message, viewer, view }: Pick<ResultsProps, 'message' | 'viewer' | 'view'>) =>
  message.status === 'draft' ? (
    <EmptyState
      title="No results yet"
      next={
        <a class="button primary" href={messagePath(viewer.app.publicId, message.id)}>
          Open the editor
        </a>
      }
    >
      Results start once this message is live.
    </EmptyState>
  ) : (
    <EmptyState title="No results in this range">
      Nothing triggered this message on these days. Choose a longer range to see{' '}
      {view.range.until < Math.floor(viewer.now / DAY_MS) ? 'earlier or later' : 'earlier'} results.
    </EmptyState>
  )

const Found = (props: ResultsProps) => (
  <>
    <p class="answer">{describeAnswer(props.results)}</p>
    <div class="columns results">
      <section>
        <h2>{hasGoal(props.goals.emails) ? 'From trigger to goal' : 'From trigger to return'}</h2>
        <Bars bars={listSteps(props)} />
        <EachGoal goals={props.goals.emails} />
        <Unsent {...props} />
        <Refused {...props} />
        {props.results.funnel.cameBack > 0 && <Returned {...props} />}
        {props.message.content.goal === undefined && (
          <p class="hint">
            Add a goal in the <a href={fieldPath(props, 'goal.event')}>editor</a> to count who reaches it.
          </p>
        )}
      </section>
      <section>
        <h2>Why emails weren't sent</h2>
        <Reasons {...props} />
      </section>
    </div>
    <DayChart
      days={props.results.days}
      linkOf={(from, until) => linkTo(props, { from: writeDay(from), to: writeDay(until) })}
    />
    <CompareSection {...props} />
    <DeletedNote viewer={props.viewer} expired={props.expired} since={props.view.range.from * DAY_MS}>
      Results aren't affected.{' '}
    </DeletedNote>
  </>
)

type Counted = [count: number, what: string, filter: Filter]

/** The other emails that passed the rules, by state. */
function Unsent(props: ResultsProps) {
  const { captured, heldBack, failed } = props.results
  const outcomes: Counted[] = [
    [heldBack, 'held back', HELD_BACK],
    [captured, 'captured', { state: 'kept' }],
    [failed, 'failed', { state: 'failed' }],
  ]
  return <Counts lead="Passed the rules, but not sent: " outcomes={outcomes} {...props} />
}

/** Reports about sent emails. */
function Refused(props: ResultsProps) {
  const { bounced, complained } = props.results.reports
  const outcomes: Counted[] = [
    [bounced, 'bounced', { state: 'bounced' }],
    [complained, 'reported as spam', { state: 'complained' }],
  ]
  return <Counts lead="Of the sent emails: " outcomes={outcomes} {...props} />
}

function Counts({ lead, outcomes, ...props }: ResultsProps & { lead: string; outcomes: Counted[] }) {
  const found = outcomes.filter(([count]) => count > 0)
  if (found.length === 0) return null
  return (
    <p class="hint">
      {lead}
      {found.map(([count, what, filter], index) => (
        <>
          {index > 0 && ', '}
          <a href={linkTo(props, filter)}>{`${formatCount(count)} ${what}`}</a>
        </>
      ))}
      .
    </p>
  )
}

/** The chart counts emails by the day of creation. */
function Returned({ viewer, message, view }: ResultsProps) {
  const days = RANGE_DAYS.find((one) => one === view.days)
  const path = peoplePath(viewer.app.publicId, { emails: 'returned', days: days && `${days}`, messageId: message.id })
  return (
    <p class="hint">
      Emails are counted on the day they were created.{' '}
      <a href={path}>People who came back{days && ` in the last ${days} days`}</a>
    </p>
  )
}

/** The browser unfolds the section of the field. */
const fieldPath = ({ viewer, message }: Pick<ResultsProps, 'viewer' | 'message'>, field: string): string =>
  `${messagePath(viewer.app.publicId, message.id)}#${field}`

/** The steps count emails, and the comparison people. */
function describeAnswer({ funnel, waiting, captured, compared: { cameBack } }: Results): string {
  const { sent, cameBack: returns } = funnel
  if (sent === 0 && captured > 0) return `${describeCaptured(captured, waiting)}.`
  if (sent === 0)
    return waiting > 0 ? `No emails have been sent yet: ${describeWaiting(waiting)}.` : 'No emails were sent.'
  const came = describeReturns(sent, returns) + describeMoreCaptured(captured)
  const { extra, emailed } = cameBack
  if (extra === null) return came
  return `${came} ${formatExtra(extra)} people came back than without the email, among the ${formatCount(emailed.people)} compared.`
}

/** A person can come back after several emails. */
function describeReturns(sent: number, returns: number): string {
  const emails = sent === 1 ? '1 email sent' : `${formatCount(sent)} emails sent`
  if (returns === 0) return `${emails}, nobody came back.`
  return sent === 1
    ? `${emails}, and the recipient came back.`
    : `${emails}. After ${formatCount(returns)} of them, the recipient came back.`
}

function describeMoreCaptured(captured: number): string {
  if (captured === 0) return ''
  return captured === 1 ? ' 1 more email was captured.' : ` ${formatCount(captured)} more emails were captured.`
}

type Filter = Partial<Pick<DeliveriesView, 'state' | 'reason' | 'outcome' | 'from' | 'to'>>

const HELD_BACK: Filter = { state: 'skipped', reason: 'holdback' }

/** To the deliveries that a bar counts. */
function linkTo({ viewer, message, view }: Pick<ResultsProps, 'viewer' | 'message' | 'view'>, filter: Filter): string {
  const { from, until } = view.range
  const days = { from: writeDay(from), to: writeDay(until), isUtc: viewer.app.timezone !== 'UTC' }
  return deliveriesPath(viewer.app.publicId, { messageId: message.id, ...days, isLead: true, ...filter })
}

type Bar = { name: string; count: number; of: number; share: string; href: string }

const percentOf = (count: number, of: number): string => (of === 0 ? '' : `${Math.round((100 * count) / of)}%`)

/** Whether its email links to the event's `url`, or its rules ask who opened that page. */
const hasResult = ({ trigger, onlyIf = [], mail }: MessageRow['content']): boolean =>
  'event' in trigger &&
  (onlyIf.some(({ rule }) => rule === 'seen' || rule === 'notSeen') || /\bevent\.url\b/.test(mail.html ?? mail.body))

function nameGoal(goals: GoalPeriod[]): string {
  if (goals.length > 1) return 'Reached its goal'
  const event = goals[0]?.event ?? null
  return event === null ? 'Reached the goal' : `Reached the goal ${event}`
}

const hasGoal = (goals: GoalPeriod[]): boolean => goals.some(({ event }) => event !== null)

const MOST_GOALS = 3

/** Which goals the emails had, if it was changed. */
const EachGoal = ({ goals }: { goals: GoalPeriod[] }) => {
  const shown = goals.slice(-MOST_GOALS)
  return goals.length < 2 ? null : (
    <p class="hint">
      {'Each email counts towards the goal it had: '}
      {shown.map(({ event, until }, index) => (
        <>
          {index === 0 ? '' : ', then '}
          {index === 0 && goals.length > shown.length ? 'others' : (event ?? 'none')}
          {index < shown.length - 1 && until !== null && (
            <>
              {' until '}
              <ExactTime at={until} />
            </>
          )}
        </>
      ))}
      .
    </p>
  )
}

/** Shares of the triggered emails, of those that were decided, then of the sent ones. */
function listSteps(props: ResultsProps): Bar[] {
  const { results, message, goals } = props
  const { started, wouldSend, sent, cameBack, opened, reachedGoal } = results.funnel
  const { waiting } = results
  const { delivered } = results.reports
  const decided = started - waiting
  const step = (name: string, count: number, share: string, filter: Filter): Bar => ({
    name,
    count,
    of: started,
    share,
    href: linkTo(props, filter),
  })
  const others = waiting === 0 ? 'triggered' : 'those not waiting'
  const ofDecided = (count: number): string => (decided === 0 ? '' : `${percentOf(count, decided)} of ${others}`)
  const ofSent = (count: number): string => (sent === 0 ? '' : `${percentOf(count, sent)} of sent`)
  const steps = [
    step('Triggered', started, waiting === 0 ? '' : `${formatCount(waiting)} still waiting`, {}),
    step('Passed the rules', wouldSend, ofDecided(wouldSend), { state: 'decided' }),
    step('Sent', sent, ofDecided(sent), { state: 'left' }),
    ...(props.reportsDelivered && delivered > 0
      ? [step('Delivered', delivered, ofSent(delivered), { state: 'left', outcome: 'delivered' })]
      : []),
    step('Came back', cameBack, ofSent(cameBack), { state: 'left', outcome: 'cameBack' }),
    ...(opened > 0 || hasResult(message.content)
      ? [step('Opened the result', opened, ofSent(opened), { state: 'left', outcome: 'opened' })]
      : []),
  ]
  return hasGoal(goals.emails) || reachedGoal > 0
    ? [...steps, step(nameGoal(goals.emails), reachedGoal, ofSent(reachedGoal), { state: 'left', outcome: 'goal' })]
    : steps
}

const Bars = ({ bars }: { bars: Bar[] }) => (
  <ul class="names bars">
    {bars.map(({ name, count, of, share, href }) => (
      <li key={name}>
        <a href={href}>
          <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
            <rect width={of === 0 || count === 0 ? 0 : Math.max(0.5, (100 * count) / of).toFixed(1)} height="1" />
          </svg>
          <span>{name}</span>{' '}
          <span class="number">
            {share !== '' && <small>{share}</small>} <b>{formatCount(count)}</b>
          </span>
        </a>
      </li>
    ))}
  </ul>
)

function Reasons(props: ResultsProps) {
  const { waiting, captured, heldBack, reasons } = props.results
  const bar = (name: string, count: number, filter: Filter) => ({ name, count, href: linkTo(props, filter) })
  const all = [
    bar('Held back', heldBack, HELD_BACK),
    bar('Captured', captured, { state: 'kept' }),
    ...reasons.map(({ state, reason, emails }) => bar(shortenReason(reason), emails, { state, reason })),
  ]
  const found = all.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count)
  const stillWaiting = waiting > 0 && (
    <p class="hint">
      <a href={linkTo(props, { state: 'pending' })}>{describeWaiting(waiting)}</a>, not counted here.
    </p>
  )
  if (found.length === 0) return stillWaiting || <p class="hint">All emails were sent.</p>
  const most = found[0]?.count ?? 0
  const total = found.reduce((sum, { count }) => sum + count, 0)
  const bars = found.map((one) => ({ ...one, of: most, share: percentOf(one.count, total) }))
  return (
    <>
      <p class="hint">
        {'Percentages of the '}
        <a href={linkTo(props, { state: 'unsent' })}>{`${formatCount(total)} not sent`}</a>.
      </p>
      <Bars bars={bars.slice(0, MOST_REASONS)} />
      {found.length > MOST_REASONS && (
        <p class="hint">
          <a href={linkTo(props, { state: 'unsent' })}>{`${found.length - MOST_REASONS} more reasons`}</a>
        </p>
      )}
      {stillWaiting}
    </>
  )
}

function RangeSection({ viewer, message, view }: ResultsProps) {
  const path = resultsPath(viewer.app.publicId, message.id)
  return (
    <div class="result-range">
      <nav class="ranges" aria-label="Time range">
        {RANGE_DAYS.map((days) => (
          <a key={days} href={`${path}?range=${days}`} aria-current={days === view.days ? 'true' : undefined}>
            {`${days} days`}
          </a>
        ))}
      </nav>
      <form class="filters" method="get">
        <DayField name="from" label="From" value={view.from} />
        <DayField name="to" label="To" value={view.to} />
        <Button>Show</Button>
      </form>
    </div>
  )
}

type ComparedRow = { name: string } & Comparison

function describeNobody(holdback: number | undefined, { heldBack }: Results): string {
  if (holdback === undefined)
    return 'Some people come back without an email. To see how many, hold back a share in the '
  if (heldBack > 0)
    return 'Nobody in this range is compared: each person counts once, and only while the app has a mail server and a sender address. Change the share in the '
  return `${holdback}% of people are held back, but nobody in this range was. Change the share in the `
}

function CompareSection(props: ResultsProps) {
  const { results, message, goals } = props
  const { cameBack, opened, reachedGoal } = results.compared
  const { holdback } = message.content
  const isCompared = cameBack.heldBack.people > 0
  const rows: ComparedRow[] = [
    { name: 'Came back', ...cameBack },
    ...(hasResult(message.content) ? [{ name: 'Opened the result', ...opened }] : []),
    ...(hasGoal(goals.compared) ? [{ name: nameGoal(goals.compared), ...reachedGoal }] : []),
  ]
  return (
    <section>
      <h2>Emailed and held back</h2>
      {isCompared ? (
        <>
          <Table label="Emailed and held back" columns={COMPARED} rows={rows} idOf={({ name }) => name} />
          <EachGoal goals={goals.compared} />
          <p class="hint">
            Difference: how many more people did this than would have without the email, with a 95% confidence interval.
            People stay in their group even if an email fails. <a href="/docs/holdback">How this is measured</a>
          </p>
        </>
      ) : (
        <p class="hint">
          {describeNobody(holdback, results)}
          <a href={fieldPath(props, 'holdback')}>editor</a>.
        </p>
      )}
    </section>
  )
}

const COMPARED: Column<ComparedRow>[] = [
  { name: 'Result', cell: ({ name }) => name },
  { name: 'Emailed group', isNumber: true, cell: ({ emailed }) => <Group {...emailed} /> },
  { name: 'Holdback group', isNumber: true, cell: ({ heldBack }) => <Group {...heldBack} /> },
  {
    name: 'Difference',
    isNumber: true,
    cell: ({ extra }) => (extra === null ? 'Too few people to tell' : <b>{formatExtra(extra)}</b>),
  },
]

const Group = ({ people, reached }: { people: number; reached: number }) => (
  <>
    {`${formatCount(reached)} of ${formatCount(people)}`} <span class="hint">{percentOf(reached, people)}</span>
  </>
)
