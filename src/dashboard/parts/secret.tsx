import type { ComponentChildren } from 'preact'
import { ButtonLink } from './button.tsx'
import { Notice } from './notice.tsx'
import { Value, Values } from './values.tsx'

type SecretProps = {
  secrets: { id: string; name: string; text: string }[]
  /** what will not come back, and why */
  children: ComponentChildren
  /** where "I have stored it" leads */
  next?: string
}

/** What is shown on this page and never again. */
export const SecretOnce = ({ secrets, children, next }: SecretProps) => (
  <div class="once">
    <Notice kind="caution">{children}</Notice>
    <Values>
      {secrets.map(({ id, name, text }) => (
        <Value key={id} id={id} name={name}>
          {text}
        </Value>
      ))}
    </Values>
    {next && (
      <ButtonLink kind="primary" href={next}>
        {secrets.length === 1 ? 'I have stored it' : 'I have stored them'}
      </ButtonLink>
    )}
  </div>
)
