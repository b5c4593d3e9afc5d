/** @jsxImportSource preact */
import { render } from 'preact-render-to-string'
import { readCounts } from '../../events/counts.ts'
import type { EventRow } from '../../events/events.ts'
import { LATE_IDS, newestIdAt, publicId, readPublicId } from '../../core/ids.ts'
import { CountsChart, NamesList } from './counts-section.tsx'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'
import { State } from './events-page.tsx'
import { type EventsView, readView } from './events-view.ts'
import { FEED_ROWS, FeedRow } from './feed.tsx'
import { Zone } from '../ui/time.tsx'
import { createNewRows } from '../layout/new-rows.ts'
import { streamChanges } from '../layout/stream.ts'

/** Counting thousands of names takes 10 ms (store/counters.ts), so counts are sent rarely. */
const COUNTS_EVERY_MS = 10_000

/** Sent to islands/feed.ts: new rows, newest first, and the next cursor. */
type FeedRows = { html: string; count: number; cursor: string }
/** The page's counts as HTML. */
type FeedCounts = { state: string; chart: string; names: string }

/** Too many new rows to show; the list restarts. */
const Gap = () => <li class="gap">Some events aren't shown here. Go to older pages to see them.</li>

type NewRows = { rows: EventRow[]; hasGap: boolean }

async function findNewRows(
  { store }: Pick<PageDependencies, 'store'>,
  { app }: Viewer,
  name: string | null,
  newRows: ReturnType<typeof createNewRows>,
): Promise<NewRows> {
  const [after, newest] = [newRows.after(), newRows.newest()]
  const query = { appId: app.id, contactId: null, name, before: newRows.before(), after, limit: FEED_ROWS }
  const { rows, next } = await store.listEvents(query)
  const isCut = next !== null && (rows.at(-1)?.id ?? 0) > newest
  return { rows: newRows.take(rows), hasGap: isCut && newest !== 0 }
}

function renderRows({ app }: Viewer, { rows, hasGap }: NewRows, cursor: string): FeedRows {
  const html = render(
    <Zone.Provider value={app.timezone}>
      {rows.map((row) => (
        <FeedRow key={row.id} appId={app.publicId} row={row} />
      ))}
      {hasGap && <Gap />}
    </Zone.Provider>,
  )
  return { html, count: rows.length, cursor }
}

async function renderCounts(deps: PageDependencies, viewer: Viewer, view: EventsView): Promise<FeedCounts> {
  const shown = { viewer, view, counts: await readCounts(deps, viewer.app, view.range, view.name) }
  return {
    state: render(<State {...shown} />),
    chart: render(<CountsChart {...shown} />),
    names: render(<NamesList {...shown} />),
  }
}

/** Streams the app's events from a cursor. */
export function followFeed(deps: PageDependencies, request: Request, viewer: Viewer): Response {
  const { searchParams } = new URL(request.url)
  const given = request.headers.get('last-event-id') ?? searchParams.get('after') ?? ''
  const view = readView(searchParams)
  const newRows = createNewRows({
    ...deps,
    newest: readPublicId('evt', given) ?? 0,
    lateIds: LATE_IDS,
    newestNow: () => newestIdAt(deps.clock.now()),
  })
  let countsDueAt: number | null = null
  let countedAt = -Infinity
  return streamChanges(deps, request, viewer, async (send) => {
    const now = deps.clock.monotonicMs()
    const found = await findNewRows(deps, viewer, view.name, newRows)
    if (found.rows.length > 0) {
      const cursor = publicId('evt', newRows.newest())
      send({ name: 'rows', data: renderRows(viewer, found, cursor), id: cursor })
      countsDueAt ??= countedAt + COUNTS_EVERY_MS
    }
    if (countsDueAt === null) return
    if (now < countsDueAt) return countsDueAt - now
    countsDueAt = null
    countedAt = now
    send({ name: 'counts', data: await renderCounts(deps, viewer, view) })
  })
}
