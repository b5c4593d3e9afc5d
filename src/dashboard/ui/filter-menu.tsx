/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { Button } from './button.tsx'

/** Fields that belong together. */
export const FilterGroup = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <fieldset class="filter-group">
    <legend>{title}</legend>
    {children}
  </fieldset>
)

/** A button that opens the filters of a list, inside their form. Chips show those in use. */
export const FilterMenu = ({ isOpen, children }: { isOpen?: boolean; children: ComponentChildren }) => (
  <details class="filter-menu" open={isOpen}>
    <summary class="button plain">Filter</summary>
    <div class="filter-fields">
      {children}
      <Button kind="primary">Apply filters</Button>
    </div>
  </details>
)
