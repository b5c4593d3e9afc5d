import type { Expired } from '../../accounts/retention.ts'
import { type CountRange, type Counts, isCountRange } from '../../events/counts.ts'
import type { EventRow } from '../../events/events.ts'
import { pathOf } from '../layout/frame.tsx'
import type { Viewer } from '../layout/viewer.ts'

/** Time range and event name filter. */
export type EventsView = { range: CountRange; name: string | null }

export type CountsProps = { viewer: Viewer; view: EventsView; counts: Counts }

export type EventsProps = CountsProps & {
  rows: EventRow[]
  /** whether this is not the first page, which gets new events */
  isOld: boolean
  /** cursor of the next page */
  older: string | null
  /** data of the app that was deleted because of its age */
  expired: Expired
}

export function readView(query: URLSearchParams): EventsView {
  const range = query.get('range') ?? ''
  return { range: isCountRange(range) ? range : 'hours', name: query.get('event') || null }
}

function writeView({ range, name }: EventsView): URLSearchParams {
  const query = new URLSearchParams()
  if (range !== 'hours') query.set('range', range)
  if (name !== null) query.set('event', name)
  return query
}

export const feedPath = (appId: string, view: EventsView): string => `${pathOf(appId, 'feed')}?${writeView(view)}`

export function eventsPath(appId: string, view: EventsView, before: string | null = null): string {
  const query = writeView(view)
  if (before !== null) query.set('before', before)
  return pathOf(appId, 'events') + (query.size === 0 ? '' : `?${query}`)
}

/** All events, or those of the name. */
export const exportPath = (appId: string, { name }: EventsView): string =>
  `${pathOf(appId, 'events')}/export${name === null ? '' : `?${new URLSearchParams({ event: name })}`}`
