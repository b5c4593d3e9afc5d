/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { describedBy, FieldFrame, type FieldProps, useField } from './field.tsx'

export type Option = { value: string; label: string; hint?: ComponentChildren }

type SelectProps = Pick<FieldProps, 'name' | 'label' | 'hint' | 'error' | 'value' | 'isLocked'> & { options: Option[] }

/** Options without descriptions. */
export function Select(own: SelectProps) {
  const props = useField<SelectProps>(own)
  const { id = props.name } = props
  return (
    <FieldFrame {...props}>
      <select id={id} name={props.name} disabled={props.isLocked} aria-describedby={describedBy(props)}>
        {props.options.map(({ value, label }) => (
          <option key={value} value={value} selected={value === props.value}>
            {label}
          </option>
        ))}
      </select>
    </FieldFrame>
  )
}

/** `isLabelUnseen`: the heading above says it. */
type RadiosProps = {
  name: string
  label: string
  isLabelUnseen?: boolean
  value: string
  error?: string
  options: Option[]
}

/** Options with a description each. */
export function Radios({ options, ...own }: RadiosProps) {
  const { name, label, isLabelUnseen, value, error } = useField<Omit<RadiosProps, 'options'>>(own)
  return (
    <fieldset class={error ? 'field wrong' : 'field'}>
      <legend class={isLabelUnseen ? 'unseen' : undefined}>{label}</legend>
      {error && <p class="fault">{error}</p>}
      {options.map((option) => (
        <label key={option.value} class="option">
          <input type="radio" name={name} value={option.value} checked={option.value === value} />
          <span>
            {option.label}
            {option.hint && <span class="hint">{option.hint}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  )
}

type ToggleProps = { name: string; label: string; hint?: ComponentChildren; isOn: boolean; isLocked?: boolean }

/** A checkbox shown as a switch. */
export function Toggle(own: ToggleProps) {
  const { name, label, hint, isOn, isLocked } = useField<ToggleProps>(own)
  return (
    <label class="toggle">
      <input type="checkbox" role="switch" name={name} checked={isOn} disabled={isLocked} />
      <span>
        {label}
        {hint && <span class="hint">{hint}</span>}
      </span>
    </label>
  )
}
