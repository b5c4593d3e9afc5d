/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { Time } from './time.tsx'

/** `followed`: one line per consequence. */
export type Moment = {
  id: string
  at: number
  what: ComponentChildren
  detail?: ComponentChildren
  followed?: ComponentChildren[]
}

/** Newest first. */
export const Timeline = ({ moments, now }: { moments: Moment[]; now: number }) => (
  <ol class="timeline">
    {moments.map(({ id, at, what, detail, followed = [] }) => (
      <li key={id}>
        <div>
          <span>{what}</span>
          <Time at={at} now={now} />
        </div>
        {detail && <p class="hint">{detail}</p>}
        {followed.length > 0 && (
          <ul class="followed">
            {followed.map((one, index) => (
              <li key={index}>{one}</li>
            ))}
          </ul>
        )}
      </li>
    ))}
  </ol>
)
