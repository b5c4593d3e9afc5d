/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import type { MessageContent } from '../../messages/messages.ts'
import { upperFirst } from '../../core/text.ts'
import {
  describeSimulation,
  describeTooOld,
  describeUnsimulated,
  type PeopleOutcome,
  type Simulation,
  type SimulationLine,
} from '../../deliveries/simulation/index.ts'
import { personPath } from '../events/feed.tsx'
import { type FieldError, isRefusal, REFUSALS, type Refusal } from '../../core/refusals.ts'
import type { EditorProps } from './editor-props.ts'
import { findMissing, isOfText } from './message-checklist.tsx'
import type { Fields } from './message-field-names.ts'
import { describeOutcome, Why } from './message-outcomes.tsx'
import { resultsPath } from './messages-page.tsx'
import { Button } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Breakable, Ticked } from '../ui/text.tsx'
import { formatDate } from '../../core/format-time.ts'
import { Time } from '../ui/time.tsx'
import type { Viewer } from '../layout/viewer.ts'

const DAYS = [7, 30] as const

export const SimulationSection = ({ viewer, message, path, simulation, now }: EditorProps) => (
  <details class="more-fields" id={SIMULATION} data-part open={simulation !== null}>
    <summary>
      <h2>Simulation</h2>
    </summary>
    <p class="hint">
      Simulates this message, including unsaved changes, on stored events. Nothing is sent.
      {message && message.status !== 'draft' && (
        <>
          {' '}
          <a href={resultsPath(viewer.app.publicId, message.id)}>Results</a> shows what was actually sent.
        </>
      )}
    </p>
    <div class="buttons">
      {DAYS.map((days) => (
        <Button key={days} name="do" value={`simulate ${days}`} formaction={`${path}#${SIMULATION}`}>
          {`Simulate the last ${days} days`}
        </Button>
      ))}
    </div>
    <div hidden data-busy data-progress={`${path}/simulation`}>
      <Progress id="simulating" label="Triggers checked" done={0} of={null} />
    </div>
    {simulation && <Found viewer={viewer} now={now} {...simulation} />}
  </details>
)

const SIMULATION = 'simulation'

/** Days that the running line counts. */
export const REACH_DAYS = 30
/** islands/message.ts keeps the line up to date. */
export const REACH = 'reach'

type Found = Simulation | Refusal | null
type ReachProps = { path: string; simulation: EditorProps['simulation'] }

/** How many people would get it. Counted by a button without scripts. */
export const Reach = ({ path, simulation }: ReachProps) => (
  <p class="reach">
    <span id={REACH} role="status">
      {simulation ? describeReach(simulation) : `How many people would have got it in the last ${REACH_DAYS} days?`}
    </span>{' '}
    <Button name="do" value={`simulate ${REACH_DAYS}`} formaction={`${path}#${SIMULATION}`} part={SIMULATION}>
      See who
    </Button>
  </p>
)

/** What to do first, in the order of the page. */
export function describeUncounted(fields: Fields, errors: FieldError[]): string {
  if (!errors.every(isOfText)) return "Recipients can't be counted: complete the trigger and rules first."
  return findMissing(fields) === null
    ? "Recipients can't be counted: fix the problem in the email first."
    : "Recipients can't be counted: finish the email first."
}

type Reached = Omit<NonNullable<EditorProps['simulation']>, 'found' | 'undated'> & { found: Found }

/** "Simulated as if live for the last 30 days: 58 of 153 people would get it." */
export function describeReach({ found, content, days, isUnsaved }: Reached): string {
  if (found === null) return `Recipients can't be counted: ${describeUnsimulated(content.trigger)}.`
  if (isRefusal(found)) return found.message ?? REFUSALS[found.refusal].message
  const old = found.tooOld === 0 ? '' : ` ${describeTooOld(found)}`
  return `${describePeople(found, { days, isUnsaved })}${old}`
}

function describePeople(found: Simulation, { days, isUnsaved }: Pick<Reached, 'days' | 'isUnsaved'>): string {
  const { triggered, emailed, waiting, heldBack } = found.people
  if (triggered === 0) return `Nobody triggered it in the last ${days} days.`
  const simulated = `Simulated as if live ${isUnsaved ? 'with unsaved changes ' : ''}for the last ${days} days:`
  if (triggered === 1) {
    const who = found.hasMore
      ? `one person caused the newest ${formatCount(found.triggered)} triggers and`
      : 'the only person who triggered it'
    return `${simulated} ${who} ${describeOnly(found.people)}.`
  }
  const held = heldBack === 0 ? '' : ` ${formatCount(heldBack)} would be held back for comparison.`
  const more = emailed === 0 ? '' : ' more'
  const still = waiting === 0 ? '' : ` ${formatCount(waiting)}${more} would still be waiting.`
  const all = found.hasMore
    ? `the last ${formatCount(triggered)} people to trigger it`
    : `${emailed === 0 ? 'the ' : ''}${formatCount(triggered)} people`
  const who = `${emailed === 0 ? 'none' : formatCount(emailed)} of ${all}`
  const yet = emailed === 0 && waiting > 0 ? ' yet' : ''
  return `${simulated} ${who} would get it${yet}.${held}${still}`
}

function describeOnly({ emailed, waiting, heldBack }: Simulation['people']): string {
  if (emailed > 0) return 'would get it'
  if (waiting > 0) return 'would still be waiting'
  return heldBack > 0 ? 'would be held back for comparison' : "wouldn't get it"
}

type FoundProps = {
  viewer: Viewer
  days: number
  content: MessageContent
  undated: string | null
  found: Simulation | null
  now: number
}

function Found(props: FoundProps) {
  const { viewer, days, content, undated, found } = props
  if (!found)
    return (
      <EmptyState title="This can't be simulated">{`${upperFirst(describeUnsimulated(content.trigger))}.`}</EmptyState>
    )
  if (found.triggered === 0)
    return (
      <EmptyState title={`Nothing triggered it in the last ${days} days`}>
        {undated === null ? (
          found.tooOld === 0 ? (
            'Check the trigger: the event name, its conditions or the page path.'
          ) : (
            describeTooOld(found)
          )
        ) : (
          <Ticked>{undated}</Ticked>
        )}
      </EmptyState>
    )
  return (
    <>
      <p>
        <b>{describeRecipients(found.people.emailed, found.counts.send ?? 0)}</b>
        {found.hasMore
          ? ` This counts the newest ${formatCount(found.triggered)} triggers.`
          : ` The message has been triggered ${countTimes(found.triggered)} since ${formatDate(found.from, viewer.app.timezone)}.`}
      </p>
      {describeSimulation(found).map((sentence) => (
        <p key={sentence} class="hint">
          {sentence}
        </p>
      ))}
      {found.outcomes.map((one) => (
        <Outcome key={one.outcome} {...props} {...one} triggered={found.people.triggered} />
      ))}
    </>
  )
}

const countPeople = (count: number): string => (count === 1 ? '1 person' : `${formatCount(count)} people`)

const countTimes = (count: number): string => (count === 1 ? 'once' : `${formatCount(count)} times`)

/** People can get several emails. */
function describeRecipients(people: number, emails: number): string {
  if (people === 0) return 'Nobody would have been emailed.'
  const who = people === 1 ? 'One person' : countPeople(people)
  const what = people === emails ? (people === 1 ? 'the email' : 'one email each') : `${formatCount(emails)} emails`
  return `${who} would have got ${what}.`
}

/** The stylesheet hides the other lines until the reader shows them. */
const FIRST_LINES = 5

/** `triggered`: people. */
type OutcomeProps = PeopleOutcome & { viewer: Viewer; content: MessageContent; triggered: number; now: number }

const Outcome = (props: OutcomeProps) => {
  const { outcome, people, lines, triggered } = props
  const listed = lines.length < people ? `the newest ${lines.length}` : `all ${lines.length}`
  const share = Math.round((people * 100) / triggered)
  return (
    <details class="outcome" open={outcome === 'send'}>
      <summary>
        <b>{describeOutcome(outcome)}</b>
        <span class="hint">{` ${countPeople(people)}, ${share === 0 ? 'less than 1' : share}%`}</span>
      </summary>
      <Table
        label={describeOutcome(outcome)}
        columns={columnsOf(props)}
        rows={lines}
        idOf={({ contactId, triggeredAt }) => `${contactId} ${triggeredAt}`}
      />
      {lines.length > FIRST_LINES && (
        <details class="rest">
          <summary>
            <span>{`Show ${listed}`}</span>
            <span>{`Show the newest ${FIRST_LINES}`}</span>
          </summary>
        </details>
      )}
    </details>
  )
}

const columnsOf = ({ viewer, content, now }: OutcomeProps): Column<SimulationLine>[] => [
  {
    name: 'Person',
    cell: ({ contactId, email }) =>
      email === null ? (
        'Erased'
      ) : (
        <a href={personPath(viewer.app.publicId, contactId)}>
          <Breakable>{email}</Breakable>
        </a>
      ),
  },
  { name: 'Triggered', cell: ({ triggeredAt }) => <Time at={triggeredAt} now={now} /> },
  { name: 'Why', cell: (line) => <Why line={line} content={content} /> },
]

/** Without `of`, the total is unknown. */
const Progress = ({ id, label, done, of }: { id: string; label: string; done: number; of: number | null }) => (
  <div class="progress">
    <div>
      <label for={id}>{label}</label>
      <span class="hint">{of === null ? formatCount(done) : `${formatCount(done)} of ${formatCount(of)}`}</span>
    </div>
    <progress id={id} value={of === null ? undefined : done} max={of ?? undefined} />
  </div>
)
