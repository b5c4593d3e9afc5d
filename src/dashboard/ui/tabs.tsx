/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

export type Tab = { id: string; name: string; content: ComponentChildren }

type TabsProps = {
  name: string
  label: string
  tabs: Tab[]
  selected?: string
  isLocked?: boolean
  areLanguages?: boolean
  /** at the end of their line */
  children?: ComponentChildren
}

/** Views switched without scripts. `name` is unique on the page; a form sends the selected id under it.
 * The browser remembers a chosen language. */
export const Tabs = ({ name, label, tabs, selected = tabs[0]?.id, isLocked, areLanguages, children }: TabsProps) => (
  <fieldset class="tabs" data-languages={areLanguages ? '' : undefined}>
    <legend class="unseen">{label}</legend>
    {tabs.map((tab) => (
      <>
        <input
          type="radio"
          class="unseen"
          id={`${name}-${tab.id}`}
          name={name}
          value={tab.id}
          checked={tab.id === selected}
          disabled={isLocked}
        />
        <label for={`${name}-${tab.id}`}>{tab.name}</label>
        <div class="panel">{tab.content}</div>
      </>
    ))}
    {children}
  </fieldset>
)
