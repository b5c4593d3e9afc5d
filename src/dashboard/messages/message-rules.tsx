/** @jsxImportSource preact */
import { countRows, type Fields, textOf } from './message-field-names.ts'
import { isRuleKind, RULE_KINDS, type RuleKind } from './message-rule-form.ts'
import { type Ask, Compared, EVENT_NAMES, type PartProps } from './message-when.tsx'
import { CONTACT_STATUSES } from '../../store/types.ts'
import { Button } from '../ui/button.tsx'
import { Select } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'

/** Rules checked at send time: one row each, and one to add. */
export function RulesSection({ ask, path, fields }: PartProps & { fields: Fields }) {
  const rows = Array.from({ length: countRows(fields, 'onlyIf') }, (_, index) => index)
  const { isLocked, error } = ask('onlyIf')
  return (
    <section id="onlyIf" data-part>
      <h2>Only if</h2>
      <p class="hint">All must hold when the email is sent.</p>
      {error && <p class="fault">{error}</p>}
      {rows.map((row) => (
        <RuleRow key={row} ask={ask} path={path} row={row} kind={textOf(fields, `onlyIf[${row}].rule`)} />
      ))}
      {rows.length === 0 && <p>No rules: everyone who triggers it gets it.</p>}
      {!isLocked && (
        <div class="beside add">
          <Select {...ask('newRule')} label="One more rule" options={NEW_RULES} />
          <Button name="do" value="add onlyIf" formaction={`${path}#onlyIf`}>
            Add
          </Button>
        </div>
      )}
    </section>
  )
}

const NEW_RULES = Object.entries(RULE_KINDS).map(([value, label]) => ({ value, label }))

function RuleRow({ ask, path, row, kind }: PartProps & { row: number; kind: string }) {
  const at = `onlyIf[${row}]`
  const { error = ask(at).error, isLocked } = ask(`${at}.rule`)
  const isKnown = isRuleKind(kind)
  return (
    <fieldset class={error ? 'rule wrong' : 'rule'} id={at}>
      <legend id={`${at}.rule`}>{isKnown ? RULE_KINDS[kind] : 'Unknown rule'}</legend>
      {error && <p class="fault">{error}</p>}
      <input type="hidden" name={`${at}.rule`} value={kind} />
      {isKnown && <div class="pairs">{FIELDS[kind]({ ask, at })}</div>}
      {!isLocked && (
        <Button name="do" value={`remove onlyIf ${row}`} formaction={`${path}#onlyIf`}>
          Remove<span class="unseen">{` the rule ${row + 1}`}</span>
        </Button>
      )}
    </fieldset>
  )
}

type RuleProps = { ask: Ask; at: string }

const UNKNOWN = [
  { value: 'send', label: 'send' },
  { value: 'skip', label: "don't send" },
]

const IfUnknown = ({ ask, at }: RuleProps) => (
  <Select {...ask(`${at}.ifUnknown`)} label="If they have no page views" options={UNKNOWN} />
)

const MOMENTS = [
  { value: 'sending', label: 'when it is sent' },
  { value: 'trigger', label: 'when it started' },
]

const Away = ({ ask, at }: RuleProps) => (
  <>
    <Select {...ask(`${at}.at`)} label="When" options={MOMENTS} />
    <Field
      {...ask(`${at}.minutes`)}
      label="Minutes since they left"
      hint="Default: no minimum after they left."
      kind="number"
      optional
    />
    <Field
      {...ask(`${at}.quietMinutes`)}
      label="Minutes of silence that count as leaving"
      hint="Default: 30 minutes. Reading alone is not activity."
      kind="number"
      optional
    />
    <IfUnknown ask={ask} at={at} />
  </>
)

const SINCE = [
  { value: 'trigger', label: 'since it started' },
  { value: 'ever', label: 'ever' },
  { value: 'days', label: 'in the last days' },
]

const Done = ({ ask, at }: RuleProps) => (
  <>
    <Field {...ask(`${at}.event`)} label="Event" list={EVENT_NAMES} />
    <Select {...ask(`${at}.since`)} label="When" options={SINCE} />
    <Field {...ask(`${at}.since.days`)} label="How many days" kind="number" optional />
  </>
)

const STATUSES = CONTACT_STATUSES.map((value) => ({ value, label: value }))

const FIELDS: Record<RuleKind, (props: RuleProps) => preact.JSX.Element> = {
  away: Away,
  seen: IfUnknown,
  notSeen: IfUnknown,
  done: Done,
  notDone: Done,
  tagHas: ({ ask, at }) => <Field {...ask(`${at}.has`)} label="Tag" />,
  tagLacks: ({ ask, at }) => <Field {...ask(`${at}.lacks`)} label="Tag" />,
  field: ({ ask, at }) => (
    <>
      <Field {...ask(`${at}.field`)} label="Field" />
      <Compared ask={ask} at={at} />
    </>
  ),
  status: ({ ask, at }) => <Select {...ask(`${at}.is`)} label="Status" options={STATUSES} />,
}
