/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { Ticked } from './text.tsx'

export type FieldProps = {
  name: string
  /** this field's own on its page, where another form has one of the same name */
  id?: string
  label: string
  /** `lines` takes one value a line, `prose` a text of many, `code` digits that stand for no number */
  kind?: 'text' | 'email' | 'password' | 'number' | 'code' | 'lines' | 'prose'
  /** the id of a datalist with what is offered */
  list?: string
  hint?: ComponentChildren
  error?: string
  value?: string
  optional?: boolean
  autofocus?: boolean
  /** seen, and not changed by who looks */
  isLocked?: boolean
  autocomplete: string
}

const PROSE_ROWS = 14

/** A field with its label, its hint and what is wrong with it, read together by a screen reader. */
export const Field = (props: FieldProps) => (
  <FieldFrame {...props}>
    <Input {...props} />
  </FieldFrame>
)

type FrameProps = Pick<FieldProps, 'name' | 'id' | 'label' | 'hint' | 'error' | 'optional'> & {
  children: ComponentChildren
}

/** What stands around any control that has one label. */
export const FieldFrame = ({ name, id = name, label, hint, error, optional, children }: FrameProps) => (
  <div class={error ? 'field wrong' : 'field'}>
    <label for={id}>
      {label}
      {optional && <span class="hint"> (optional)</span>}
    </label>
    {hint && (
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    )}
    {error && (
      <p class="fault" id={`${id}-fault`}>
        <span class="unseen">Error: </span>
        <Ticked>{error}</Ticked>
      </p>
    )}
    {children}
  </div>
)

/** The ids of what is read after the label. */
export const describedBy = ({
  name,
  id = name,
  hint,
  error,
}: Pick<FieldProps, 'name' | 'id' | 'hint' | 'error'>): string | undefined =>
  [hint ? `${id}-hint` : '', error ? `${id}-fault` : ''].filter((id) => id !== '').join(' ') || undefined

/** Which keys a phone offers. */
const INPUT_MODES = { email: 'email', number: 'decimal', code: 'numeric', text: undefined } as const

function Input(props: FieldProps) {
  const { name, id = name, kind = 'text', error, value, optional, autofocus, isLocked, autocomplete, list } = props
  const attributes = {
    id,
    name,
    value,
    required: !optional,
    autofocus,
    readOnly: isLocked,
    autocomplete,
    'aria-invalid': error ? ('true' as const) : undefined,
    'aria-describedby': describedBy(props),
  }
  if (kind === 'lines') return <textarea {...attributes} rows={3} autocapitalize="none" spellcheck={false} />
  // a browser leaves the first line feed of a text out
  if (kind === 'prose') return <textarea {...attributes} value={`\n${value ?? ''}`} rows={PROSE_ROWS} />
  if (kind === 'password') return <input {...attributes} type="password" />
  // type="email" would rewrite what was typed before it is sent
  const inputmode = INPUT_MODES[kind]
  return (
    <input {...attributes} type="text" inputmode={inputmode} list={list} autocapitalize="none" spellcheck={false} />
  )
}
