/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { render } from 'preact-render-to-string'
import { writeCsvRow } from '../../core/csv.ts'
import { listShownAccounts } from '../../accounts/accounts.ts'
import { NO_APP, type RequestQuery, type RequestRow as Row } from '../../store/requests.ts'
import { type Exported, exportRoutes, nameFilters } from '../access/export.tsx'
import { nameExport, pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { findOrderFault, readDay } from '../layout/days.ts'
import { missingAnswer } from '../layout/missing-page.tsx'
import { openStream, showPage } from '../layout/require-member.tsx'
import { createNewRows } from '../layout/new-rows.ts'
import { streamChanges } from '../layout/stream.ts'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'
import { Zone } from '../ui/time.tsx'
import { appOf, describeCaller, type RequestNames } from './request-labels.tsx'
import { RequestPage } from './request-page.tsx'
import { requestPath, RequestRow } from './request-row.tsx'
import { RequestsPage, State } from './requests-page.tsx'
import {
  FILTER_NAMES,
  listFilters,
  NO_APP_NAME,
  OWN_OR_NO_APP,
  readView,
  type RequestsView,
  toFilter,
} from './requests-view.ts'

/** The page stays below 2,000 pixels. */
const PAGE_ROWS = 35
/** Rows that other instances may store while one stores a part of its log. */
const LATE_ROWS = 5_000
/** Matches no app. */
const UNKNOWN_APP = -1

export const requestsRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/requests', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showRequests(deps, request, viewer)),
    )
    .get('/apps/:app/requests-live', ({ request, params: { app } }) =>
      openStream(deps, request, app, (viewer) => followRequests(deps, request, viewer)),
    )
    .use(exportRoutes(deps, '/apps/:app/requests/export', { page: 'requests', find: findExported }))
    .get('/apps/:app/requests/:request', ({ request, params }) =>
      showPage(deps, request, params.app, (viewer) => showRequest(deps, request, viewer, params.request)),
    )

type Reads = Pick<PageDependencies, 'store'>

async function readNames({ store }: Reads, { account }: Viewer): Promise<RequestNames> {
  const [keys, apps] = await Promise.all([store.listKeys(account.id), store.listApps(account.id)])
  return { keys, apps }
}

async function toQuery({ store }: Reads, viewer: Viewer, view: RequestsView, names: RequestNames) {
  const accountIds = await listShownAccounts(store, viewer.account.id)
  const filter = toFilter(view, { appIds: listAppIds(view, viewer, names), zone: viewer.app.timezone })
  return { ...filter, accountIds, before: null, after: 0, limit: PAGE_ROWS } satisfies RequestQuery
}

function listAppIds({ app }: RequestsView, viewer: Viewer, { apps }: RequestNames): RequestQuery['appIds'] {
  if (app === '') return null
  if (app === NO_APP_NAME) return [NO_APP]
  if (app === OWN_OR_NO_APP) return [viewer.app.id, NO_APP]
  return [apps.find(({ publicId }) => publicId === app)?.id ?? UNKNOWN_APP]
}

async function showRequests(deps: PageDependencies, request: Request, viewer: Viewer): Promise<Response> {
  const { searchParams } = new URL(request.url)
  const wanted = (searchParams.get('id') ?? '').trim()
  const view = readView(searchParams)
  const names = await readNames(deps, viewer)
  const query = await toQuery(deps, viewer, view, names)
  if (wanted !== '' && (await deps.store.findRequests(query.accountIds, wanted)).length > 0)
    return redirectAnswer(requestPath(viewer.app.publicId, wanted))
  const before = Number(searchParams.get('before')) || null
  const found = await deps.store.listRequests({ ...query, before, limit: PAGE_ROWS + 1 })
  const rows = found.slice(0, PAGE_ROWS)
  const older = found.length > PAGE_ROWS ? (rows.at(-1)?.id ?? null) : null
  // if one page has all matches, counting them needs no second read of the whole log
  const isWhole = before === null && older === null
  const count = isWhole ? rows.reduce((sum, row) => sum + row.count, 0) : await deps.store.countRequests(query)
  const fault = findOrderFault(readDay(view.from), readDay(view.to))
  const page = { viewer, view, names, rows, count, wanted, fault, isOld: before !== null, older }
  return pageAnswer(request, fault ? 400 : 200, <RequestsPage {...page} />)
}

async function findExported(
  deps: PageDependencies,
  request: Request,
  { viewer }: { viewer: Viewer },
): Promise<Exported> {
  const names = await readNames(deps, viewer)
  const view = readView(new URL(request.url).searchParams)
  const filters = nameFilters(listFilters(view), FILTER_NAMES)
  return {
    what: `${view.kind === 'all' ? '' : `${view.kind} `}requests`,
    filters,
    pieces: exportRequests(deps, await toQuery(deps, viewer, view, names), names),
    file: { name: nameExport('requests', { app: viewer.app, filters, now: deps.clock.now() }), format: 'csv' },
  }
}

const EXPORT_ROWS = 500
const EXPORT_COLUMNS = [
  'time',
  'status',
  'code',
  'field',
  'method',
  'path',
  'tool',
  'caller',
  'app',
  'count',
  'requestId',
]

/** Newest first, as CSV, in pieces. `count`: identical refusals of one moment. */
async function* exportRequests({ store }: Reads, query: RequestQuery, names: RequestNames): AsyncGenerator<string> {
  yield writeCsvRow(EXPORT_COLUMNS)
  for (let before: number | null = null; ;) {
    const rows: Row[] = await store.listRequests({ ...query, before, limit: EXPORT_ROWS })
    yield rows.map((row) => writeCsvRow(toCells(row, names))).join('')
    const last = rows.at(-1)
    if (!last || rows.length < EXPORT_ROWS) return
    before = last.id
  }
}

const toCells = (row: Row, names: RequestNames): string[] => [
  new Date(row.at).toISOString(),
  String(row.status),
  row.code ?? '',
  row.field ?? '',
  row.method,
  row.path,
  row.tool ?? '',
  describeCaller(row.caller, names),
  appOf(row.appId, names)?.name ?? '',
  String(row.count),
  row.requestId,
]

async function showRequest(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  requestId: string,
): Promise<Response> {
  const accountIds = await listShownAccounts(deps.store, viewer.account.id)
  const rows = await deps.store.findRequests(accountIds, requestId)
  const [row] = rows
  if (!row) return missingAnswer(request, viewer, 'request_unknown')
  const names = await readNames(deps, viewer)
  const shown = { viewer, row, rows, names, now: deps.clock.now() }
  return pageAnswer(request, 200, <RequestPage {...shown} />)
}

/** Sent to islands/feed.ts, as new events are. */
function renderRows({ app }: Viewer, rows: Row[], names: RequestNames): { html: string; count: number } {
  const html = render(
    <Zone.Provider value={app.timezone}>
      {rows.map((row) => (
        <RequestRow key={row.id} appId={app.publicId} row={row} names={names} />
      ))}
    </Zone.Provider>,
  )
  return { html, count: rows.length }
}

/** Streams requests that match the filters, from a cursor. */
function followRequests(deps: PageDependencies, request: Request, viewer: Viewer): Response {
  const { searchParams } = new URL(request.url)
  const view = readView(searchParams)
  const newest = Number(request.headers.get('last-event-id') ?? searchParams.get('after')) || 0
  const newRows = createNewRows({ ...deps, newest, lateIds: LATE_ROWS })
  return streamChanges(deps, request, viewer, async (send) => {
    const names = await readNames(deps, viewer)
    const query = await toQuery(deps, viewer, view, names)
    const rows = newRows.take(await deps.store.listRequests({ ...query, after: newRows.after() }))
    if (rows.length === 0) return
    const cursor = String(newRows.newest())
    send({ name: 'rows', data: { ...renderRows(viewer, rows, names), cursor }, id: cursor })
    const state = render(<State view={view} count={await deps.store.countRequests(query)} />)
    send({ name: 'counts', data: { state, chart: '' } })
  })
}
