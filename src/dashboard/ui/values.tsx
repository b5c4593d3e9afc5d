/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { CopyButton } from './copy.tsx'

/** Copyable values; one click selects all. `isCompact` is for lists of short values. */
export const Values = ({ isCompact, children }: { isCompact?: boolean; children: ComponentChildren }) => (
  <dl class={isCompact ? 'values compact' : 'values'}>{children}</dl>
)

/** `id` is unique on the page. */
export const Value = ({ id, name, children }: { id: string; name: string; children: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>
      <code class="whole" id={id}>
        {children}
      </code>
      <CopyButton from={id} what={name} />
    </dd>
  </div>
)

/** A name and a value, without copying. */
export const Fact = ({ name, children }: { name: ComponentChildren; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
