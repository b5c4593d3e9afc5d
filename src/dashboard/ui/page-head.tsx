/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { SentText } from './text.tsx'

/** Titles may contain user input. */
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
