/** @jsxImportSource preact */
import {
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  isHeld,
  labelOf,
  mayHaveArrivedTwice,
  SENT_STATES,
  STATE_LABELS,
} from '../../deliveries/delivery-lists.ts'
import { BRAKE } from '../../deliveries/brake.ts'
import { publicId } from '../../core/ids.ts'
import { pathOf } from '../layout/frame.tsx'
import { Badge, type Mood } from '../ui/badge.tsx'

const MOODS: Record<DeliveryState, Mood> = {
  waiting: 'quiet',
  claimed: 'quiet',
  handed: 'quiet',
  sent: 'good',
  kept: 'quiet',
  skipped: 'off',
  joined: 'off',
  deferred: 'caution',
  failed: 'bad',
  unknown: 'caution',
  bounced: 'bad',
  complained: 'bad',
}

/**
 * Groups of states that a page counts together. Captured emails don't count as sent. `decided` also has those that are
 * held back, and is named as in Results.
 */
export const STATE_GROUPS = {
  pending: { label: 'Waiting, deferred or sending', states: ['waiting', 'deferred', 'claimed'] },
  left: { label: 'Sent, any result', states: SENT_STATES },
  amiss: { label: 'Failed, unknown, bounced or complained', states: ['failed', 'unknown', 'bounced', 'complained'] },
  unsent: { label: 'Not sent, captured or failed', states: ['skipped', 'kept', 'failed'] },
  decided: { label: 'Passed the rules', states: [...SENT_STATES, 'kept', 'failed'] },
} as const satisfies Record<string, { label: string; states: readonly DeliveryState[] }>

export type StateGroup = keyof typeof STATE_GROUPS

/**
 * Waiting is one choice, because a reason tells what an email waits for. Deferred isn't a choice: its label depends on
 * the reason, which isn't in the index of states.
 */
type Choice = Exclude<DeliveryState, (typeof STATE_GROUPS)['pending']['states'][number]>

export type StateFilter = Choice | StateGroup

const isChoice = (state: DeliveryState): state is Choice => !STATE_GROUPS.pending.states.some((one) => one === state)

const isGroup = (text: string): text is StateGroup => Object.hasOwn(STATE_GROUPS, text)

/** Parses a filter; null if unknown. */
export function readStateFilter(text: string): StateFilter | null {
  const state = DELIVERY_STATES.find((one) => one === text)
  if (state !== undefined) return isChoice(state) ? state : 'pending'
  return isGroup(text) ? text : null
}

export const statesOf = (filter: StateFilter): readonly DeliveryState[] =>
  isGroup(filter) ? STATE_GROUPS[filter].states : [filter]

export const describeFilter = (filter: StateFilter): string =>
  isGroup(filter) ? STATE_GROUPS[filter].label : STATE_LABELS[filter]

/** In the order shown. Groups come last, except `pending`. */
const STATE_FILTERS = {
  pending: true,
  handed: true,
  sent: true,
  bounced: true,
  complained: true,
  unknown: true,
  failed: true,
  skipped: true,
  kept: true,
  joined: true,
  left: true,
  amiss: true,
  unsent: true,
  decided: true,
} satisfies Record<StateFilter, true>

export const STATE_CHOICES = (Object.keys(STATE_FILTERS) as StateFilter[]).map((value) => ({
  value,
  label: describeFilter(value),
}))

/** The state, with a note if the email may have been sent twice. */
export const DeliveryBadge = ({ delivery }: { delivery: DeliveryRow }) => {
  const [mood, word] = [MOODS[isHeld(delivery) ? 'waiting' : delivery.state], labelOf(delivery)]
  if (!mayHaveArrivedTwice(delivery)) return <Badge mood={mood}>{word}</Badge>
  return (
    <span>
      <Badge mood={mood}>{word}</Badge> <Badge mood="caution">Possible duplicate</Badge>
    </span>
  )
}

/** What happens next to a deferred email. */
export function nameNext(delivery: DeliveryRow): string | null {
  if (delivery.state !== 'deferred') return null
  return isHeld(delivery) ? 'Next check' : 'Next attempt'
}

const OF_APP: readonly (string | null)[] = ['window', 'perDay', 'perWeek']

/** To the hours, limits or rates that an email waits for. */
export function LimitLink({ appId, delivery }: { appId: string; delivery: DeliveryRow }) {
  const isBraked = delivery.reason === BRAKE
  if (!isHeld(delivery) || !(isBraked || OF_APP.includes(delivery.reason))) return null
  return (
    <>
      {' '}
      {isBraked ? (
        <a href={pathOf(appId, 'sender/rates')}>Bounces and complaints</a>
      ) : (
        <a href={pathOf(appId, 'sender/limits')}>Hours and limits</a>
      )}
    </>
  )
}

/** Rule names as in the editor. */
const RULE_NAMES: Record<string, string> = {
  suppression: 'Subscription',
  consent: 'Double opt-in',
  message: 'Message status',
  date: 'Date',
  inactive: 'Inactivity',
  seen: 'Opened the result',
  notSeen: "Hasn't opened the result",
  done: 'An event arrived',
  notDone: "An event didn't arrive",
  tag: 'Tag',
  field: 'Field',
  status: 'Status',
  brake: 'Bounces and complaints',
  again: 'How often',
  window: 'Sending hours',
  holdback: 'Holdback',
  perDay: 'Daily limit',
  perWeek: 'Weekly limit',
  giveUp: 'Give up after',
  template: 'Template',
  link: 'Link',
  language: 'Language',
}

/** Being away can be checked at the trigger and at send time. */
export const nameOfRule = ({ rule, about }: { rule: string; about: string | null }): string =>
  rule === 'away'
    ? `Away at ${about === 'trigger' ? 'the trigger' : 'send time'}`
    : (Object.hasOwn(RULE_NAMES, rule) && RULE_NAMES[rule]) || rule

export const deliveryPath = (appId: string, id: number): string => `/apps/${appId}/deliveries/${publicId('dlv', id)}`
