/** @jsxImportSource preact */
import { type Ask, EVENT_NAMES } from './message-when.tsx'
import { Field } from '../ui/field.tsx'

export const GoalFields = ({ ask }: { ask: Ask }) => (
  <>
    <Field
      {...ask('goal.event')}
      label="Goal event"
      hint="What the email should lead to."
      list={EVENT_NAMES}
      optional
    />
    <Field {...ask('goal.days')} label="Days to reach it" hint="1 to 30, after the email." kind="number" optional />
  </>
)

export const HoldbackField = ({ ask }: { ask: Ask }) => (
  <Field
    {...ask('holdback')}
    label="Hold back (%)"
    hint="This share gets no email, so results show its effect."
    kind="number"
    optional
  />
)
