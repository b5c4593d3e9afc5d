/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { describedBy, FieldFrame, type FieldProps } from './field.tsx'

export type Option = { value: string; label: string; hint?: ComponentChildren }

type SelectProps = Pick<FieldProps, 'name' | 'label' | 'hint' | 'error' | 'value' | 'isLocked'> & { options: Option[] }

/** Options without descriptions. */
export const Select = (props: SelectProps) => (
  <FieldFrame {...props}>
    <select id={props.name} name={props.name} disabled={props.isLocked} aria-describedby={describedBy(props)}>
      {props.options.map(({ value, label }) => (
        <option key={value} value={value} selected={value === props.value}>
          {label}
        </option>
      ))}
    </select>
  </FieldFrame>
)

type RadiosProps = { name: string; label: string; value: string; error?: string; options: Option[] }

/** Options with a description each. */
export const Radios = ({ name, label, value, error, options }: RadiosProps) => (
  <fieldset class={error ? 'field wrong' : 'field'}>
    <legend>{label}</legend>
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

type ToggleProps = { name: string; label: string; hint?: ComponentChildren; isOn: boolean; isLocked?: boolean }

/** A checkbox shown as a switch. */
export const Toggle = ({ name, label, hint, isOn, isLocked }: ToggleProps) => (
  <label class="toggle">
    <input type="checkbox" role="switch" name={name} checked={isOn} disabled={isLocked} />
    <span>
      {label}
      {hint && <span class="hint">{hint}</span>}
    </span>
  </label>
)
