/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

type FoldingProps = { id: string; title: string; isFolded: boolean; isOpen?: boolean; children: ComponentChildren }

/** A section that folds once it is no longer needed. Links to `id` unfold it. */
export const Folding = ({ id, title, isFolded, isOpen = false, children }: FoldingProps) =>
  isFolded ? (
    <details class="folding" open={isOpen}>
      <summary>
        <h2>{title}</h2>
      </summary>
      <section id={id} aria-label={title}>
        {children}
      </section>
    </details>
  ) : (
    <section id={id}>
      <h2>{title}</h2>
      {children}
    </section>
  )
