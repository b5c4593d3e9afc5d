/** @jsxImportSource preact */
import type { ContactRow } from '../../people/contacts.ts'
import { Badge, type Mood } from '../ui/badge.tsx'

type Status = ContactRow['status']

const STATUSES: Record<Status, { word: string; mood: Mood | null }> = {
  subscribed: { word: 'Subscribed', mood: null },
  unsubscribed: { word: 'Unsubscribed', mood: 'quiet' },
  bounced: { word: 'Bounced', mood: 'bad' },
  complained: { word: 'Complained', mood: 'bad' },
}

/** Whether mail may go to somebody; what is as it should be is said without a mark. */
export function StatusBadge({ status }: { status: Status }) {
  const { word, mood } = STATUSES[status]
  return mood === null ? <span class="word">{word}</span> : <Badge mood={mood}>{word}</Badge>
}

/** First and last name as far as they are known; empty where neither is. */
export const nameOfPerson = ({ firstName, lastName }: Pick<ContactRow, 'firstName' | 'lastName'>): string =>
  [firstName, lastName].filter((name) => name !== null).join(' ')
