/** @jsxImportSource preact */
import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { FieldError } from '../../core/refusals.ts'
import { Ticked } from './text.tsx'

export type FieldProps = {
  name: string
  /** unique id, if another form has a field of this name */
  id?: string
  label: string
  /** `lines`: one value per line; `prose`: long text; `source`: HTML; `code`: digits that are not a number */
  kind?: 'text' | 'email' | 'password' | 'number' | 'code' | 'lines' | 'prose' | 'source' | 'file'
  /** height of `lines` */
  rows?: number
  /** id of a datalist */
  list?: string
  hint?: ComponentChildren
  error?: ComponentChildren
  value?: string
  /** language of the text, which may be written from right to left */
  lang?: string
  /** `unmarked`: optional, but the label doesn't say so */
  optional?: boolean | 'unmarked'
  /** after the label, in parentheses */
  mark?: string
  /** the value that applies while the field is empty */
  placeholder?: string
  autofocus?: boolean
  isLocked?: boolean
  autocomplete: string
}

const PROSE_ROWS = 14

export type FormError = Pick<FieldError, 'field' | 'message'>

type FormState = { errors: FormError[]; isLocked: boolean; ids?: string }

/** Set by `Form`. */
export const FormContext = createContext<FormState>({ errors: [], isLocked: false })

type FieldState = Pick<FieldProps, 'name' | 'id' | 'error' | 'autofocus' | 'isLocked'>

/** Adds what the form knows about a field. */
export function useField<Props extends FieldState>(props: Props): Props & FieldState {
  const { errors, isLocked, ids } = useContext(FormContext)
  const { name, id = ids && `${ids}-${name}` } = props
  const error = props.error ?? errors.find(({ field }) => field === name)?.message
  const autofocus = errors[0] ? errors[0].field === name : props.autofocus
  return { ...props, id, error, autofocus, isLocked: props.isLocked ?? isLocked }
}

/** Label, hint and error are linked for screen readers. */
export function Field(own: FieldProps) {
  const props = useField(own)
  return (
    <FieldFrame {...props}>
      <Input {...props} />
    </FieldFrame>
  )
}

type FrameProps = Pick<FieldProps, 'name' | 'id' | 'label' | 'hint' | 'error' | 'optional' | 'mark' | 'isLocked'> & {
  children: ComponentChildren
}

/** Wraps any control with a label. */
export const FieldFrame = ({ name, id = name, label, hint, error, optional, mark, isLocked, children }: FrameProps) => (
  <div class={error ? 'field wrong' : 'field'}>
    <label for={id}>
      {label}
      {optional === true && !isLocked && <span class="hint"> (optional)</span>}
      {mark && <span class="hint">{` (${mark})`}</span>}
    </label>
    {hint && (
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    )}
    {error && <Fault id={id} error={error} />}
    {children}
  </div>
)

/** `id`: of its field. */
export const Fault = ({ id, error }: { id: string; error: ComponentChildren }) => (
  <p class="fault" id={`${id}-fault`}>
    <span class="unseen">Error: </span>
    {typeof error === 'string' ? <Ticked>{error}</Ticked> : error}
  </p>
)

/** Ids of the hint and the error. */
export const describedBy = ({
  name,
  id = name,
  hint,
  error,
}: Pick<FieldProps, 'name' | 'id' | 'hint' | 'error'>): string | undefined =>
  [hint ? `${id}-hint` : '', error ? `${id}-fault` : ''].filter((id) => id !== '').join(' ') || undefined

/** Keyboard type on phones. */
const INPUT_MODES = { email: 'email', number: 'decimal', code: 'numeric', text: undefined } as const

const linesOf = (value = ''): number => value.split('\n').length

function Input(props: FieldProps) {
  const {
    name,
    id = name,
    kind = 'text',
    error,
    value,
    optional,
    autofocus,
    isLocked,
    autocomplete,
    list,
    lang,
    rows = 3,
    placeholder = isLocked && !value ? (kind === 'password' ? 'Not shown' : 'Not set') : undefined,
  } = props
  const attributes = {
    id,
    name,
    value,
    lang: lang || undefined,
    dir: lang === undefined ? undefined : ('auto' as const),
    required: !optional,
    autofocus,
    readOnly: isLocked,
    placeholder,
    autocomplete,
    'aria-invalid': error ? ('true' as const) : undefined,
    'aria-describedby': describedBy(props),
  }
  if (kind === 'lines')
    return <textarea {...attributes} rows={isLocked ? linesOf(value) : rows} autocapitalize="none" spellcheck={false} />
  // browsers drop the first line feed of a textarea
  if (kind === 'prose') return <textarea {...attributes} value={`\n${value ?? ''}`} rows={PROSE_ROWS} />
  if (kind === 'source') {
    const source = { ...attributes, value: `\n${value ?? ''}`, rows: PROSE_ROWS, class: 'source' }
    return <textarea {...source} autocapitalize="none" spellcheck={false} />
  }
  if (kind === 'file')
    return (
      <input
        id={id}
        name={name}
        type="file"
        accept=".csv,.txt,text/csv,text/plain"
        aria-describedby={describedBy(props)}
      />
    )
  if (kind === 'password') return <input {...attributes} type="password" />
  // type="email" would let the browser rewrite the input
  const inputmode = INPUT_MODES[kind]
  return (
    <input {...attributes} type="text" inputmode={inputmode} list={list} autocapitalize="none" spellcheck={false} />
  )
}

/** A day such as 2026-05-03, in forms that filter. */
export const DayField = ({ name, label, value }: { name: string; label: string; value: string }) => (
  <FieldFrame name={name} label={label}>
    <input id={name} name={name} type="date" value={value} />
  </FieldFrame>
)
