/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

export type ButtonKind = 'primary' | 'plain' | 'danger'

type ButtonProps = {
  kind?: ButtonKind
  /** value sent with the form */
  name?: string
  value?: string
  disabled?: boolean
  /** id and action of a form elsewhere on the page */
  form?: string
  formaction?: string
  'aria-keyshortcuts'?: string
  /** id of the section that its answer replaces, if it is in another one (islands/message.ts) */
  part?: string
  children: ComponentChildren
}

/** Submits its form. `primary`: the page's main action; `danger`: names what it destroys. */
export const Button = ({ kind = 'plain', part, children, ...attributes }: ButtonProps) => (
  <button class={`button ${kind}`} type="submit" data-for={part} {...attributes}>
    {children}
  </button>
)

/** A link that looks like a button. */
export const ButtonLink = ({
  kind = 'plain',
  href,
  children,
}: Pick<ButtonProps, 'kind' | 'children'> & { href: string }) => (
  <a class={`button ${kind}`} href={href}>
    {children}
  </a>
)

/** A form with a single button. */
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
