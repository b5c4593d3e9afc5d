/** @jsxImportSource preact */
import { timeOfId } from '../../core/ids.ts'
import { readRecord } from '../../deliveries/deliveries.ts'
import { mayLackMailbox } from '../../deliveries/describe-reason.ts'
import { shortenReason } from '../../deliveries/short-reasons.ts'
import {
  CANCELLED,
  type DeliveryState,
  type Explanation,
  isDelay,
  namesReply,
  type MessageRow,
  type ShownDelivery,
} from '../../deliveries/delivery-lists.ts'
import { isLate } from '../events/event-labels.ts'
import { Badge, type Mood } from '../ui/badge.tsx'
import { nameNext, nameOfRule } from './delivery-labels.tsx'
import { EmptyState } from '../ui/empty.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { SentText } from '../ui/text.tsx'
import { ExactTime } from '../ui/time.tsx'
import { handOverOf, RESTORED } from '../../store/delivery-states.ts'
import { type Moment, Timeline } from '../ui/timeline.tsx'
import { Fact } from '../ui/values.tsx'

type Rule = Explanation['rules'][number] & { id: string }

const columnsOf = (isWaiting: boolean): Column<Rule>[] => [
  { name: 'Rule', isWhole: true, cell: nameOfRule },
  { name: 'Finding', isUnlabelled: true, cell: ({ sentence }) => <SentText most={400}>{sentence}</SentText> },
  {
    name: 'Verdict',
    isUnlabelled: true,
    cell: (rule) => <Badge {...moodOf(rule, isWaiting)} />,
  },
]

/** While an email waits, a rule that stops it is checked again. Limits and hours never do more than delay it. */
function moodOf({ rule, verdict, until }: Rule, isWaiting: boolean): { mood: Mood; children: string } {
  // a missing link doesn't block an email
  if (rule === 'link') return { mood: 'quiet', children: 'Left out' }
  if (rule === 'language') return { mood: 'quiet', children: 'Used' }
  if (verdict === 'pass') return { mood: 'good', children: 'Send' }
  return { mood: 'caution', children: isWaiting || isDelay(rule) || until !== undefined ? 'Wait' : "Don't send" }
}

/** The mail server's reply to a refused email, unless the page's first sentence quotes it. */
export const ReplySection = ({ explained: { serverReply }, work: { delivery } }: ShownDelivery) =>
  serverReply !== undefined &&
  !namesReply(delivery.reason ?? '') && (
    <section>
      <h2>Mail server</h2>
      <p>{serverReply}</p>
    </section>
  )

export function ReplyFact({ explained: { serverReply }, work: { delivery } }: ShownDelivery) {
  const { reply } = readRecord(delivery) ?? {}
  if (serverReply === undefined || reply === undefined) return null
  return (
    <Fact name="Server's reply">
      <code>{reply}</code>
      <p class="hint">The full reply is in the log.</p>
      {delivery.state === 'failed' && mayLackMailbox(delivery.reason ?? '', reply) && (
        <p class="hint">
          A refusal without an enhanced status code isn't counted as a{' '}
          <a href="/docs/bounces#suppressed-addresses">bounce</a>.
        </p>
      )}
    </Fact>
  )
}

export const RulesSection = ({ explained: { rules, decidedAt, rulesAt }, work: { delivery } }: ShownDelivery) => (
  <section>
    <h2>Rules</h2>
    {decidedAt === null ? (
      <UncheckedRules delivery={delivery} />
    ) : (
      <>
        <p class="hint">
          Checked on <ExactTime at={rulesAt ?? decidedAt} />
          {rulesAt !== undefined && (
            <>
              , with a final check on <ExactTime at={decidedAt} />
            </>
          )}
          .
        </p>
        <Table label="Rules" columns={columnsOf(isChecked(delivery))} rows={rowsOf(rules)} idOf={({ id }) => id} />
      </>
    )}
  </section>
)

const UncheckedRules = ({ delivery }: { delivery: Delivery }) =>
  isOpen(delivery) && !delivery.byHand ? (
    <EmptyState title="Not checked yet">
      Rules are checked right before sending. Some events cancel an email earlier.
    </EmptyState>
  ) : (
    <EmptyState title="Not checked">{describeUnchecked(delivery)}</EmptyState>
  )

function describeUnchecked(delivery: Delivery): string {
  if (delivery.joinedTo !== null) return 'Rules are checked for the email that includes this event.'
  return isOpen(delivery)
    ? 'A member or an API key started this email, so its rules are not checked.'
    : 'This delivery ended before its rules were checked.'
}

const rowsOf = (rules: Explanation['rules']): Rule[] => rules.map((rule, index) => ({ ...rule, id: String(index) }))

/** Newest first, from the delivery's row. */
type Happened = {
  shown: ShownDelivery
  cancelled: { at: number; by: string } | null
  sentOnBy: string | null
  overriddenBy: string | null
}

export const DeliveryTimeline = ({ now, ...happened }: Happened & { now: number }) => (
  <section>
    <h2>What happened</h2>
    <Timeline now={now} moments={momentsOf(happened)} />
  </section>
)

type Delivery = ShownDelivery['work']['delivery']

/** Rules don't apply to an email that a member sends. */
const isChecked = (delivery: Delivery): boolean => isAhead(delivery) && !delivery.byHand

const isAhead = ({ state }: Delivery): boolean => state === 'waiting' || state === 'deferred'

const isOpen = (delivery: Delivery): boolean => isAhead(delivery) || delivery.state === 'claimed'

function momentsOf({ shown, cancelled, sentOnBy, overriddenBy }: Happened): Moment[] {
  const { delivery, message } = shown.work
  const createdAt = timeOfId(delivery.id)
  const { triggeredAt, dueAt, state, sentAt, openedAt, cameBackAt, updatedAt } = delivery
  const handedAt = handOverOf(delivery)
  const isRestored = delivery.reason === RESTORED
  const { delayedAt, deliveredAt, bouncedAt } = delivery
  const { keptAt = null, sentOn, unconfirmedAt = null } = readRecord(delivery) ?? {}
  const { stopped } = sentOn ?? {}
  const isCaptured = state === 'kept'
  const isStopped =
    (state === 'skipped' && delivery.reason !== CANCELLED && !isRestored) ||
    state === 'failed' ||
    state === 'bounced' ||
    state === 'complained'
  const times: [string, number | null, string][] = [
    ['triggered', triggeredAt, describeTrigger(message.content.trigger)],
    ['created', isLate(triggeredAt, createdAt) ? createdAt : null, 'Eventpost received it'],
    ['checked', whenAsked(shown), 'Rules checked'],
    ['kept', isCaptured ? handedAt : keptAt, 'Captured in the outbox'],
    [
      'stopped',
      stopped && stopped.reason !== CANCELLED ? stopped.at : null,
      `${isDelay(stopped?.reason ?? '') ? 'Waited' : 'Blocked'}: ${shortenReason(stopped?.reason ?? '')}`,
    ],
    ['overridden', stopped?.overridden?.at ?? null, `${overriddenBy ?? 'A member'} sent it anyway`],
    ['sent-on', sentOn?.at ?? null, `${sentOnBy ?? 'A member'} ${describeSending(shown.work.delivery)}`],
    ['cancelled', cancelled?.at ?? null, `${cancelled?.by} cancelled it`],
    ['unconfirmed', unconfirmedAt, 'Handed over, not confirmed'],
    ['handed', isCaptured || handedAt === unconfirmedAt ? null : handedAt, 'Handed over'],
    ['restored', isRestored ? updatedAt : null, 'Restored from a backup, not sent'],
    ['sent', sentAt, 'Sent'],
    ['delayed', delayedAt, 'The email provider keeps trying to deliver it'],
    ['delivered', deliveredAt, 'Delivered'],
    ['came-back', cameBackAt, 'They came back to the site'],
    ['opened', openedAt, 'They opened the result'],
    ['ended', isStopped ? (bouncedAt ?? updatedAt) : null, ENDS[state] ?? ''],
    ['ahead', isAhead(delivery) ? dueAt : null, describeUpcoming(delivery)],
  ]
  return times
    .flatMap(([id, at, what]) => (at === null ? [] : [{ id, at, what, isDue: id === 'ahead' }]))
    .reverse()
    .sort((a, b) => b.at - a.at)
}

/** Rules that also apply when a member resends. */
const ALWAYS_ASKED = ['suppression', 'link', 'language', 'template']

function whenAsked({ explained: { rules, decidedAt, rulesAt } }: ShownDelivery): number | null {
  return rules.some(({ rule }) => !ALWAYS_ASKED.includes(rule)) ? (rulesAt ?? decidedAt) : null
}

function describeSending(delivery: Delivery): string {
  const { sentOn, unconfirmedAt } = readRecord(delivery) ?? {}
  const isAgain = unconfirmedAt !== undefined && sentOn !== undefined && unconfirmedAt < sentOn.at
  if (isAgain || sentOn?.stopped?.overridden !== undefined) return 'sent it again'
  return sentOn?.stopped ? 'sent it anyway' : 'sent it'
}

const describeUpcoming = (delivery: Delivery): string =>
  nameNext(delivery) ?? (delivery.byHand ? 'It will be sent' : 'Rules will be checked')

const ENDS: Partial<Record<DeliveryState, string>> = {
  skipped: 'It was not sent',
  failed: 'It failed',
  bounced: 'It bounced',
  complained: 'They reported it as spam',
}

function describeTrigger(trigger: MessageRow['content']['trigger']): string {
  if ('event' in trigger) return `${trigger.event} happened`
  if ('page' in trigger) return 'They opened the page'
  if ('api' in trigger) return 'Your server sent it'
  if ('message' in trigger) return `“${trigger.message}” was sent`
  if ('date' in trigger) return `Their ${trigger.date} triggered it`
  if ('inactiveDays' in trigger) return 'They were inactive'
  return 'contact' in trigger ? 'They were added' : 'They got the tag'
}
