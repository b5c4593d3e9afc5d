/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { Time } from './time.tsx'

export type Moment = { id: string; at: number; what: ComponentChildren; detail?: ComponentChildren }

/** What happened, newest first. */
export const Timeline = ({ moments, now }: { moments: Moment[]; now: number }) => (
  <ol class="timeline">
    {moments.map(({ id, at, what, detail }) => (
      <li key={id}>
        <div>
          <span>{what}</span>
          <Time at={at} now={now} />
        </div>
        {detail && <p class="hint">{detail}</p>}
      </li>
    ))}
  </ol>
)
