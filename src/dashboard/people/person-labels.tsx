/** @jsxImportSource preact */
import { DAY_MS } from '../../core/clock.ts'
import { SOFT_BOUNCES } from '../../deliveries/reports.ts'
import type { ContactRow } from '../../people/contacts.ts'
import { Badge, type Mood } from '../ui/badge.tsx'

type Status = ContactRow['status']

export const STATUSES: Record<Status, { word: string; mood: Mood | null }> = {
  subscribed: { word: 'Subscribed', mood: null },
  pending: { word: 'Not confirmed', mood: 'caution' },
  unsubscribed: { word: 'Unsubscribed', mood: 'quiet' },
  bounced: { word: 'Bounced', mood: 'bad' },
  complained: { word: 'Complained', mood: 'bad' },
}

/** The normal state has no badge. */
export function StatusBadge({ status }: { status: Status }) {
  const { word, mood } = STATUSES[status]
  return mood === null ? <span class="word">{word}</span> : <Badge mood={mood}>{word}</Badge>
}

const NO_EMAILS = 'No further emails go to this address.'

const NOTES: Partial<Record<Status, string>> = {
  pending: 'Gets transactional emails only, until they confirm the address.',
  unsubscribed: 'Gets transactional emails only.',
  bounced: NO_EMAILS,
  complained: NO_EMAILS,
}

/** What the status means for emails. */
export const StatusNote = ({ status }: { status: Status }) =>
  NOTES[status] === undefined ? null : <p class="hint">{NOTES[status]}</p>

const SOFT_DAYS = SOFT_BOUNCES.withinMs / DAY_MS

export const SOFT_BOUNCE_RULE = `${SOFT_BOUNCES.most} soft bounces within ${SOFT_DAYS} days suppress an address.`

export const describeSoftBounces = (count: number): string =>
  `${count} soft ${count === 1 ? 'bounce' : 'bounces'} in the last ${SOFT_DAYS} days. ${SOFT_BOUNCE_RULE}`

/** Empty if no name is known. */
export const nameOfPerson = ({ firstName, lastName }: Pick<ContactRow, 'firstName' | 'lastName'>): string =>
  [firstName, lastName].filter((name) => name !== null).join(' ')
