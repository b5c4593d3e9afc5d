/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

export type Tab = { id: string; name: string; content: ComponentChildren }

type TabsProps = { name: string; label: string; tabs: Tab[]; selected?: string; isLocked?: boolean }

/**
 * One of several views of the same, switched without script. `name` is this group's own on its page; in a form it is
 * sent with the id of the one that is seen. Without `selected` that is the first.
 */
export const Tabs = ({ name, label, tabs, selected = tabs[0]?.id, isLocked }: TabsProps) => (
  <fieldset class="tabs">
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
  </fieldset>
)
