/** @jsxImportSource preact */
import { isRuleKind, type RuleKind } from './message-rule-form.ts'
import {
  type Ask,
  Compared,
  EVENT_NAMES,
  FIELD_NAMES,
  JoinedByOr,
  MoreFields,
  type PartProps,
  PROPERTY_NAMES,
  TAG_NAMES,
} from './message-when.tsx'
import { CONTACT_STATUSES } from '../../store/types.ts'
import { STATUSES as PERSON_STATUSES } from '../people/person-labels.tsx'
import { Button } from '../ui/button.tsx'
import { Select } from '../ui/choice.tsx'
import { Field } from '../ui/field.tsx'

type RuleFieldsProps = PartProps & { rows: number[]; kind: string }

/** Fields of one sentence: of one rule, of two rules about leaving, or of field rules joined by "or". */
export function RuleFields({ ask, path, rows, kind }: RuleFieldsProps) {
  const [first = 0, later] = rows
  const at = `onlyIf[${first}]`
  if (!isRuleKind(kind)) return <p class="hint">This rule is unknown. Remove it.</p>
  if (kind === 'field') return <FieldAlternatives ask={ask} path={path} rows={rows} />
  return later === undefined ? (
    FIELDS[kind]({ ask, at })
  ) : (
    <AwayTwice ask={ask} before={at} later={`onlyIf[${later}]`} />
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
  { value: 'sending', label: 'at send time' },
  { value: 'trigger', label: 'at the trigger' },
]

const Minutes = ({ ask, at, label }: RuleProps & { label: string }) => (
  <Field
    {...ask(`${at}.minutes`)}
    label={label}
    hint="If fewer, it isn't sent. Empty: no minimum."
    kind="number"
    optional
  />
)

const Quiet = ({ ask, at }: RuleProps) => (
  <Field
    {...ask(`${at}.quietMinutes`)}
    label="Minutes of inactivity that count as leaving"
    hint="Default: 30 minutes. Reading without clicking counts as inactive."
    kind="number"
    optional
  />
)

const Away = ({ ask, at }: RuleProps) => (
  <>
    <Select {...ask(`${at}.at`)} label="When" options={MOMENTS} />
    <Minutes ask={ask} at={at} label="Minutes since they left" />
    <MoreFields ask={ask} names={[`${at}.quietMinutes`, `${at}.ifUnknown`]}>
      <Quiet ask={ask} at={at} />
      <IfUnknown ask={ask} at={at} />
    </MoreFields>
  </>
)

/** Away at the trigger, and still away at send time. */
const AwayTwice = ({ ask, before, later }: { ask: Ask; before: string; later: string }) => (
  <>
    <input type="hidden" name={`${before}.at`} value="trigger" />
    <input type="hidden" name={`${later}.at`} value="sending" />
    <Minutes ask={ask} at={before} label="Minutes away before the trigger" />
    <Minutes ask={ask} at={later} label="Minutes away before sending" />
    <MoreFields ask={ask} names={[before, later].flatMap((at) => [`${at}.quietMinutes`, `${at}.ifUnknown`])}>
      {[
        { at: before, title: 'At the trigger' },
        { at: later, title: 'At send time' },
      ].map(({ at, title }) => (
        <fieldset key={at}>
          <legend>{title}</legend>
          <Quiet ask={ask} at={at} />
          <IfUnknown ask={ask} at={at} />
        </fieldset>
      ))}
    </MoreFields>
  </>
)

const SINCE = [
  { value: 'trigger', label: 'since the trigger' },
  { value: 'ever', label: 'at any time' },
  { value: 'days', label: 'in the last N days' },
]

const Done = ({ ask, at }: RuleProps) => (
  <>
    <Field {...ask(`${at}.event`)} label="Event" list={EVENT_NAMES} />
    <div class="beside">
      <Select {...ask(`${at}.since`)} label="When" options={SINCE} />
      <Field {...ask(`${at}.since.days`)} label="Days" kind="number" optional />
    </div>
    <MoreFields ask={ask} names={[`${at}.same`]}>
      <Field
        {...ask(`${at}.same`)}
        label="With the same property"
        hint="Such as invoiceId: another invoice doesn't count."
        list={PROPERTY_NAMES}
        optional
      />
    </MoreFields>
  </>
)

const FieldRow = ({ ask, at }: RuleProps) => (
  <>
    <Field {...ask(`${at}.field`)} label="Field" list={FIELD_NAMES} />
    <Compared ask={ask} at={at} />
  </>
)

function FieldAlternatives({ ask, path, rows }: PartProps & { rows: number[] }) {
  const { isLocked } = ask('onlyIf')
  return (
    <>
      {rows.map((row, index) => (
        <fieldset key={row} class="rule">
          <legend>{rows.length === 1 ? 'Where' : index === 0 ? 'Either' : 'Or'}</legend>
          <JoinedByOr ask={ask} at={`onlyIf[${row}]`} />
          <div class="beside">
            <FieldRow ask={ask} at={`onlyIf[${row}]`} />
          </div>
          {rows.length > 1 && !isLocked && (
            <Button name="do" value={`remove onlyIf ${row}`} formaction={`${path}#sentence`}>
              Remove<span class="unseen">{` alternative ${index + 1}`}</span>
            </Button>
          )}
        </fieldset>
      ))}
      {!isLocked && (
        <Button name="do" value={`either onlyIf ${rows.join(' ')}`} formaction={`${path}#sentence`}>
          Add an alternative
        </Button>
      )}
    </>
  )
}

const STATUSES = CONTACT_STATUSES.map((value) => ({ value, label: PERSON_STATUSES[value].word }))

const FIELDS: Record<Exclude<RuleKind, 'field'>, (props: RuleProps) => preact.JSX.Element> = {
  away: Away,
  seen: IfUnknown,
  notSeen: IfUnknown,
  done: Done,
  notDone: Done,
  tagHas: ({ ask, at }) => <Field {...ask(`${at}.has`)} label="Tag" list={TAG_NAMES} />,
  tagLacks: ({ ask, at }) => <Field {...ask(`${at}.lacks`)} label="Tag" list={TAG_NAMES} />,
  status: ({ ask, at }) => <Select {...ask(`${at}.is`)} label="Status" options={STATUSES} />,
}
