/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { ButtonLink } from './button.tsx'
import { Notice } from './notice.tsx'
import { Value, Values } from './values.tsx'

type SecretProps = {
  /** omitted if a code block in the children shows them */
  secrets: { id: string; name: string; text: string }[]
  /** what can't be shown again, and why */
  warning: ComponentChildren
  /** target of "I have stored it", if any */
  next?: string
  /** label of that link */
  confirmLabel?: string
  /** how to store it */
  children?: ComponentChildren
}

export const SecretOnce = ({ secrets, warning, next, confirmLabel, children }: SecretProps) => (
  <div class="secret" data-next={next}>
    <Notice kind="caution">{warning}</Notice>
    {secrets.length > 0 && (
      <Values>
        {secrets.map(({ id, name, text }) => (
          <Value key={id} id={id} name={name}>
            {text}
          </Value>
        ))}
      </Values>
    )}
    {children}
    {next && (
      <ButtonLink kind="primary" href={next}>
        {confirmLabel ?? (secrets.length === 1 ? 'I have stored it' : 'I have stored them')}
      </ButtonLink>
    )}
  </div>
)
