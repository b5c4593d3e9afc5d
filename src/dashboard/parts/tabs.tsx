/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

export type Tab = { id: string; name: string; content: ComponentChildren }

/** One of several views of the same, switched without script. `name` is this group's own on its page. */
export const Tabs = ({ name, label, tabs }: { name: string; label: string; tabs: Tab[] }) => (
  <fieldset class="tabs">
    <legend class="unseen">{label}</legend>
    {tabs.map((tab, index) => (
      <>
        <input type="radio" class="unseen" id={`${name}-${tab.id}`} name={name} value={tab.id} checked={index === 0} />
        <label for={`${name}-${tab.id}`}>{tab.name}</label>
        <div class="panel">{tab.content}</div>
      </>
    ))}
  </fieldset>
)
