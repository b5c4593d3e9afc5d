/** @jsxImportSource preact */
import type { ContactRow } from '../core/contacts.ts'
import { Badge, type Mood } from './parts/badge.tsx'

type Status = ContactRow['status']

const STATUSES: Record<Status, { word: string; mood: Mood }> = {
  subscribed: { word: 'Subscribed', mood: 'good' },
  unsubscribed: { word: 'Unsubscribed', mood: 'quiet' },
  bounced: { word: 'Bounced', mood: 'bad' },
  complained: { word: 'Complained', mood: 'bad' },
}

/** Whether mail may go to somebody. */
export const StatusBadge = ({ status }: { status: Status }) => (
  <Badge mood={STATUSES[status].mood}>{STATUSES[status].word}</Badge>
)

/** First and last name as far as they are known; empty where neither is. */
export const nameOfPerson = ({ firstName, lastName }: Pick<ContactRow, 'firstName' | 'lastName'>): string =>
  [firstName, lastName].filter((name) => name !== null).join(' ')
