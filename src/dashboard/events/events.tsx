/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { readCounts } from '../../events/counts.ts'
import { exportEvents } from '../../events/events.ts'
import { listFollowing } from '../../deliveries/delivery-lists.ts'
import { listUnstarted } from '../../deliveries/message-explanations.ts'
import { publicId, readPublicId } from '../../core/ids.ts'
import { type Exported, exportRoutes } from '../access/export.tsx'
import { nameExport, pageAnswer } from '../layout/answers.ts'
import { openStream, showPage } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer } from '../layout/viewer.ts'
import { EventPage } from './event-page.tsx'
import { EventsPage } from './events-page.tsx'
import { followFeed } from './events-live.tsx'
import { readView } from './events-view.ts'
import { FEED_ROWS } from './feed.tsx'
import { missingAnswer } from '../layout/missing-page.tsx'

export const eventsRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/events', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showEvents(deps, request, viewer)),
    )
    .get('/apps/:app/feed', ({ request, params: { app } }) =>
      openStream(deps, request, app, (viewer) => followFeed(deps, request, viewer)),
    )
    .use(exportRoutes(deps, '/apps/:app/events/export', { page: 'events', find: findExported }))
    .get('/apps/:app/events/:event', ({ request, params: { app, event } }) =>
      showPage(deps, request, app, (viewer) => showEvent(deps, request, viewer, event)),
    )

async function showEvents(deps: PageDependencies, request: Request, viewer: Viewer): Promise<Response> {
  const { searchParams } = new URL(request.url)
  const view = readView(searchParams)
  const before = readPublicId('evt', searchParams.get('before') ?? '')
  const [counts, expired, { rows, next }] = await Promise.all([
    readCounts(deps, viewer.app, view.range, view.name),
    deps.store.findExpired(viewer.app.id),
    deps.store.listEvents({ appId: viewer.app.id, contactId: null, name: view.name, before, limit: FEED_ROWS }),
  ])
  const older = next === null ? null : publicId('evt', next)
  const page = <EventsPage {...{ viewer, view, counts, rows, older, expired }} isOld={before !== null} />
  return pageAnswer(request, 200, page)
}

function findExported(
  { store, clock }: Pick<PageDependencies, 'store' | 'clock'>,
  request: Request,
  { viewer: { app } }: { viewer: Viewer },
): Exported {
  const { name } = readView(new URL(request.url).searchParams)
  const filters = name === null ? [] : ['name']
  return {
    what: 'events',
    filters,
    pieces: exportEvents({ store }, app, { name }),
    file: { name: nameExport('events', { app, filters, now: clock.now() }), format: 'csv' },
  }
}

async function showEvent(
  { store, clock }: Pick<PageDependencies, 'store' | 'clock'>,
  request: Request,
  viewer: Viewer,
  event: string,
): Promise<Response> {
  const id = readPublicId('evt', event)
  const row = id === null ? null : await store.findEvent(viewer.app.id, id)
  const person = row && (await store.byId(row.contactId))
  if (!row || !person) return missingAnswer(request, viewer, 'event_unknown')
  const [mails, unstarted] = await Promise.all([
    listFollowing(store, viewer.app, row),
    listUnstarted(store, person, row),
  ])
  const shown = { viewer, row, person, mails, unstarted, now: clock.now() }
  const page = <EventPage {...shown} />
  return pageAnswer(request, 200, page)
}
