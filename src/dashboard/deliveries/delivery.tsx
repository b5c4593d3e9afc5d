/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { render } from 'preact-render-to-string'
import type { VNode } from 'preact'
import { describeActor } from '../../accounts/audit.ts'
import { findFrom } from '../../accounts/senders.ts'
import { readPublicId } from '../../core/ids.ts'
import { describeMailbox } from '../../core/mail-addresses.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { readRecord } from '../../deliveries/deliveries.ts'
import {
  cancelDelivery,
  findDelivery,
  findResent,
  type FoundDelivery,
  resendDelivery,
  sendDeliveryEarly,
  type ShownDelivery,
} from '../../deliveries/delivery-lists.ts'
import { explainDelivery, toExplained } from '../../deliveries/explanations.ts'
import { type CapturedMail, readCaptured } from '../../mail/captured-mail.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { type FlashCode, flashCookie } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import type { MailState } from '../../monitoring/mail-state.ts'
import { missingAnswer } from '../layout/missing-page.tsx'
import { problemAnswer } from '../layout/problems.tsx'
import { onForm, openStream, showPage } from '../layout/require-member.tsx'
import { type EndFor, type Send, streamChanges } from '../layout/stream.ts'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { Zone } from '../ui/time.tsx'
import { READ_EVERY_MS } from './deliveries-live.tsx'
import { deliveryPath } from './delivery-labels.tsx'
import { AboutDelivery, Actions, DeliveryPage, DeliveryText, type ReadableMail, State } from './delivery-page.tsx'
import { findSuppressionPath } from '../people/suppressions.tsx'
import { mailAnswer } from './mail-frames.ts'
import { readMailState } from '../../monitoring/mail-state.ts'

export const deliveryRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/deliveries/:delivery', ({ request, params: { app, delivery } }) =>
      showPage(deps, request, app, (viewer) => showDelivery(deps, request, viewer, delivery)),
    )
    .get('/apps/:app/deliveries/:delivery/live', ({ request, params: { app, delivery } }) =>
      openStream(deps, request, app, (viewer) => followDelivery(deps, request, viewer, delivery)),
    )
    .get('/apps/:app/deliveries/:delivery/mail', ({ request, params: { app, delivery } }) =>
      showPage(deps, request, app, async (viewer) => {
        const shown = await readDelivery(deps, viewer, delivery)
        const mail = shown && (await findMail(deps, shown))
        return mail && 'html' in mail ? mailAnswer(request, mail.html) : problemAnswer(request, 'delivery_unknown')
      }),
    )
    .post(
      '/apps/:app/deliveries/:delivery/resend',
      onForm(
        deps,
        { role: 'editor' },
        changeBy(resendDelivery, ({ pause }) => (pause ? 'sent_on_paused' : 'sent_on')),
      ),
      {
        parse: 'none',
      },
    )
    .post(
      '/apps/:app/deliveries/:delivery/cancel',
      onForm(
        deps,
        { role: 'editor' },
        changeBy(cancelDelivery, () => 'email_cancelled'),
      ),
      {
        parse: 'none',
      },
    )
    .post(
      '/apps/:app/deliveries/:delivery/send-now',
      onForm(
        deps,
        { role: 'editor' },
        changeBy(sendDeliveryEarly, () => 'sending_early'),
      ),
      {
        parse: 'none',
      },
    )

/** Only deliveries of the viewer's app are found. */
async function readDelivery(
  { store }: Pick<PageDependencies, 'store'>,
  viewer: Viewer,
  text: string,
): Promise<FoundDelivery | null> {
  const id = readPublicId('dlv', text)
  return id === null ? null : findDelivery(store, viewer.app, id)
}

/** The captured email, or a new rendering when none was captured. null if the event is in another email. */
async function findMail(
  { store, mailer }: Pick<PageDependencies, 'store' | 'mailer'>,
  { work: found }: ShownDelivery,
): Promise<ReadableMail | null> {
  const work = await findResent(store, found)
  if (work.delivery.state === 'joined') return null
  const captured = await store.findCaptured(work.app.id, work.delivery.id)
  if (captured) return { ...(await readCaptured(captured)), raw: captured.raw, capturedAt: captured.createdAt }
  const preview = await mailer.preview(work)
  if (!('html' in preview)) return preview
  const { message, settings, app } = work
  const from = findFrom({ mail: message.content.mail, settings, fallback: mailer.senders.installation.from, app })
  const sender: Pick<CapturedMail, 'from' | 'to'> = {
    from: from === null ? 'No sender yet' : describeMailbox(from),
    to: work.contact.email,
  }
  return { ...preview, ...sender, version: message.version }
}

/** Who cancelled it, which API key sent it, and which member sent it on; null: nobody. */
async function readActors({ store }: PageDependencies, { account }: Viewer, { work }: FoundDelivery) {
  const { cancelled, sentOn } = readRecord(work.delivery) ?? {}
  const { send } = work
  if (cancelled === undefined && send === null && sentOn === undefined)
    return { cancelled: null, sentBy: null, sentOnBy: null, overriddenBy: null }
  const [members, keys] = await Promise.all([store.listMembers(account.id), store.listKeys(account.id)])
  const nameOf = (actor: string): string => describeActor({ actor }, { members, keys })
  const nameSender = (sent: { actor?: string } | undefined) => (sent?.actor === undefined ? null : nameOf(sent.actor))
  return {
    cancelled: cancelled === undefined ? null : { at: cancelled.at, by: nameOf(cancelled.actor) },
    sentBy: send?.keyId ? nameOf(send.keyId) : null,
    sentOnBy: nameSender(sentOn),
    overriddenBy: nameSender(sentOn?.stopped && (sentOn.stopped.overridden ?? sentOn)),
  }
}

type Facts = Awaited<ReturnType<typeof readFacts>>

/** Everything on the page except the email. */
async function readFacts(deps: PageDependencies, viewer: Viewer, found: FoundDelivery) {
  const actors = await readActors(deps, viewer, found)
  const explained = explainDelivery({ ...toExplained(found.work), overriddenBy: actors.overriddenBy })
  return {
    shown: { ...found, explained },
    mailState: await readMailState(deps, viewer.app),
    ...actors,
  }
}

const addMail = async (deps: PageDependencies, viewer: Viewer, facts: Facts) => ({
  ...facts,
  viewer,
  mail: await findMail(deps, facts.shown),
  // sealed anew each time, so it doesn't count as a change
  suppressionPath: findSuppressionPath(deps.previewKey, viewer.app.publicId, facts.shown.work.contact.email),
  now: deps.clock.now(),
})

async function showDelivery(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  id: string,
  notice?: { status: number; message: string },
): Promise<Response> {
  const shown = await readDelivery(deps, viewer, id)
  if (!shown) return missingAnswer(request, viewer, 'delivery_unknown')
  const props = await addMail(deps, viewer, await readFacts(deps, viewer, shown))
  return pageAnswer(request, notice?.status ?? 200, <DeliveryPage {...props} notice={notice?.message} />)
}

/** Streams the elements with `data-live`, rendered as on the page, after what they show changed. */
async function followDelivery(deps: PageDependencies, request: Request, viewer: Viewer, id: string): Promise<Response> {
  if (!(await readDelivery(deps, viewer, id))) return problemAnswer(request, 'delivery_unknown')
  const show = (part: VNode): string => render(<Zone.Provider value={viewer.app.timezone}>{part}</Zone.Provider>)
  let known = ''
  const renderChanged = async (shown: FoundDelivery): Promise<Record<string, string> | null> => {
    const facts = await readFacts(deps, viewer, shown)
    const text = JSON.stringify(facts)
    if (text === known) return null
    known = text
    const props = await addMail(deps, viewer, facts)
    return {
      state: show(<State {...props} />),
      action: show(<Actions {...props} />),
      text: show(<DeliveryText {...props} />),
      about: show(<AboutDelivery {...props} />),
    }
  }
  const sendParts = async (send: Send, endFor: EndFor): Promise<void> => {
    const shown = await readDelivery(deps, viewer, id)
    try {
      const data = shown && (await renderChanged(shown))
      if (data) send({ name: 'parts', data })
      if (shown) return
    } catch (error) {
      // what was erased meanwhile can't be shown
      if (await readDelivery(deps, viewer, id)) throw error
    }
    send({ name: 'gone', data: null })
    // only an erasure deletes deliveries
    endFor('This person was erased.')
  }
  return streamChanges(deps, request, viewer, sendParts, READ_EVERY_MS)
}

type ByMember = Who & { params: { delivery: string } }

const changeBy =
  (change: typeof resendDelivery, describe: (state: MailState) => FlashCode) =>
  async (deps: PageDependencies, request: Request, _: FormInput, { viewer, params: { delivery } }: ByMember) => {
    const id = readPublicId('dlv', delivery)
    if (id === null) return missingAnswer(request, viewer, 'delivery_unknown')
    const outcome = await change(deps, viewer.app, { id, actor: viewer.member.id })
    if ('refusal' in outcome) return showDelivery(deps, request, viewer, delivery, REFUSALS[outcome.refusal])
    const done = describe(await readMailState(deps, viewer.app))
    return redirectAnswer(deliveryPath(viewer.app.publicId, id), [flashCookie(deps.baseUrl, done)])
  }
