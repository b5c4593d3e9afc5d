/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { type ListedCapture, readCaptured } from '../../mail/captured-mail.ts'
import { publicId, readPublicId } from '../../core/ids.ts'
import { pageAnswer } from '../layout/answers.ts'
import { showPage } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer } from '../layout/viewer.ts'
import { readMailState } from './mail-state.ts'
import { type Captured, OutboxPage } from './outbox-page.tsx'

const PAGE_ROWS = 50

export const outboxRoutes = (deps: PageDependencies) =>
  new Elysia().get('/apps/:app/outbox', ({ request, params: { app } }) =>
    showPage(deps, request, app, (viewer) => showOutbox(deps, request, viewer)),
  )

async function showOutbox(deps: PageDependencies, request: Request, viewer: Viewer): Promise<Response> {
  const before = readPublicId('dlv', new URL(request.url).searchParams.get('before') ?? '')
  const found = await deps.store.listCaptured(viewer.app.id, before, PAGE_ROWS + 1)
  const mails = await Promise.all(found.slice(0, PAGE_ROWS).map((listed) => readListed(deps, viewer, listed)))
  const last = found.length > PAGE_ROWS ? found[PAGE_ROWS - 1] : undefined
  const page = (
    <OutboxPage
      viewer={viewer}
      state={await readMailState(deps, viewer.app)}
      mails={mails.filter((mail) => mail !== null)}
      isFirst={before === null}
      older={last ? publicId('dlv', last.deliveryId) : null}
      now={deps.clock.now()}
    />
  )
  return pageAnswer(request, 200, page)
}

async function readListed(
  { store }: Pick<PageDependencies, 'store'>,
  { app }: Viewer,
  listed: ListedCapture,
): Promise<Captured | null> {
  const { deliveryId, createdAt: capturedAt, to, subject } = listed
  if (to !== null && subject !== null) return { deliveryId, to, subject, capturedAt }
  const found = await store.findCaptured(app.id, deliveryId)
  return found && { deliveryId, capturedAt, ...(await readCaptured(found)) }
}
