/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { describeMailbox } from '../../core/mail-addresses.ts'
import { type CapturedMail, readCaptured } from '../../mail/captured-mail.ts'
import {
  findDelivery,
  type FoundDelivery,
  listDeliveries,
  resendDelivery,
  type ShownDelivery,
} from '../../deliveries/delivery-lists.ts'
import { publicId, readPublicId } from '../../core/ids.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { DeliveriesPage } from './deliveries-page.tsx'
import { DeliveryPage, type ReadableMail } from './delivery-page.tsx'
import { deliveryPath, readStateFilter, statesOf } from './delivery-words.tsx'
import { showPage, takeForm } from '../layout/door.tsx'
import { type PageParts, type Viewer } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import { mailAnswer } from './mail-frames.ts'
import { readMailState } from './mail-state.ts'
import { problemAnswer } from '../layout/problems.tsx'

const PAGE_ROWS = 50

export const deliveriesRoutes = (parts: PageParts) =>
  new Elysia()
    .get('/apps/:app/deliveries', ({ request, params: { app } }) =>
      showPage(parts, request, app, (viewer) => showDeliveries(parts, request, viewer)),
    )
    .get('/apps/:app/deliveries/:delivery', ({ request, params: { app, delivery } }) =>
      showPage(parts, request, app, (viewer) => showDelivery(parts, request, viewer, delivery)),
    )
    .get('/apps/:app/deliveries/:delivery/mail', ({ request, params: { app, delivery } }) =>
      showPage(parts, request, app, async (viewer) => {
        const shown = await readDelivery(parts, viewer, delivery)
        const mail = shown && (await findMail(parts, shown))
        return mail && 'html' in mail ? mailAnswer(mail.html) : problemAnswer(request, 'delivery_unknown')
      }),
    )
    .post(
      '/apps/:app/deliveries/:delivery/resend',
      ({ request, params: { app, delivery } }) =>
        takeForm(parts, request, { appId: app, role: 'editor' }, (_, viewer) =>
          sendOn(parts, request, viewer, delivery),
        ),
      { parse: 'none' },
    )

/** Only deliveries of the viewer's app are found. */
async function readDelivery({ store }: PageParts, viewer: Viewer, text: string): Promise<FoundDelivery | null> {
  const id = readPublicId('dlv', text)
  return id === null ? null : findDelivery(store, viewer.app, id)
}

async function showDeliveries(parts: PageParts, request: Request, viewer: Viewer): Promise<Response> {
  const asked = new URL(request.url).searchParams
  const messageId = readPublicId('msg', asked.get('message') ?? '')
  const state = readStateFilter(asked.get('state') ?? '')
  const before = readPublicId('dlv', asked.get('before') ?? '')
  const { deliveries, next } = await listDeliveries(parts.store, viewer.app, {
    messageId,
    states: state === null ? null : statesOf(state),
    before,
    limit: PAGE_ROWS,
  })
  const page = (
    <DeliveriesPage
      viewer={viewer}
      mail={await readMailState(parts, viewer.app)}
      messages={await parts.store.listMessages(viewer.app.id)}
      filter={{ messageId, state }}
      deliveries={deliveries}
      isFirst={before === null}
      older={next === null ? null : publicId('dlv', next)}
      now={parts.clock.now()}
    />
  )
  return pageAnswer(request, 200, page)
}

/** The captured email, or a new rendering when none was captured. */
async function findMail({ store, mailer }: PageParts, { work }: ShownDelivery): Promise<ReadableMail> {
  const kept = await store.findCaptured(work.app.id, work.delivery.id)
  if (kept) return { ...(await readCaptured(kept)), raw: kept.raw, keptAt: kept.createdAt }
  const preview = await mailer.preview(work)
  if (!('html' in preview)) return preview
  const { from } = mailer.findWay(work.settings)
  const sender: Pick<CapturedMail, 'from' | 'to'> = {
    from: from === null ? 'No sender yet' : describeMailbox(from),
    to: work.contact.email,
  }
  return { ...preview, ...sender }
}

async function showDelivery(
  parts: PageParts,
  request: Request,
  viewer: Viewer,
  id: string,
  notice?: { status: number; message: string },
): Promise<Response> {
  const shown = await readDelivery(parts, viewer, id)
  if (!shown) return problemAnswer(request, 'delivery_unknown')
  const page = (
    <DeliveryPage
      viewer={viewer}
      mailState={await readMailState(parts, viewer.app)}
      shown={shown}
      mail={await findMail(parts, shown)}
      notice={notice?.message}
      now={parts.clock.now()}
    />
  )
  return pageAnswer(request, notice?.status ?? 200, page)
}

async function sendOn(parts: PageParts, request: Request, viewer: Viewer, text: string): Promise<Response> {
  const id = readPublicId('dlv', text)
  if (id === null) return problemAnswer(request, 'delivery_unknown')
  const outcome = await resendDelivery(parts, viewer.app, { id, actor: viewer.member.id })
  if (!('refusal' in outcome))
    return redirectAnswer(deliveryPath(viewer.app.publicId, id), [flashCookie(parts.baseUrl, 'sent_on')])
  return showDelivery(parts, request, viewer, text, REFUSALS[outcome.refusal])
}
