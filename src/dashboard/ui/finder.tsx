/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { Button, HiddenFields } from './button.tsx'
import { Icon } from './icon.tsx'

type FinderProps = {
  action: string
  /** `post` keeps emails out of URLs and logs */
  method: 'get' | 'post'
  name: string
  /** for screen readers */
  label: string
  placeholder: string
  value: string
  hidden?: Record<string, string>
  required?: boolean
  /** other buttons of the form */
  children?: ComponentChildren
}

/** The search of a list. */
export const Finder = ({ action, method, name, label, value, hidden = {}, children, ...input }: FinderProps) => (
  <form class="finder" role="search" method={method} action={action}>
    <HiddenFields fields={hidden} />
    <div class="field">
      <label for={name} class="unseen">
        {label}
      </label>
      <Icon name="search" />
      <input
        id={name}
        name={name}
        type="text"
        value={value}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        {...input}
      />
    </div>
    <Button>Find</Button>
    {children}
  </form>
)
