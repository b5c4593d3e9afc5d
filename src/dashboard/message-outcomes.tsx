/** @jsxImportSource preact */
import type { RehearsalLine } from '../core/rehearsals.ts'
import { SentText } from './parts/text.tsx'

const OUTCOMES: Record<string, string> = {
  send: 'Would have been written to',
  waiting: 'Would wait still',
  again: 'Had got it before',
  not_away: 'Were there',
  seen: 'Had opened the results',
  not_seen: 'Had not opened the results',
  done: 'Had done what stops it',
  not_done: 'Had not done what it asks for',
  tag: 'The tag did not fit',
  field: 'The field did not fit',
  status: 'The status did not fit',
  unsubscribed: 'Had unsubscribed',
  bounced: 'Their address takes no mail',
  complained: 'Had complained',
}

/** What came of a rehearsal for some, as a heading. */
export const sayOutcome = (outcome: string): string => OUTCOMES[outcome] ?? outcome

/** Every rule with what it found. */
export const Verdicts = ({ verdicts }: { verdicts: RehearsalLine['verdicts']; now: number }) => (
  <ul class="verdicts">
    {verdicts.map(({ rule, about, value, verdict, isToday }, index) => (
      <li key={index}>
        {`${rule} ${about ?? ''} ${verdict} `}
        <SentText>{String(value ?? '')}</SentText>
        {isToday && <span class="hint"> (by today's values)</span>}
      </li>
    ))}
  </ul>
)
