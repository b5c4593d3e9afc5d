/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import type { Expired } from '../../accounts/retention.ts'
import { upperFirst } from '../../core/text.ts'
import { formatDate } from '../../core/format-time.ts'
import { pathOf } from './frame.tsx'
import type { Viewer } from './viewer.ts'

type NoteProps = {
  viewer: Viewer
  expired: Expired
  /** when the shown data begins (ms UTC) */
  since: number
  children?: ComponentChildren
}

/** Which of the shown data was deleted because of its age; nothing where none was. */
export function DeletedNote({ viewer: { app }, expired, since, children }: NoteProps) {
  const text = describeExpired(expired, since, app.timezone)
  if (text === null) return null
  return (
    <p class="hint">
      {`${text} `}
      {children}
      <a href={`${pathOf(app.publicId, 'settings')}#retention`}>Data retention</a>
    </p>
  )
}

/** "Events up to 3 May 2026 were deleted because of their age." */
function describeExpired({ eventsUntil, pageViewsUntil }: Expired, since: number, timezone: string): string | null {
  const dateOf = (until: number | null) => (until === null || until < since ? null : formatDate(until, timezone))
  const [events, views] = [dateOf(eventsUntil), dateOf(pageViewsUntil)]
  const kinds =
    events !== null && events === views
      ? [`events and page views up to ${events}`]
      : [
          ...(events === null ? [] : [`events up to ${events}`]),
          ...(views === null ? [] : [`page views up to ${views}`]),
        ]
  return kinds.length === 0 ? null : `${upperFirst(kinds.join(' and '))} were deleted because of their age.`
}
