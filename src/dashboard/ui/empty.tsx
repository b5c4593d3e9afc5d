/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

/** What this is, why it is empty, and the next step. */
export const EmptyState = ({
  title,
  children,
  next,
}: {
  title: string
  children: ComponentChildren
  next?: ComponentChildren
}) => (
  <div class="empty">
    <h2>{title}</h2>
    <p>{children}</p>
    {next}
  </div>
)
