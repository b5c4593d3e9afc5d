/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { ButtonLink } from './button.tsx'
import { Notice } from './notice.tsx'
import { Value, Values } from './values.tsx'

type SecretProps = {
  /** none where a code block among the children holds them */
  secrets: { id: string; name: string; text: string }[]
  /** what will not come back, and why */
  warning: string
  /** where "I have stored it" leads; left out where the page itself goes on */
  next?: string
  /** what the reader says by going there */
  said?: string
  /** how to store it */
  children?: ComponentChildren
}

/** What is shown on this page and never again. */
export const SecretOnce = ({ secrets, warning, next, said, children }: SecretProps) => (
  <div class="once">
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
        {said ?? (secrets.length === 1 ? 'I have stored it' : 'I have stored them')}
      </ButtonLink>
    )}
  </div>
)
