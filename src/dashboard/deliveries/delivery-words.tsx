/** @jsxImportSource preact */
import {
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  mayHaveArrivedTwice,
} from '../../deliveries/delivery-lists.ts'
import { publicId } from '../../core/ids.ts'
import { Badge, type Mood } from '../ui/badge.tsx'

/** States as people say them: what is under way is one, and what a rule stopped is no fault. */
const STATES: Record<DeliveryState, { word: string; mood: Mood }> = {
  waiting: { word: 'Waiting', mood: 'quiet' },
  claimed: { word: 'Sending', mood: 'quiet' },
  handed: { word: 'Handed over', mood: 'quiet' },
  sent: { word: 'Sent', mood: 'good' },
  kept: { word: 'Kept', mood: 'quiet' },
  skipped: { word: 'Not sent', mood: 'quiet' },
  joined: { word: 'Joined', mood: 'quiet' },
  deferred: { word: 'Put off', mood: 'caution' },
  failed: { word: 'Failed', mood: 'bad' },
  unknown: { word: 'Unknown', mood: 'caution' },
  bounced: { word: 'Bounced', mood: 'bad' },
  complained: { word: 'Complained', mood: 'bad' },
}

/** States that a page takes together. Those that left are counted whatever became of them; what is kept did not. */
export const STATE_GROUPS = {
  pending: { word: 'All that wait', states: ['waiting', 'deferred', 'claimed'] },
  left: { word: 'All that went out', states: ['handed', 'sent', 'unknown', 'bounced', 'complained'] },
  amiss: { word: 'All that went wrong', states: ['failed', 'unknown', 'bounced', 'complained'] },
} as const satisfies Record<string, { word: string; states: readonly DeliveryState[] }>

export type StateGroup = keyof typeof STATE_GROUPS

/** What a list of deliveries may be narrowed to. */
export type StateFilter = DeliveryState | StateGroup

const isGroup = (text: string): text is StateGroup => Object.hasOwn(STATE_GROUPS, text)

/** Reads an address' word; null for none that is known. */
export const readStateFilter = (text: string): StateFilter | null =>
  isGroup(text) ? text : (DELIVERY_STATES.find((state) => state === text) ?? null)

export const statesOf = (filter: StateFilter): readonly DeliveryState[] =>
  isGroup(filter) ? STATE_GROUPS[filter].states : [filter]

export const stateInWords = (state: DeliveryState): string => STATES[state].word

/** The state, and whether the person may have got the email twice. */
export const DeliveryBadge = ({ delivery }: { delivery: DeliveryRow }) => {
  const { mood, word } = STATES[delivery.state]
  if (!mayHaveArrivedTwice(delivery)) return <Badge mood={mood}>{word}</Badge>
  return (
    <span>
      <Badge mood={mood}>{word}</Badge> <Badge mood="caution">Maybe twice</Badge>
    </span>
  )
}

/** Where a delivery is shown. */
export const deliveryPath = (appId: string, id: number): string => `/apps/${appId}/deliveries/${publicId('dlv', id)}`

/** Those of one message, in some states or in all. */
export const deliveriesPath = (appId: string, { id, state }: { id: number; state?: StateFilter }): string => {
  const query = new URLSearchParams({ message: publicId('msg', id), ...(state === undefined ? {} : { state }) })
  return `/apps/${appId}/deliveries?${query}`
}
