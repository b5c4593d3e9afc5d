/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

export type ButtonKind = 'primary' | 'plain' | 'danger'

type ButtonProps = {
  kind?: ButtonKind
  /** sent with the form, where a form has several buttons */
  name?: string
  value?: string
  disabled?: boolean
  /** the id of the form it sends, where it stands outside, and where to */
  form?: string
  formaction?: string
  children: ComponentChildren
}

/** Sends its form. `primary` is the one action that matters on a page; `danger` says what it destroys. */
export const Button = ({ kind = 'plain', children, ...attributes }: ButtonProps) => (
  <button class={`button ${kind}`} type="submit" {...attributes}>
    {children}
  </button>
)

/** Goes somewhere, and looks like a button because that is the next step. */
export const ButtonLink = ({
  kind = 'plain',
  href,
  children,
}: Pick<ButtonProps, 'kind' | 'children'> & { href: string }) => (
  <a class={`button ${kind}`} href={href}>
    {children}
  </a>
)

/** A form that is nothing but its button. */
export const ActionForm = ({
  action,
  fields = {},
  ...button
}: ButtonProps & { action: string; fields?: Record<string, string> }) => (
  <form method="post" action={action}>
    <HiddenFields fields={fields} />
    <Button {...button} />
  </form>
)

export const HiddenFields = ({ fields }: { fields: Record<string, string> }) => (
  <>
    {Object.entries(fields).map(([name, value]) => (
      <input key={name} type="hidden" name={name} value={value} />
    ))}
  </>
)
