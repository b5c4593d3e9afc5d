/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { CopyButton } from './copy.tsx'

/** Values to copy, by a button or selected as a whole by one click; `isCompact` for many short ones beside something. */
export const Values = ({ isCompact, children }: { isCompact?: boolean; children: ComponentChildren }) => (
  <dl class={isCompact ? 'values compact' : 'values'}>{children}</dl>
)

/** `id` is this value's own on its page. */
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

/** A name and what it stands for, without anything to copy. */
export const Fact = ({ name, children }: { name: ComponentChildren; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
