/** @jsxImportSource preact */
import { render } from 'preact-render-to-string'
import { publicId, readPublicId } from '../../core/ids.ts'
import { listDeliveries, type ListedDelivery } from '../../deliveries/delivery-lists.ts'
import { streamChanges } from '../layout/stream.ts'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'
import { Zone } from '../ui/time.tsx'
import { State } from './deliveries-page.tsx'
import { isNarrowed, readAddress, toFilter } from './deliveries-view.ts'
import { DeliveryRow } from './delivery-row.tsx'

/** Rows per page. The page stays below 2,000 pixels. */
export const PAGE_ROWS = 36

/** What a row shows besides what never changes. */
const stateOf = ({ work: { delivery } }: ListedDelivery): string =>
  [delivery.state, delivery.reason, delivery.updatedAt, delivery.cameBackAt, delivery.openedAt].join(' ')

function renderRows(
  { app }: Viewer,
  rows: ListedDelivery[],
  { now, hasGap }: { now: number; hasGap: boolean },
): string {
  return render(
    <Zone.Provider value={app.timezone}>
      {rows.map((row) => (
        <DeliveryRow key={row.work.delivery.id} appId={app.publicId} row={row} now={now} />
      ))}
      {hasGap && <li class="gap">Some deliveries aren't shown here. Go to older pages to see them.</li>}
    </Zone.Provider>,
  )
}

/** Streams new deliveries that match the filters, and what became of those on the first page. */
export function followDeliveries(deps: PageDependencies, request: Request, viewer: Viewer): Response {
  const { store, clock } = deps
  const given = request.headers.get('last-event-id') ?? new URL(request.url).searchParams.get('after') ?? ''
  const view = readAddress(request.url)
  const filter = toFilter(view, viewer.app.timezone)
  let after = readPublicId('dlv', given) ?? 0
  let shown: Map<number, string> | null = null
  return streamChanges(deps, request, viewer, async (send) => {
    const { deliveries } = await listDeliveries(store, viewer.app, { ...filter, limit: PAGE_ROWS })
    const now = clock.now()
    const fresh = deliveries.filter(({ work }) => work.delivery.id > after)
    const changed = deliveries.filter((one) => {
      const { id } = one.work.delivery
      return id <= after && (shown === null || shown.get(id) !== stateOf(one))
    })
    shown = new Map(deliveries.map((one) => [one.work.delivery.id, stateOf(one)]))
    if (changed.length > 0)
      send({ name: 'changed', data: { html: renderRows(viewer, changed, { now, hasGap: false }) } })
    const [newest] = fresh
    if (!newest) return
    const hasGap = fresh.length === PAGE_ROWS && after !== 0
    after = newest.work.delivery.id
    const cursor = publicId('dlv', after)
    const data = { html: renderRows(viewer, fresh, { now, hasGap }), count: fresh.length, cursor }
    send({ name: 'rows', data, id: cursor })
    const count = await store.countMatching({ ...filter, appId: viewer.app.id })
    send({ name: 'counts', data: { state: render(<State count={count} isNarrowed={isNarrowed(view)} />), chart: '' } })
  })
}
