/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { COMPARISON_LABELS } from '../../messages/describe-message.ts'
import { countRows } from './message-field-names.ts'
import { GOAL_DAYS } from './message-form.ts'
import { Button } from '../ui/button.tsx'
import { Select } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'
import { Tabs } from '../ui/tabs.tsx'

/** A field by its schema path. */
export type Ask = (name: string) => {
  name: string
  value: string
  error: string | undefined
  isLocked: boolean
  autocomplete: 'off'
}

/** `path`: URL of the form. */
export type PartProps = { ask: Ask; path: string }

export const EVENT_NAMES = 'event-names'
export const FIELD_NAMES = 'field-names'
export const PROPERTY_NAMES = 'property-names'
export const TAG_NAMES = 'tag-names'

type FieldsProps = Pick<PartProps, 'ask'>

/** A choice in which only the selected option's fields are shown. */
const Shapes = ({ ask, name, label, tabs }: FieldsProps & Omit<Parameters<typeof Tabs>[0], 'selected'>) => {
  const { value, error, isLocked } = ask(name)
  return (
    <>
      {error && <p class="fault">{error}</p>}
      <Tabs name={name} label={label} tabs={tabs} selected={value} isLocked={isLocked} />
    </>
  )
}

const SIDES = [
  { value: 'before', label: 'before the date' },
  { value: 'after', label: 'after the date' },
]

type TriggerProps = PartProps & { fields: Record<string, string>; others: string[] }

/** `others`: names of the app's other messages. */
export const TriggerFields = ({ ask, path, fields, others }: TriggerProps) => (
  <Shapes
    ask={ask}
    name="trigger"
    label="Trigger"
    tabs={[
      { id: 'event', name: 'Event', content: <EventTrigger ask={ask} path={path} fields={fields} /> },
      {
        id: 'page',
        name: 'Page',
        content: <Field {...ask('trigger.page')} label="Page path" hint="Such as /pricing, or /docs/*." />,
      },
      {
        id: 'contact',
        name: 'New person',
        content: <p class="hint">Everyone added to this app from now on.</p>,
      },
      { id: 'tag', name: 'Tag', content: <Field {...ask('trigger.tag')} label="Tag added" list={TAG_NAMES} /> },
      {
        id: 'message',
        name: 'Message',
        content: <MessageTrigger ask={ask} others={others} />,
      },
      {
        id: 'date',
        name: 'Date',
        content: (
          <>
            <Field
              {...ask('trigger.date')}
              label="Field with the date"
              hint="Such as trialEndsAt."
              list={FIELD_NAMES}
            />
            <div class="beside">
              <Field {...ask('trigger.days')} label="Days" kind="number" />
              <Select {...ask('trigger.when')} label="When" options={SIDES} />
            </div>
          </>
        ),
      },
      {
        id: 'inactive',
        name: 'Inactivity',
        content: <Field {...ask('trigger.inactiveDays')} label="Days without any event or page view" kind="number" />,
      },
      {
        id: 'api',
        name: 'API',
        content: (
          <p class="hint">
            Sent by <a href="/docs/sends">POST /send</a>, such as a receipt.
          </p>
        ),
      },
    ]}
  />
)

function MessageTrigger({ ask, others }: FieldsProps & Pick<TriggerProps, 'others'>) {
  const field = ask('trigger.message')
  const names = field.value === '' || others.includes(field.value) ? others : [...others, field.value]
  return names.length === 0 ? (
    <p class="hint">There is no other message yet.</p>
  ) : (
    <Select
      {...field}
      label="Earlier message"
      hint="Values come from its event. Set the delay under Wait."
      options={[{ value: '', label: 'Choose a message' }, ...names.map((name) => ({ value: name, label: name }))]}
    />
  )
}

function EventTrigger({ ask, path, fields }: PartProps & { fields: Record<string, string> }) {
  const { isLocked } = ask('trigger.event')
  const rows = Array.from({ length: countRows(fields, 'trigger.where') }, (_, index) => index)
  return (
    <>
      <Field {...ask('trigger.event')} label="Event name" list={EVENT_NAMES} />
      {rows.map((row) => (
        <ConditionRow key={row} ask={ask} path={path} row={row} />
      ))}
      {!isLocked && (
        <div class="buttons">
          <Button name="do" value="add trigger.where" formaction={`${path}#sentence`}>
            {rows.length === 0 ? 'Only with certain properties' : 'Add a condition'}
          </Button>
          {rows.length > 0 && (
            <Button name="do" value="add trigger.where or" formaction={`${path}#sentence`}>
              Add an alternative
            </Button>
          )}
        </div>
      )}
    </>
  )
}

function ConditionRow({ ask, path, row }: PartProps & { row: number }) {
  const at = `trigger.where[${row}]`
  const isOr = ask(`${at}.or`).value !== ''
  return (
    <fieldset class="rule">
      <legend>{row === 0 ? 'Only where' : isOr ? 'Or where' : 'And where'}</legend>
      <JoinedByOr ask={ask} at={at} />
      <div class="beside">
        <Field {...ask(`${at}.property`)} label="Property" list={PROPERTY_NAMES} />
        <Compared ask={ask} at={at} />
      </div>
      {!ask(at).isLocked && (
        <Button name="do" value={`remove trigger.where ${row}`} formaction={`${path}#sentence`}>
          Remove<span class="unseen">{` condition ${row + 1}`}</span>
        </Button>
      )}
    </fieldset>
  )
}

/** Its error is about the row as a whole. */
export function JoinedByOr({ ask, at }: { ask: Ask; at: string }) {
  const { name, value, error } = ask(`${at}.or`)
  return (
    <>
      {error && <p class="fault">{error}</p>}
      <input type="hidden" name={name} value={value} />
    </>
  )
}

const COMPARISONS = Object.entries(COMPARISON_LABELS).map(([value, label]) => ({
  value,
  label: value === 'in' ? `${label} (a, b, c)` : label,
}))

/** Operator and value. */
export const Compared = ({ ask, at }: { ask: Ask; at: string }) => (
  <>
    <Select {...ask(`${at}.is`)} label="Comparison" options={COMPARISONS} />
    <Field {...ask(`${at}.to`)} label="Value" optional />
  </>
)

const UNITS = [
  { value: 'minutes', label: 'minutes' },
  { value: 'hours', label: 'hours' },
  { value: 'days', label: 'days' },
]

export const WaitFields = ({ ask, timezone }: FieldsProps & { timezone: string }) => (
  <Shapes
    ask={ask}
    name="wait"
    label="Wait"
    tabs={[
      { id: 'now', name: 'No wait', content: <p class="hint">Checked and sent immediately.</p> },
      {
        id: 'minutes',
        name: 'For a set time',
        content: (
          <div class="beside">
            <Field {...ask('wait.minutes')} label="How long" kind="number" />
            <Select {...ask('wait.unit')} label="Unit" options={UNITS} />
          </div>
        ),
      },
      {
        id: 'until',
        name: 'Until a time of day',
        content: (
          <Field
            {...ask('wait.until')}
            label="Time of day"
            hint={`Such as 09:00, in the person's timezone if known, otherwise ${timezone}.`}
          />
        ),
      },
    ]}
  />
)

export const AgainFields = ({ ask }: FieldsProps) => (
  <>
    <Shapes
      ask={ask}
      name="again"
      label="How often"
      tabs={[
        { id: 'person', name: 'Once', content: <p class="hint">Each person gets it once.</p> },
        {
          id: 'property',
          name: 'Once per value',
          content: (
            <Field
              {...ask('again.property')}
              label="Property"
              hint="In a list (“resultId, url”), the first with a value counts."
              list={PROPERTY_NAMES}
            />
          ),
        },
        {
          id: 'trigger',
          name: 'Each time',
          content: <p class="hint">Each time an email, a date or inactivity triggers it.</p>,
        },
        {
          id: 'everyHours',
          name: 'Repeatedly',
          content: <Field {...ask('again.everyHours')} label="Hours between emails" kind="number" />,
        },
      ]}
    />
    <MoreFields ask={ask} names={['again.collect.minutes']}>
      <Field
        {...ask('again.collect.minutes')}
        label="Collect for (minutes)"
        hint="Later events join the waiting email."
        kind="number"
        optional
      />
    </MoreFields>
  </>
)

type MoreProps = FieldsProps & { names: string[]; children: ComponentChildren }

/** Rarely used fields; open where one is wrong. */
export const MoreFields = ({ ask, names, children }: MoreProps) => (
  <details class="more" open={names.some((name) => ask(name).error !== undefined)}>
    <summary>More options</summary>
    {children}
  </details>
)

export const GoalFields = ({ ask }: { ask: Ask }) => (
  <>
    <Field
      {...ask('goal.event')}
      label="Goal event"
      hint="The event this email should lead to."
      list={EVENT_NAMES}
      optional
    />
    <Field
      {...ask('goal.days')}
      label="Days to reach it"
      hint={`1 to 30 days after the email. Default: ${GOAL_DAYS}.`}
      kind="number"
      optional
    />
  </>
)

export const HoldbackField = ({ ask }: { ask: Ask }) => (
  <Field
    {...ask('holdback')}
    label="Hold back (%)"
    hint="1 to 50. These people get no email, so Results can show the difference."
    kind="number"
    optional
  />
)
