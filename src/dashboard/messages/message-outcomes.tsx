/** @jsxImportSource preact */
import { useContext } from 'preact/hooks'
import { explainSimulation } from '../../deliveries/explanations.ts'
import type { MessageContent } from '../../messages/messages.ts'
import type { SimulationLine } from '../../deliveries/simulation/index.ts'
import { nameOfRule } from '../deliveries/delivery-labels.tsx'
import { SentText } from '../ui/text.tsx'
import { Zone } from '../ui/time.tsx'

const OUTCOMES: Record<string, string> = {
  send: 'Would have been sent',
  waiting: 'Would still be waiting',
  joined: 'Added to another email',
  again: 'Already sent or waiting',
  gave_up: 'Could not be sent in time',
  not_away: 'Were still on your site',
  came_back: 'Came back on their own',
  left_too_recently: 'Had left too recently',
  seen: 'Had opened the result',
  not_seen: 'Had not opened the result',
  never_reported: 'No page views before it was due',
  no_page: 'Had no URL on your domains',
  done: 'An excluded event arrived',
  not_done: 'A required event was missing',
  tag: 'Tags did not match',
  field: 'Field did not match',
  status: 'Status did not match',
  date_changed: 'Their date was changed',
  active_again: 'Were active again',
  holdback: 'Held back for comparison',
  missing_value: 'A value in the email was missing',
  broken_template: 'The email could not be rendered',
  empty_mail: 'The email had no text',
  pending: 'Had not confirmed their address',
  unsubscribed: 'Had unsubscribed',
  topic: 'Had unsubscribed from the topic',
  bounced: 'Their address bounced',
  complained: 'Had complained',
}

export const describeOutcome = (outcome: string): string =>
  (Object.hasOwn(OUTCOMES, outcome) && OUTCOMES[outcome]) || outcome

/** The reason first, then all rules. */
export function Why({ line, content }: { line: SimulationLine; content: MessageContent }) {
  const person = { firstName: null, email: line.email }
  const { why, rules } = explainSimulation(line, { person, content, zone: useContext(Zone) })
  return (
    <>
      <SentText>{why}</SentText>
      {rules.length > 0 && (
        <details>
          <summary class="hint small">{rules.length === 1 ? 'The rule' : `All ${rules.length} rules`}</summary>
          <ul class="verdicts">
            {rules.map(({ sentence, rule, about, verdict, isToday, isEstimated }, index) => (
              <li key={index} class={verdict}>
                <b>{`${nameOfRule({ rule, about })}: `}</b>
                <SentText>{sentence}</SentText>
                {isToday && <span class="hint"> Based on today's data.</span>}
                {isEstimated && <span class="hint"> Based on page views only.</span>}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}
