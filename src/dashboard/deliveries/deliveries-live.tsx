/** @jsxImportSource preact */
import { render } from 'preact-render-to-string'
import { publicId } from '../../core/ids.ts'
import {
  describeDeliveries,
  type DeliveryRow as Delivery,
  type ListedDelivery,
} from '../../deliveries/delivery-lists.ts'
import { type Send, streamChanges } from '../layout/stream.ts'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'
import { Zone } from '../ui/time.tsx'
import { ListFoot, State } from './deliveries-page.tsx'
import { isNarrowed, readAddress, toFilter } from './deliveries-view.ts'
import { DeliveryRow } from './delivery-row.tsx'

/** Rows per page. The page stays below 2,000 pixels. */
export const PAGE_ROWS = 36

/** Minimum time between reads of an open page: a read takes up to 5 ms with a million deliveries. */
export const READ_EVERY_MS = 1_000

/** The parts of a row that can change. */
const stateOf = ({ state, reason, updatedAt, cameBackAt, openedAt }: Delivery): string =>
  [state, reason, updatedAt, cameBackAt, openedAt].join(' ')

const renderRows = ({ app }: Viewer, rows: ListedDelivery[], now: number): string =>
  render(
    <Zone.Provider value={app.timezone}>
      {rows.map((row) => (
        <DeliveryRow key={row.work.delivery.id} appId={app.publicId} row={row} now={now} />
      ))}
    </Zone.Provider>,
  )

/** Streams what a reload of the first page would show, and the changes of rows that have moved off it. */
export function followDeliveries(deps: PageDependencies, request: Request, viewer: Viewer): Response {
  const { store, clock } = deps
  const { app } = viewer
  const view = readAddress(request.url)
  const filter = { ...toFilter(view, app.timezone), appId: app.id }
  /** the page first, then rows that were on it */
  let shown = new Map<number, string>()
  let [page, counts] = ['', '']

  const readPage = async () => {
    const [found, count] = await Promise.all([
      store.listDeliveries({ ...filter, limit: PAGE_ROWS + 1 }),
      store.countMatching(filter),
    ])
    const rows = found.slice(0, PAGE_ROWS)
    const onPage = new Set(rows.map(({ id }) => id))
    const others = await store.listDeliveriesById([...shown.keys()].filter((id) => !onPage.has(id)).slice(0, PAGE_ROWS))
    const all = [...rows, ...others]
    const changed = all.filter((row) => shown.get(row.id) !== stateOf(row))
    shown = new Map(all.map((row) => [row.id, stateOf(row)]))
    const older = found.length > PAGE_ROWS ? (rows.at(-1)?.id ?? null) : null
    return { rows, count, older, changed: await describeDeliveries(store, app, changed) }
  }
  const sendPage = async (send: Send): Promise<void> => {
    const { rows, count, older, changed } = await readPage()
    const ids = rows.map(({ id }) => publicId('dlv', id))
    const end = older === null ? '' : publicId('dlv', older)
    const next = [...ids, end].join()
    if (changed.length > 0 || next !== page)
      send({ name: 'page', data: { ids, end, html: renderRows(viewer, changed, clock.now()) } })
    page = next
    const parts = {
      state: render(<State count={count} isNarrowed={isNarrowed(view)} />),
      foot: render(<ListFoot appId={app.publicId} view={view} count={count} older={older} isFirst />),
    }
    if (counts !== JSON.stringify(parts)) send({ name: 'counts', data: { ...parts, chart: '' } })
    counts = JSON.stringify(parts)
  }
  return streamChanges(deps, request, viewer, sendPage, READ_EVERY_MS)
}
