/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { describeActor } from '../../accounts/audit.ts'
import { readRecord } from '../../deliveries/deliveries.ts'
import { findFrom } from '../../accounts/senders.ts'
import { describeMailbox } from '../../core/mail-addresses.ts'
import { type CapturedMail, readCaptured } from '../../mail/captured-mail.ts'
import {
  cancelDelivery,
  type DeliveryFilter,
  exportDeliveries,
  findDelivery,
  findResent,
  type FoundDelivery,
  sendDeliveryEarly,
  listDeliveries,
  resendDelivery,
  resendMatching,
  type ShownDelivery,
  toFailed,
} from '../../deliveries/delivery-lists.ts'
import { readEmail } from '../../core/email.ts'
import { readPublicId } from '../../core/ids.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { type Exported, exportRoutes, nameFilters } from '../access/export.tsx'
import { nameExport, pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { DeliveriesPage, type FailedEmails } from './deliveries-page.tsx'
import { DeliveryPage, type ReadableMail } from './delivery-page.tsx'
import { followDeliveries, PAGE_ROWS } from './deliveries-live.tsx'
import {
  deliveriesPath,
  type DeliveriesView,
  FILTER_NAMES,
  listFilters,
  readAddress,
  readView,
  toFilter,
} from './deliveries-view.ts'
import { deliveryPath } from './delivery-labels.tsx'
import { onForm, openStream, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { findOrderFault, readDay } from '../layout/days.ts'
import { type FlashCode, flashCookie } from '../layout/flash.ts'
import { describeResent } from './resend-all.tsx'
import type { FormInput } from '../layout/forms.ts'
import { NO_FILTER as EVERYONE, toFilter as toPeopleFilter } from '../people/people-view.ts'
import { mailAnswer } from './mail-frames.ts'
import type { MailState } from '../layout/mail-notices.tsx'
import { readMailState } from './mail-state.ts'
import { missingAnswer } from '../layout/missing-page.tsx'
import { problemAnswer } from '../layout/problems.tsx'

export const deliveriesRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/deliveries', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showDeliveries(deps, request, viewer)),
    )
    .post('/apps/:app/deliveries', onForm(deps, { role: 'viewer' }, filterDeliveries), { parse: 'none' })
    .post('/apps/:app/deliveries/resend', onForm(deps, { role: 'editor' }, resendFailed), { parse: 'none' })
    .use(exportRoutes(deps, '/apps/:app/deliveries/export', { page: 'deliveries', find: findExported }))
    .get('/apps/:app/deliveries-live', ({ request, params: { app } }) =>
      openStream(deps, request, app, (viewer) => followDeliveries(deps, request, viewer)),
    )
    .get('/apps/:app/deliveries/:delivery', ({ request, params: { app, delivery } }) =>
      showPage(deps, request, app, (viewer) => showDelivery(deps, request, viewer, delivery)),
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

type Wrong = { view: DeliveriesView; email: string; error: string }
type Problem = { status: number; message: string }

/** `wrong`: a form with a person that isn't known. `problem`: of the last action. */
async function showDeliveries(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { wrong, problem }: { wrong?: Wrong; problem?: Problem } = {},
): Promise<Response> {
  const { store, clock } = deps
  const { id: appId } = viewer.app
  const view = wrong?.view ?? readAddress(request.url)
  const filter = toFilter(view, viewer.app.timezone)
  const before = readPublicId('dlv', new URL(request.url).searchParams.get('before') ?? '')
  const messages = await store.listMessages(appId)
  const page = { ...filter, before: before ?? filter.before, limit: PAGE_ROWS, messages }
  const [{ deliveries, next }, count, mail, reasons, person, failed] = await Promise.all([
    listDeliveries(store, viewer.app, page),
    store.countMatching({ ...filter, appId }),
    readMailState(deps, viewer.app),
    store.listReasons(appId),
    view.contactId === null ? null : store.byId(view.contactId),
    view.state === 'failed' ? countFailed(deps, request, viewer, filter) : null,
  ])
  const email = wrong?.email ?? (person?.appId === appId ? person.email : '')
  const errors = { error: wrong?.error, fault: findOrderFault(readDay(view.from), readDay(view.to)) }
  const shown = { viewer, mail, view, email, ...errors, messages, reasons, deliveries, count, failed, older: next }
  return pageAnswer(
    request,
    problem?.status ?? (wrong || shown.fault ? 400 : 200),
    <DeliveriesPage {...shown} notice={problem?.message} isFirst={before === null} now={clock.now()} />,
  )
}

async function countFailed(
  { store }: Pick<PageDependencies, 'store'>,
  request: Request,
  { app }: Viewer,
  filter: DeliveryFilter,
): Promise<FailedEmails> {
  const failed = toFailed(filter)
  const next = readPublicId('dlv', new URL(request.url).searchParams.get('next') ?? '')
  const [count, left] = await Promise.all([
    store.countMatching({ ...failed, appId: app.id }),
    next === null ? 0 : store.countMatching({ ...failed, appId: app.id, before: next + 1 }),
  ])
  return { count, next, left }
}

/** Failed emails that the list shows, from the newest that the member saw. */
async function resendFailed(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const { app, member } = viewer
  const view = readAddress(request.url)
  const filter = toFailed(toFilter(view, app.timezone))
  const until = readPublicId('dlv', form.text('until'))
  if (view.state !== 'failed' || until === null) return redirectAnswer(deliveriesPath(app.publicId, view))
  const outcome = await resendMatching(deps, app, { filter, until, actor: member.id })
  if ('refusal' in outcome) return showDeliveries(deps, request, viewer, { problem: REFUSALS[outcome.refusal] })
  const rest = deliveriesPath(app.publicId, view, { next: outcome.next })
  const resent = describeResent('failed', outcome, await readMailState(deps, app))
  return redirectAnswer(rest, [flashCookie(deps.baseUrl, ...resent)])
}

/** To the address of what the form asks for. */
async function filterDeliveries(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const view = readView(form.text)
  const email = form.text('email').trim()
  const found = email === '' ? { contactId: null } : await findPerson(deps, viewer, email)
  if (!('error' in found)) return redirectAnswer(deliveriesPath(viewer.app.publicId, { ...view, ...found }))
  return showDeliveries(deps, request, viewer, { wrong: { view: { ...view, contactId: null }, email, ...found } })
}

/** By the email, or as in People if that finds one person only. */
async function findPerson(
  { store, clock }: PageDependencies,
  { app }: Viewer,
  text: string,
): Promise<{ contactId: number } | { error: string }> {
  const address = readEmail(text)
  const person = address && (await store.findContact(app.id, address.email))
  if (person) return { contactId: person.id }
  if (address) return { error: 'No person has this email.' }
  const filter = toPeopleFilter({ ...EVERYONE, search: text }, clock.now())
  const query = { appId: app.id, filter, sort: 'newest', after: null, limit: 2, isCounted: false } as const
  const { people, next } = await store.findPeople(query)
  const [first, second] = people
  if (second || next) return { error: 'Several people match. Enter more of the email or name.' }
  return first ? { contactId: first.id } : { error: 'No person has an email or name like this.' }
}

function findExported(deps: PageDependencies, request: Request, { viewer: { app } }: { viewer: Viewer }): Exported {
  const view = readAddress(request.url)
  return {
    what: 'deliveries',
    filters: nameFilters(listFilters(view), FILTER_NAMES),
    pieces: exportDeliveries(deps, app, toFilter(view, app.timezone)),
    file: { name: nameExport('deliveries', app, deps.clock.now()), format: 'csv' },
  }
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
    return { cancelled: null, sentBy: null, sentOnBy: null }
  const [members, keys] = await Promise.all([store.listMembers(account.id), store.listKeys(account.id)])
  const nameOf = (actor: string): string => describeActor({ actor }, { members, keys })
  return {
    cancelled: cancelled === undefined ? null : { at: cancelled.at, by: nameOf(cancelled.actor) },
    sentBy: send?.keyId ? nameOf(send.keyId) : null,
    sentOnBy: sentOn?.actor === undefined ? null : nameOf(sentOn.actor),
  }
}

async function showDelivery(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  id: string,
  notice?: { status: number; message: string },
): Promise<Response> {
  const shown = await readDelivery(deps, viewer, id)
  if (!shown) return missingAnswer(request, viewer, 'delivery_unknown')
  const page = (
    <DeliveryPage
      viewer={viewer}
      mailState={await readMailState(deps, viewer.app)}
      shown={shown}
      mail={await findMail(deps, shown)}
      {...await readActors(deps, viewer, shown)}
      notice={notice?.message}
      now={deps.clock.now()}
    />
  )
  return pageAnswer(request, notice?.status ?? 200, page)
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
