/** @jsxImportSource preact */
import type { DeliveryState } from '../core/delivery-lists.ts'
import { publicId } from '../core/public-ids.ts'
import { Badge, type Mood } from './parts/badge.tsx'

/** States as people say them: what is under way is one, and what a rule stopped is no fault. */
const STATES: Record<DeliveryState, { word: string; mood: Mood }> = {
  waiting: { word: 'Waiting', mood: 'quiet' },
  claimed: { word: 'Sending', mood: 'quiet' },
  handed: { word: 'Handed over', mood: 'quiet' },
  sent: { word: 'Sent', mood: 'good' },
  skipped: { word: 'Not sent', mood: 'quiet' },
  deferred: { word: 'Put off', mood: 'caution' },
  failed: { word: 'Failed', mood: 'bad' },
  unknown: { word: 'Unknown', mood: 'caution' },
  bounced: { word: 'Came back', mood: 'bad' },
  complained: { word: 'Complained', mood: 'bad' },
}

export const stateInWords = (state: DeliveryState): string => STATES[state].word

/** `isKept`: the mail is in the outbox, so nobody got it. */
export const DeliveryBadge = ({ state, isKept }: { state: DeliveryState; isKept: boolean }) =>
  isKept && state === 'sent' ? <Badge>Kept</Badge> : <Badge mood={STATES[state].mood}>{STATES[state].word}</Badge>

/** Where a delivery is shown. */
export const deliveryPath = (appId: string, id: number): string => `/apps/${appId}/deliveries/${publicId('dlv', id)}`

/** Those of one message, in one state or in all. */
export const deliveriesPath = (appId: string, { id, state }: { id: number; state?: DeliveryState }): string => {
  const query = new URLSearchParams({ message: publicId('msg', id), ...(state === undefined ? {} : { state }) })
  return `/apps/${appId}/deliveries?${query}`
}
