/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

type FieldProps = {
  name: string
  label: string
  kind?: 'text' | 'email' | 'password'
  hint?: ComponentChildren
  error?: string
  value?: string
  optional?: boolean
  autofocus?: boolean
  autocomplete: string
}

/** A field with its label, its hint and what is wrong with it, read together by a screen reader. */
export function Field(props: FieldProps) {
  const { name, label, hint, error, optional } = props
  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label for={name}>
        {label}
        {optional && <span class="hint"> (optional)</span>}
      </label>
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="fault" id={`${name}-fault`}>
          <span class="unseen">Error: </span>
          {error}
        </p>
      )}
      <Input {...props} />
    </div>
  )
}

function Input({ name, kind = 'text', hint, error, value, optional, autofocus, autocomplete }: FieldProps) {
  const described = [hint ? `${name}-hint` : '', error ? `${name}-fault` : ''].filter((id) => id !== '').join(' ')
  const attributes = {
    id: name,
    name,
    value,
    required: !optional,
    autofocus,
    autocomplete,
    'aria-invalid': error ? ('true' as const) : undefined,
    'aria-describedby': described || undefined,
  }
  if (kind === 'password') return <input {...attributes} type="password" />
  // type="email" would rewrite what was typed before it is sent
  const inputmode = kind === 'email' ? ('email' as const) : undefined
  return <input {...attributes} type="text" inputmode={inputmode} autocapitalize="none" spellcheck={false} />
}

/** The one action that matters on a page. */
export const PrimaryButton = ({ children }: { children: ComponentChildren }) => (
  <button class="primary" type="submit">
    {children}
  </button>
)

/** What the reader must not miss. */
export const Notice = ({ kind, children }: { kind: 'error' | 'caution'; children: ComponentChildren }) => (
  <div class={`notice ${kind}`} role={kind === 'error' ? 'alert' : undefined}>
    {children}
  </div>
)

/** Values to copy, each selected as a whole by one click. */
export const Values = ({ children }: { children: ComponentChildren }) => <dl class="values">{children}</dl>

export const Value = ({ name, children }: { name: string; children: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>
      <code class="whole">{children}</code>
    </dd>
  </div>
)

/** Lines to copy as a whole; long ones scroll, also by keyboard. */
export const CodeBlock = ({ label, children }: { label: string; children: string }) => (
  <pre class="whole" tabindex={0} role="region" aria-label={label}>
    <code>{children}</code>
  </pre>
)
