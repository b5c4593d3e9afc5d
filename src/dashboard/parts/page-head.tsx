/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

/** Where am I, what is the state, what can I do next. */
export const PageHead = ({
  title,
  state,
  action,
}: {
  title: string
  state: ComponentChildren
  action?: ComponentChildren
}) => (
  <header class="page-head">
    <div>
      <h1>{title}</h1>
      <p class="lead">{state}</p>
    </div>
    {action && <div class="action">{action}</div>}
  </header>
)
