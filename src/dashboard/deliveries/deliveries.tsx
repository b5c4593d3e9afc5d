/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import {
  type DeliveryFilter,
  exportDeliveries,
  listDeliveries,
  resendMatching,
  toFailed,
} from '../../deliveries/delivery-lists.ts'
import { readEmail } from '../../core/email.ts'
import { readPublicId } from '../../core/ids.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { type Exported, exportRoutes, nameFilters } from '../access/export.tsx'
import { nameExport, pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { DeliveriesPage, type FailedEmails } from './deliveries-page.tsx'
import { deliveryRoutes } from './delivery.tsx'
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
import { onForm, openStream, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { findOrderFault, readDay } from '../layout/days.ts'
import { flashCookie } from '../layout/flash.ts'
import { describeResent } from './resend-all.tsx'
import type { FormInput } from '../layout/forms.ts'
import { NO_FILTER as EVERYONE, toFilter as toPeopleFilter } from '../people/people-view.ts'
import { readMailState } from '../../monitoring/mail-state.ts'

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
    .use(deliveryRoutes(deps))

type Wrong = { view: DeliveriesView; email: string; error: string }
type Problem = { status: number; message: string }

/** `wrong`: a form that names an unknown person. `problem`: the error of the last action. */
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

/** The failed emails in the list, starting with the newest one that the member saw. */
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

/** Redirects to the URL of the submitted filters. */
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

/** Finds the person by email, or by a search as in People if it finds only one. */
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
  return first ? { contactId: first.id } : { error: 'No person matches this email or name.' }
}

function findExported(deps: PageDependencies, request: Request, { viewer: { app } }: { viewer: Viewer }): Exported {
  const view = readAddress(request.url)
  const filters = nameFilters(listFilters(view), FILTER_NAMES)
  return {
    what: 'deliveries',
    filters,
    pieces: exportDeliveries(deps, app, toFilter(view, app.timezone)),
    file: { name: nameExport('deliveries', { app, filters, now: deps.clock.now() }), format: 'csv' },
  }
}
