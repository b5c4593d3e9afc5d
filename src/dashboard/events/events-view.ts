import { type CountRange, type Counts, isCountRange } from '../../events/counts.ts'
import type { EventRow } from '../../events/events.ts'
import { pathOf } from '../layout/frame.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** What is looked at: so far back, and all names or one. */
export type EventsView = { range: CountRange; name: string | null }

export type CountsProps = { viewer: Viewer; view: EventsView; counts: Counts }

export type EventsProps = CountsProps & {
  rows: EventRow[]
  /** not the first page, to which new ones come */
  isOld: boolean
  /** the cursor of the page after */
  older: string | null
}

/** What an address asks to look at. */
export function readView(query: URLSearchParams): EventsView {
  const range = query.get('range') ?? ''
  return { range: isCountRange(range) ? range : 'hours', name: query.get('event') || null }
}

/** The part of an address that asks for a view. */
function writeView({ range, name }: EventsView): URLSearchParams {
  const query = new URLSearchParams()
  if (range !== 'hours') query.set('range', range)
  if (name !== null) query.set('event', name)
  return query
}

/** Where a view is followed; the cursor is put behind it. */
export const feedPath = (appId: string, view: EventsView): string => `${pathOf(appId, 'feed')}?${writeView(view)}`

/** Where a view of the events is. */
export function eventsPath(appId: string, view: EventsView, before: string | null = null): string {
  const query = writeView(view)
  if (before !== null) query.set('before', before)
  return pathOf(appId, 'events') + (query.size === 0 ? '' : `?${query}`)
}
