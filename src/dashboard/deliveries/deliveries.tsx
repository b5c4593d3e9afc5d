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
import { deliveryPath, readStateFilter, statesOf } from './delivery-labels.tsx'
import { onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { mailAnswer } from './mail-frames.ts'
import { readMailState } from './mail-state.ts'
import { problemAnswer } from '../layout/problems.tsx'

const PAGE_ROWS = 50

export const deliveriesRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/deliveries', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showDeliveries(deps, request, viewer)),
    )
    .get('/apps/:app/deliveries/:delivery', ({ request, params: { app, delivery } }) =>
      showPage(deps, request, app, (viewer) => showDelivery(deps, request, viewer, delivery)),
    )
    .get('/apps/:app/deliveries/:delivery/mail', ({ request, params: { app, delivery } }) =>
      showPage(deps, request, app, async (viewer) => {
        const shown = await readDelivery(deps, viewer, delivery)
        const mail = shown && (await findMail(deps, shown))
        return mail && 'html' in mail ? mailAnswer(mail.html) : problemAnswer(request, 'delivery_unknown')
      }),
    )
    .post('/apps/:app/deliveries/:delivery/resend', onForm(deps, { role: 'editor' }, resend), { parse: 'none' })

/** Only deliveries of the viewer's app are found. */
async function readDelivery(
  { store }: Pick<PageDependencies, 'store'>,
  viewer: Viewer,
  text: string,
): Promise<FoundDelivery | null> {
  const id = readPublicId('dlv', text)
  return id === null ? null : findDelivery(store, viewer.app, id)
}

async function showDeliveries(deps: PageDependencies, request: Request, viewer: Viewer): Promise<Response> {
  const asked = new URL(request.url).searchParams
  const messageId = readPublicId('msg', asked.get('message') ?? '')
  const state = readStateFilter(asked.get('state') ?? '')
  const before = readPublicId('dlv', asked.get('before') ?? '')
  const { deliveries, next } = await listDeliveries(deps.store, viewer.app, {
    messageId,
    states: state === null ? null : statesOf(state),
    before,
    limit: PAGE_ROWS,
  })
  const page = (
    <DeliveriesPage
      viewer={viewer}
      mail={await readMailState(deps, viewer.app)}
      messages={await deps.store.listMessages(viewer.app.id)}
      filter={{ messageId, state }}
      deliveries={deliveries}
      isFirst={before === null}
      older={next === null ? null : publicId('dlv', next)}
      now={deps.clock.now()}
    />
  )
  return pageAnswer(request, 200, page)
}

/** The captured email, or a new rendering when none was captured. null if the event is in another email. */
async function findMail(
  { store, mailer }: Pick<PageDependencies, 'store' | 'mailer'>,
  { work }: ShownDelivery,
): Promise<ReadableMail | null> {
  if (work.delivery.state === 'joined') return null
  const captured = await store.findCaptured(work.app.id, work.delivery.id)
  if (captured) return { ...(await readCaptured(captured)), raw: captured.raw, capturedAt: captured.createdAt }
  const preview = await mailer.preview(work)
  if (!('html' in preview)) return preview
  const { from } = mailer.findMailRoute(work.settings)
  const sender: Pick<CapturedMail, 'from' | 'to'> = {
    from: from === null ? 'No sender yet' : describeMailbox(from),
    to: work.contact.email,
  }
  return { ...preview, ...sender }
}

async function showDelivery(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  id: string,
  notice?: { status: number; message: string },
): Promise<Response> {
  const shown = await readDelivery(deps, viewer, id)
  if (!shown) return problemAnswer(request, 'delivery_unknown')
  const page = (
    <DeliveryPage
      viewer={viewer}
      mailState={await readMailState(deps, viewer.app)}
      shown={shown}
      mail={await findMail(deps, shown)}
      notice={notice?.message}
      now={deps.clock.now()}
    />
  )
  return pageAnswer(request, notice?.status ?? 200, page)
}

async function resend(
  deps: PageDependencies,
  request: Request,
  _: FormInput,
  { viewer, params: { delivery } }: Who & { params: { delivery: string } },
): Promise<Response> {
  const id = readPublicId('dlv', delivery)
  if (id === null) return problemAnswer(request, 'delivery_unknown')
  const outcome = await resendDelivery(deps, viewer.app, { id, actor: viewer.member.id })
  if (!('refusal' in outcome))
    return redirectAnswer(deliveryPath(viewer.app.publicId, id), [flashCookie(deps.baseUrl, 'sent_on')])
  return showDelivery(deps, request, viewer, delivery, REFUSALS[outcome.refusal])
}
