/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import { hasRole } from '../../accounts/members.ts'
import type { AppResults } from '../../deliveries/results.ts'
import { describeTooOld } from '../../deliveries/simulation/index.ts'
import type { Activation } from '../../events/activation.ts'
import type { MessageRow } from '../../messages/messages.ts'
import { Steps } from '../activation/activation-status.tsx'
import type { SetupStep } from '../activation/checklist.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { RestoredNotice } from '../layout/restored-notice.tsx'
import type { Viewer } from '../layout/viewer.ts'
import type { RestoreFacts } from '../../store/restored.ts'
import { messagePath, resultsPath } from '../messages/messages-page.tsx'
import { peoplePath } from '../people/people-view.ts'
import { None } from '../people/tags.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { Sparkline } from '../ui/chart.tsx'
import { Icon } from '../ui/icon.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { ExactTime, Time } from '../ui/time.tsx'
import { describeResults, describeWaiting, sumWaiting } from '../../deliveries/describe-results.ts'
import { describeSimulated, describeStillWaiting, type Simulated as OfDraft } from './answer.ts'
import { deliveriesPath } from '../deliveries/deliveries-view.ts'
import type { LinkedItem } from './attention.ts'
import type { Figure } from './figures.ts'

export type Simulated = OfDraft<MessageRow>

type OverviewProps = {
  viewer: Viewer
  activation: Activation
  /** null once all are done */
  steps: SetupStep[] | null
  attention: LinkedItem[]
  messages: MessageRow[]
  results: AppResults
  /** null while a message is live, or if none can be simulated */
  simulated: Simulated | null
  figures: Figure[]
  /** null: this is no restored copy */
  restore: RestoreFacts | null
  /** first day of the results, such as 2026-05-03 */
  from: string
  now: number
}

const LastEvent = ({ at, now }: { at: number | null; now: number }) =>
  at === null ? (
    <>No events yet.</>
  ) : (
    <>
      Last event <Time at={at} now={now} />.
    </>
  )

export const OverviewPage = (props: OverviewProps) => {
  const { viewer, activation, steps, now } = props
  return (
    <Frame
      viewer={viewer}
      page="overview"
      title="Overview"
      islands={props.simulated?.found.state === 'running' ? ['live'] : undefined}
      state={<LastEvent at={activation.lastEventAt} now={now} />}
    >
      <RestoredNotice viewer={viewer} restore={props.restore} />
      {steps === null ? (
        <Answers {...props} />
      ) : (
        <div class="columns text-first">
          <div>
            <Answers {...props} />
          </div>
          <aside aria-label="Setup">
            <section>
              <h2>Setup</h2>
              <Steps steps={steps} now={now} />
              <p>
                <a href={pathOf(viewer.app.publicId, 'activation')}>Code, script tag and keys</a>
              </p>
            </section>
          </aside>
        </div>
      )}
    </Frame>
  )
}

const Answers = (props: OverviewProps) => (
  <>
    <AnswerSection {...props} />
    {props.attention.length > 0 && <AttentionSection items={props.attention} />}
    <LiveMessages {...props} />
    <FiguresSection figures={props.figures} />
  </>
)

/** The results of the messages, or a simulation of the draft before any is live. */
function AnswerSection(props: OverviewProps) {
  const { viewer, messages, results, simulated, now } = props
  const waiting = sumWaiting(results)
  const hasResults = results.emailed + results.cameBack + results.alreadySeen + results.captured + waiting > 0
  if (simulated && !hasResults) {
    const isRunning = simulated.found.state === 'running'
    const from = isRunning ? `${pathOf(viewer.app.publicId, 'overview')}/live` : undefined
    return (
      <section
        class="overview-answer"
        aria-label="What the first message would do"
        data-live="answer"
        data-live-from={from}
      >
        <SimulatedAnswer viewer={viewer} simulated={simulated} now={now} />
      </section>
    )
  }
  if (messages.length === 0 || (!hasResults && messages.every(({ status }) => status !== 'live')))
    return <NoMessage viewer={viewer} messages={messages} />
  const live = messages.filter(({ status }) => status === 'live')
  const hasHoldback = live.some(({ content }) => content.holdback !== undefined)
  const { compared, emailed } = results
  const isCompared = compared !== null || hasHoldback
  const [most] = live.toSorted((a, b) => countEmails(results, b) - countEmails(results, a))
  return (
    <section class="overview-answer" aria-label="What the messages did">
      <p class="answer">{describeResults(results, hasHoldback)}</p>
      <p class="hint">
        Last 30 days.{live.length === 0 && ' No message is live now.'}
        {results.cameBack > 0 && <Returned viewer={viewer} days={results.days} />}
        {waiting > 0 && <Waiting viewer={viewer} count={waiting} from={props.from} />}
        {results.unsent > 0 && <Unsent viewer={viewer} results={results} from={props.from} />}
        {compared !== null && compared.people !== emailed && (
          <>
            {' '}
            The comparison covers only messages with a holdback and counts each person once.{' '}
            <a href="/docs/holdback">How this is measured</a>.
          </>
        )}
        {!isCompared && most && emailed > 0 && (
          <>
            {' '}
            <a href={`${messagePath(viewer.app.publicId, most.id)}#holdback`}>Hold back a share of people</a> to see how
            many more come back.
          </>
        )}
      </p>
    </section>
  )
}

const WEEK_DAYS = 7

/** `days`: the last 30. */
function Returned({ viewer, days }: { viewer: Viewer } & Pick<AppResults, 'days'>) {
  const pathTo = (last: '7' | '30') => peoplePath(viewer.app.publicId, { emails: 'returned', days: last })
  const isOfLastWeek = days.slice(-WEEK_DAYS).some(({ cameBack }) => cameBack > 0)
  return (
    <>
      {' '}
      <a href={pathTo('30')}>See who came back</a>
      {isOfLastWeek && (
        <>
          , or only <a href={pathTo('7')}>those from the last 7 days</a>
        </>
      )}
      .
    </>
  )
}

type CountProps = { viewer: Viewer; count: number; from: string }

const Waiting = ({ viewer, count, from }: CountProps) => (
  <>
    {' '}
    <a href={pathSince(viewer, 'pending', from)}>{describeWaiting(count)}</a>.
  </>
)

type UnsentProps = { viewer: Viewer; results: AppResults; from: string }

/** Counts nothing if the answer says already that all of them were captured. */
function Unsent({ viewer, results: { emailed, unsent, captured }, from }: UnsentProps) {
  const href = pathSince(viewer, 'unsent', from)
  if (emailed === 0 && captured === unsent)
    return (
      <>
        {' '}
        <a href={href}>See {captured === 1 ? 'this email' : 'these emails'}</a>.
      </>
    )
  const emails =
    captured === unsent
      ? `${formatCount(unsent)} ${unsent === 1 ? 'email was' : 'emails were'} captured, not sent`
      : `${formatCount(unsent)} ${unsent === 1 ? "email wasn't" : "emails weren't"} sent`
  const ofThem = captured === unsent ? '' : `, ${formatCount(captured)} of them captured`
  return (
    <>
      {` ${emails}${captured === 0 ? '' : ofThem}: `}
      <a href={href}>see why</a>.
    </>
  )
}

/** To the deliveries since a day (UTC) in these states. */
const pathSince = ({ app }: Viewer, state: 'pending' | 'unsent', from: string): string =>
  deliveriesPath(app.publicId, { state, from, isUtc: app.timezone !== 'UTC', isLead: true })

const NoMessage = ({ viewer, messages }: Pick<OverviewProps, 'viewer' | 'messages'>) => {
  const isEditor = hasRole(viewer.member.role, 'editor')
  const [href, label] =
    messages.length > 0 || !isEditor
      ? [pathOf(viewer.app.publicId, 'messages'), 'Open Messages']
      : [`${pathOf(viewer.app.publicId, 'messages')}/new`, 'New message']
  return (
    <section class="overview-answer" aria-label="Messages">
      <p class="answer">
        {messages.length === 0
          ? 'No messages yet, so nobody is emailed automatically.'
          : 'No message is live, so nobody is emailed automatically.'}
      </p>
      <p class="buttons">
        <ButtonLink kind="primary" href={href}>
          {label}
        </ButtonLink>
      </p>
    </section>
  )
}

type SimulatedProps = { viewer: Viewer; simulated: Simulated; now: number }

export const SimulatedAnswer = ({ viewer, simulated, now }: SimulatedProps) => {
  const { message, found } = simulated
  const { result, state } = found
  return (
    <>
      <p class="answer" role="status">
        <SentText>{describeSimulated(simulated)}</SentText>
      </p>
      <div class="buttons">
        <ButtonLink kind="primary" href={messagePath(viewer.app.publicId, message.id)}>
          {hasRole(viewer.member.role, 'editor') ? 'Review' : 'Open'} “<SentText most={60}>{message.name}</SentText>”
        </ButtonLink>
        {result !== null && result.lines.length > 0 && (
          <ButtonLink href={pathOf(viewer.app.publicId, 'overview/people')}>See who</ButtonLink>
        )}
      </div>
      <p class="hint small">
        {result === null ? (
          state === 'running' ? (
            <>
              Simulating “<SentText>{message.name}</SentText>” on stored events.
              <span class="without-script"> Reload to see the result.</span>
            </>
          ) : (
            'The next attempt is in a few minutes.'
          )
        ) : (
          <>
            {result.people.emailed > 0 && result.people.waiting > 0
              ? `${describeStillWaiting(message, result.people.waiting)} `
              : ''}
            {result.tooOld > 0 && `${describeTooOld(result)} `}
            Simulated with “<SentText>{message.name}</SentText>” <Time at={result.at} now={now} />.
            {state === 'running' && ' Counting again.'}
          </>
        )}
      </p>
    </>
  )
}

const AttentionSection = ({ items }: { items: LinkedItem[] }) => (
  <section>
    <h2>Needs attention</h2>
    <ul class="attention">
      {items.map(({ isBad, text, since, until, more, cause, link }) => (
        <li key={text} class={isBad ? 'bad' : undefined}>
          <Icon name="warning" />
          <span>
            <span class="unseen">{isBad ? 'Problem: ' : 'Note: '}</span>
            <SentText>{text}</SentText>
            {until !== undefined && (
              <>
                {' '}
                until <ExactTime at={until} />.
              </>
            )}
            {since !== undefined && (
              <>
                {' '}
                (since <ExactTime at={since} />
                ).
              </>
            )}
            {more && ` ${more}`}
            {cause && (
              <span class="hint fix">
                <SentText>{cause}</SentText>
              </span>
            )}
          </span>
          <a href={link.href}>{link.label}</a>
        </li>
      ))}
    </ul>
  </section>
)

const countEmails = ({ trends }: AppResults, { id }: Pick<MessageRow, 'id'>): number =>
  (trends.get(id) ?? []).reduce((sum, count) => sum + count, 0)

/** More are on Messages. */
const MOST_MESSAGES = 8

function LiveMessages({ viewer, messages, results }: OverviewProps) {
  const live = messages.filter(({ status }) => status === 'live')
  if (live.length === 0) return null
  const shown = live.toSorted((a, b) => countEmails(results, b) - countEmails(results, a)).slice(0, MOST_MESSAGES)
  return (
    <section class="live-messages">
      <h2>Live messages</h2>
      <Table
        label="Live messages, most sent first"
        columns={columnsOf(viewer, results)}
        rows={shown}
        idOf={({ id }) => String(id)}
        isLinked
      />
      {live.length > shown.length && (
        <p>
          <a href={pathOf(viewer.app.publicId, 'messages')}>{`All ${live.length} live messages`}</a>
        </p>
      )}
    </section>
  )
}

const columnsOf = ({ app }: Viewer, results: AppResults): Column<MessageRow>[] => {
  const { trends, cameBackOf } = results
  const sentOf = (id: number): number => countEmails(results, { id })
  return [
    {
      name: 'Message',
      cell: ({ id, name }) => (
        <a href={resultsPath(app.publicId, id)}>
          <SentText>{name}</SentText>
        </a>
      ),
    },
    {
      name: 'Last 30 days',
      cell: ({ id }) => <Sparkline values={trends.get(id) ?? []} label="Emails by day" />,
    },
    {
      name: 'Sent',
      isNumber: true,
      cell: ({ id }) => {
        const [sent, waiting] = [sentOf(id), results.waitingOf.get(id) ?? 0]
        if (sent > 0) return <Counted count={sent} word="sent" />
        return waiting === 0 ? <None /> : <span class="hint">{`${formatCount(waiting)} waiting`}</span>
      },
    },
    {
      name: 'Came back',
      isNumber: true,
      cell: ({ id }) => {
        const [back, sent] = [cameBackOf.get(id) ?? 0, sentOf(id)]
        return sent === 0 ? (
          <None />
        ) : (
          <>
            <Counted count={back} word="came back" /> <span class="hint">{`${Math.round((back * 100) / sent)}%`}</span>
          </>
        )
      },
    },
  ]
}

/** On phones, rows have no column heads. */
const Counted = ({ count, word }: { count: number; word: string }) => (
  <>
    {formatCount(count)}
    <span class="on-phones"> {word}</span>
  </>
)

const FiguresSection = ({ figures }: { figures: Figure[] }) => (
  <section>
    <h2>Last 30 days</h2>
    <ul class="figures">
      {figures.map(({ name, total, values, href }) => (
        <li key={name}>
          <a href={href}>
            <span class="hint">{name}</span>
            <b>{formatCount(total)}</b>
            <Sparkline values={values} label="By day" />
          </a>
        </li>
      ))}
    </ul>
  </section>
)
