/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { type ListedCapture, readCaptured } from '../../mail/captured-mail.ts'
import { publicId, readPublicId } from '../../core/ids.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { describeDeliveries, NOT_LOOKED_UP, refusedBy, sendCaptured } from '../../deliveries/delivery-lists.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { flashCookie } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { onForm, showPage } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer, type Who } from '../layout/viewer.ts'
import { readMailState } from '../../monitoring/mail-state.ts'
import { type Captured, OutboxPage } from './outbox-page.tsx'
import { describeResent } from './resend-all.tsx'

const PAGE_ROWS = 36

const ALL_CAPTURED = { contactId: null, messageId: null, states: ['kept'] } as const

export const outboxRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/outbox', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showOutbox(deps, request, viewer)),
    )
    .post('/apps/:app/outbox/send', onForm(deps, { role: 'editor' }, sendAll), { parse: 'none' })

async function sendAll(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const until = readPublicId('dlv', form.text('until')) ?? 0
  const outcome = await sendCaptured(deps, viewer.app, { until, actor: viewer.member.id })
  if ('refusal' in outcome) return showOutbox(deps, request, viewer, REFUSALS[outcome.refusal])
  const path = pathOf(viewer.app.publicId, 'outbox')
  const rest = outcome.next === null ? path : `${path}?next=${publicId('dlv', outcome.next)}`
  const resent = describeResent('captured', outcome, await readMailState(deps, viewer.app))
  return redirectAnswer(rest, [flashCookie(deps.baseUrl, ...resent)])
}

async function showOutbox(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  problem?: { status: number; message: string },
): Promise<Response> {
  const query = new URL(request.url).searchParams
  const before = readPublicId('dlv', query.get('before') ?? '')
  const found = await deps.store.listCaptured(viewer.app.id, before, PAGE_ROWS + 1)
  const mails = await readAll(deps, viewer, found.slice(0, PAGE_ROWS))
  const last = found.length > PAGE_ROWS ? found[PAGE_ROWS - 1] : undefined
  const next = readPublicId('dlv', query.get('next') ?? '')
  const countUpTo = (newest: number | null) =>
    deps.store.countMatching({ ...ALL_CAPTURED, appId: viewer.app.id, before: newest === null ? null : newest + 1 })
  const page = (
    <OutboxPage
      viewer={viewer}
      state={await readMailState(deps, viewer.app)}
      mails={mails}
      isFirst={before === null}
      older={last ? publicId('dlv', last.deliveryId) : null}
      count={await countUpTo(null)}
      next={next}
      left={next === null ? 0 : await countUpTo(next)}
      notice={problem?.message}
      now={deps.clock.now()}
    />
  )
  return pageAnswer(request, problem?.status ?? 200, page)
}

async function readAll(
  { store }: Pick<PageDependencies, 'store'>,
  { app }: Viewer,
  listed: ListedCapture[],
): Promise<Captured[]> {
  const deliveries = await store.listDeliveriesById(listed.map(({ deliveryId }) => deliveryId))
  const described = await describeDeliveries(store, app, deliveries)
  const deliveryOf = new Map(deliveries.map((delivery) => [delivery.id, delivery]))
  const unwantedOf = new Map(described.map(({ work }) => [work.delivery.id, refusedBy(work, NOT_LOOKED_UP)]))
  const mails = await Promise.all(
    listed.map(async ({ deliveryId, createdAt: capturedAt, to, subject }) => {
      const delivery = deliveryOf.get(deliveryId)
      if (!delivery) return null
      const about = { deliveryId, capturedAt, delivery, unwanted: unwantedOf.get(deliveryId) ?? null }
      if (to !== null && subject !== null) return { ...about, to, subject }
      const found = await store.findCaptured(app.id, deliveryId)
      return found && { ...about, ...(await readCaptured(found)) }
    }),
  )
  return mails.filter((mail) => mail !== null)
}
