/** @jsxImportSource preact */
import { useContext } from 'preact/hooks'
import { explainSimulation } from '../../deliveries/explanations.ts'
import type { MessageContent } from '../../messages/messages.ts'
import type { SimulationLine } from '../../deliveries/simulation/index.ts'
import { SentText } from '../ui/text.tsx'
import { Zone } from '../ui/time.tsx'

const OUTCOMES: Record<string, string> = {
  send: 'Would have been sent',
  waiting: 'Would wait still',
  joined: 'Added to another email',
  again: 'Had one waiting, or had got it',
  gave_up: 'Could not be sent in time',
  not_away: 'Were there',
  seen: 'Had opened the results',
  not_seen: 'Had not opened the results',
  never_reported: 'No page views from them',
  no_page: 'What started it named no page of yours',
  done: 'Cancelled by an event',
  not_done: 'Had not done what it asks for',
  tag: 'The tag did not fit',
  field: 'The field did not fit',
  status: 'The status did not fit',
  holdback: 'Held back for comparison',
  missing_value: 'A value in the email was missing',
  broken_template: 'The email could not be rendered',
  unsubscribed: 'Had unsubscribed',
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
            {rules.map(({ sentence, verdict, isToday, isEstimated }, index) => (
              <li key={index} class={verdict}>
                <SentText>{sentence}</SentText>
                {isToday && <span class="hint"> By what is known of them today.</span>}
                {isEstimated && <span class="hint"> By page views alone.</span>}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}
