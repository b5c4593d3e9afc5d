import type { CountRange, Counts } from '../core/counts.ts'
import type { EventRow } from '../core/events.ts'
import { pathOf } from './frame.tsx'
import type { Viewer } from './viewer.ts'

/** What is looked at: so far back, and all names or one. */
type EventsView = { range: CountRange; name: string | null }

export type EventsProps = {
  viewer: Viewer
  view: EventsView
  counts: Counts
  rows: EventRow[]
  /** not the first page, to which new ones come */
  isOld: boolean
  /** the cursor of the page after */
  older: string | null
}

/** Where a view of the events is. */
export function eventsPath(appId: string, { range, name }: EventsView, before: string | null = null): string {
  const query = new URLSearchParams()
  if (range !== 'hours') query.set('range', range)
  if (name !== null) query.set('event', name)
  if (before !== null) query.set('before', before)
  return pathOf(appId, 'events') + (query.size === 0 ? '' : `?${query}`)
}
