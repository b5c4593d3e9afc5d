/** @jsxImportSource preact */
import { type Ask, EVENT_NAMES } from './message-when.tsx'
import { Field } from '../ui/field.tsx'

const GOAL_FIELDS = ['goal.event', 'goal.days', 'holdback']

/** Open if any is set or invalid. */
export function GoalSection({ ask }: { ask: Ask }) {
  const isPlain = GOAL_FIELDS.every((name) => ask(name).value === '' && !ask(name).error)
  return (
    <details class="more-fields" open={!isPlain}>
      <summary>
        <h2>Goal and holdback</h2>
      </summary>
      <div class="pairs">
        <Field
          {...ask('goal.event')}
          label="Goal event"
          hint="What the email should lead to."
          list={EVENT_NAMES}
          optional
        />
        <Field {...ask('goal.days')} label="Days to reach it" hint="1 to 30, after the email." kind="number" optional />
        <Field
          {...ask('holdback')}
          label="Hold back (%)"
          hint="This share gets no email, so results show its effect."
          kind="number"
          optional
        />
      </div>
    </details>
  )
}
