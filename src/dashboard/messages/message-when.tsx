/** @jsxImportSource preact */
import { COMPARISON_LABELS } from '../../messages/describe-message.ts'
import { countRows } from './message-field-names.ts'
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
export const PROPERTY_NAMES = 'property-names'

/** A choice in which only the selected option's fields are shown and sent. */
const Shapes = ({ ask, name, label, tabs }: Pick<PartProps, 'ask'> & Omit<Parameters<typeof Tabs>[0], 'selected'>) => {
  const { value, error, isLocked } = ask(name)
  return (
    <>
      {error && (
        <p class="fault" id={name}>
          {error}
        </p>
      )}
      <Tabs name={name} label={label} tabs={tabs} selected={value} isLocked={isLocked} />
    </>
  )
}

export const TriggerSection = ({ ask, path, fields }: PartProps & { fields: Record<string, string> }) => (
  <section id="trigger" data-part>
    <h2>What starts it</h2>
    <Shapes
      ask={ask}
      name="trigger"
      label="What starts it"
      tabs={[
        { id: 'event', name: 'An event', content: <EventTrigger ask={ask} path={path} fields={fields} /> },
        {
          id: 'page',
          name: 'A page',
          content: (
            <Field
              {...ask('trigger.page')}
              label="Path of the page"
              hint="Such as /pricing, or /docs/* for all that begin so. The tag on your pages reports them."
            />
          ),
        },
        {
          id: 'contact',
          name: 'A new person',
          content: <p class="hint">Everyone added to this app from now on, by your server or an event.</p>,
        },
        { id: 'tag', name: 'A tag', content: <Field {...ask('trigger.tag')} label="Tag that somebody gets" /> },
      ]}
    />
  </section>
)

function EventTrigger({ ask, path, fields }: PartProps & { fields: Record<string, string> }) {
  const { isLocked } = ask('trigger.event')
  const rows = Array.from({ length: countRows(fields, 'trigger.where') }, (_, index) => index)
  return (
    <>
      <Field
        {...ask('trigger.event')}
        label="Name of the event"
        hint="Of your server, or an action that your pages report."
        list={EVENT_NAMES}
      />
      {rows.map((row) => (
        <ConditionRow key={row} ask={ask} path={path} row={row} />
      ))}
      {!isLocked && (
        <Button name="do" value="add trigger.where" formaction={`${path}#trigger`}>
          {rows.length === 0 ? 'Only with certain properties' : 'Add a condition'}
        </Button>
      )}
    </>
  )
}

function ConditionRow({ ask, path, row }: PartProps & { row: number }) {
  const at = `trigger.where[${row}]`
  return (
    <fieldset class="rule">
      <legend>{row === 0 ? 'Only where' : 'And where'}</legend>
      <div class="beside">
        <Field {...ask(`${at}.property`)} label="Property" list={PROPERTY_NAMES} />
        <Compared ask={ask} at={at} />
      </div>
      {!ask(at).isLocked && (
        <Button name="do" value={`remove trigger.where ${row}`} formaction={`${path}#trigger`}>
          Remove<span class="unseen">{` the condition ${row + 1}`}</span>
        </Button>
      )}
    </fieldset>
  )
}

const COMPARISONS = Object.entries(COMPARISON_LABELS).map(([value, label]) => ({ value, label }))

/** Operator and value. */
export const Compared = ({ ask, at }: { ask: Ask; at: string }) => (
  <>
    <Select {...ask(`${at}.is`)} label="Comparison" options={COMPARISONS} />
    <Field {...ask(`${at}.to`)} label="With" optional />
  </>
)

const UNITS = [
  { value: 'minutes', label: 'minutes' },
  { value: 'hours', label: 'hours' },
  { value: 'days', label: 'days' },
]

export const WaitSection = ({ ask, timezone }: Pick<PartProps, 'ask'> & { timezone: string }) => (
  <section>
    <h2>How long it waits</h2>
    <Shapes
      ask={ask}
      name="wait"
      label="How long it waits"
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
              hint={`Such as 09:00, in the app's time zone (${timezone}).`}
            />
          ),
        },
      ]}
    />
  </section>
)

export const AgainSection = ({ ask }: Pick<PartProps, 'ask'>) => (
  <section>
    <h2>How often</h2>
    <Shapes
      ask={ask}
      name="again"
      label="How often"
      tabs={[
        { id: 'person', name: 'Once', content: <p class="hint">Each person gets it once, however often it starts.</p> },
        {
          id: 'property',
          name: 'Once per value',
          content: (
            <Field
              {...ask('again.property')}
              label="Property"
              hint="Such as resultId. With several (“resultId, url”), the first one present is used. A url counts without its query."
              list={PROPERTY_NAMES}
            />
          ),
        },
        {
          id: 'everyHours',
          name: 'Every so often',
          content: (
            <Field
              {...ask('again.everyHours')}
              label="Hours between two"
              hint="A person gets the next one after so many hours at the earliest."
              kind="number"
            />
          ),
        },
      ]}
    />
    <Field
      {...ask('again.collect.minutes')}
      label="Collect for (minutes)"
      hint="While an email waits, further events of the person join it. For Once and Once per value."
      kind="number"
      optional
    />
  </section>
)
