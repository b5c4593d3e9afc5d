/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { SentText } from './text.tsx'

/** Where am I, what is the state, what can I do next. A title may be a name that somebody made up. */
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
      <h1>
        <SentText>{title}</SentText>
      </h1>
      <p class="lead">{state}</p>
    </div>
    {action && <div class="action">{action}</div>}
  </header>
)
