/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { ClockTime, CountdownTime, Time } from './time.tsx'

/** `kind`: a word for what it is. `isDue`: it is still to come. `followed`: one line per consequence. */
export type Moment = {
  id: string
  at: number
  kind?: string
  isDue?: boolean
  what: ComponentChildren
  detail?: ComponentChildren
  followed?: ComponentChildren[]
}

/** With a clock, under a heading with the day; otherwise with relative times. */
type TimelineProps = { moments: Moment[] } & ({ hasClock: true } | { hasClock?: false; now: number })

/** Newest first. */
export const Timeline = (props: TimelineProps) => (
  <ol class="timeline">
    {props.moments.map(({ id, at, kind, isDue = false, what, detail, followed = [] }) => (
      <li key={id}>
        <div>
          <span>
            {kind && <span class="kind">{kind}</span>}
            {what}
          </span>
          {props.hasClock ? (
            <ClockTime at={at} isDue={isDue} />
          ) : isDue ? (
            <CountdownTime at={at} over="now" now={props.now} />
          ) : (
            <Time at={at} now={props.now} />
          )}
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
