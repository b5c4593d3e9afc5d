/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { type ContactRow, eraseContact } from '../../people/contacts.ts'
import { EXPORT_FORMATS, exportPeople } from '../../people/people-lists.ts'
import { explainPerson } from '../../deliveries/delivery-lists.ts'
import { readEmail } from '../../core/email.ts'
import { explainEvents } from '../../deliveries/message-explanations.ts'
import { publicId, readPublicId } from '../../core/ids.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { downloadAnswer, pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { FEED_ROWS, personPath } from '../events/feed.tsx'
import { withStillSending } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { PeoplePage } from './people-page.tsx'
import { createViewPaths, listChips, readFilterForm, toFilter } from './people-view.ts'
import { PersonPage } from './person-page.tsx'
import { problemAnswer } from '../layout/problems.tsx'

const PAGE_ROWS = 35

export const peopleRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/people', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showPeople(deps, request, viewer)),
    )
    .post('/apps/:app/people', onForm(deps, { role: 'viewer' }, findPeople), { parse: 'none' })
    .get('/apps/:app/people/export', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => exportAnswer(deps, request, viewer)),
    )
    .get('/apps/:app/people/:person', ({ request, params: { app, person } }) =>
      showPage(deps, request, app, (viewer) => showPerson(deps, request, viewer, person)),
    )
    .post(
      '/apps/:app/people/:person/erase',
      onForm(deps, { role: 'owner', confirm: { to: 'erase a person' }, page: 'people' }, erasePerson),
      { parse: 'none' },
    )

async function showPeople(deps: PageDependencies, request: Request, viewer: Viewer): Promise<Response> {
  const { store, clock, previewKey } = deps
  const { id: appId, publicId } = viewer.app
  const [paths, now] = [createViewPaths(previewKey, publicId), clock.now()]
  const view = paths.read(request.url)
  const { sort, after, texts } = view
  const query = { appId, filter: toFilter(texts, now), sort, after, limit: PAGE_ROWS, isCounted: true }
  const [{ people, next, count }, suggested, indexed] = await Promise.all([
    store.findPeople(query),
    store.suggestFilters(appId),
    store.contactIndexShare(),
  ])
  const page = <PeoplePage {...{ viewer, view, paths, people, next, count, suggested, indexed, now }} />
  return pageAnswer(request, 200, page)
}

/** To the list, or to the person with exactly this email. */
async function findPeople(
  { store, previewKey }: PageDependencies,
  _: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const view = readFilterForm(form)
  const address = listChips(view.texts).length === 1 ? readEmail(view.texts.search) : null
  const person = address && (await store.findContact(viewer.app.id, address.email))
  if (person) return redirectAnswer(personPath(viewer.app.publicId, person.id))
  return redirectAnswer(createViewPaths(previewKey, viewer.app.publicId).pathOf(view))
}

function exportAnswer(deps: PageDependencies, request: Request, { app }: Viewer): Response {
  const { texts, sort } = createViewPaths(deps.previewKey, app.publicId).read(request.url)
  const format = EXPORT_FORMATS.find((one) => one === new URL(request.url).searchParams.get('format')) ?? 'csv'
  const filter = toFilter(texts, deps.clock.now())
  return downloadAnswer(exportPeople(deps, app, { filter, sort, format }), { name: 'people', format })
}

/** Only people of the viewer's app are found. */
async function readPerson(
  { store }: Pick<PageDependencies, 'store'>,
  viewer: Viewer,
  person: string,
): Promise<ContactRow | null> {
  const id = readPublicId('con', person)
  const found = id === null ? null : await store.byId(id)
  return found?.appId === viewer.app.id ? found : null
}

async function showPerson(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  id: string,
  notice?: { status: number; message: string },
): Promise<Response> {
  const person = await readPerson(deps, viewer, id)
  if (!person) return problemAnswer(request, 'person_unknown')
  const before = readPublicId('evt', new URL(request.url).searchParams.get('before') ?? '')
  const query = { appId: viewer.app.id, contactId: person.id, name: null, before, limit: FEED_ROWS }
  const { rows, next } = await deps.store.listEvents(query)
  const outcomes = await explainEvents(deps.store, person, rows)
  const page = (
    <PersonPage
      viewer={viewer}
      person={person}
      rows={rows}
      outcomes={outcomes}
      isFirst={before === null}
      messages={before === null ? await explainPerson(deps.store, person) : []}
      older={next === null ? null : publicId('evt', next)}
      notice={notice?.message}
      now={deps.clock.now()}
    />
  )
  return pageAnswer(request, notice?.status ?? 200, page)
}

type OfPerson = Who & { params: { person: string } }

async function erasePerson(
  deps: PageDependencies,
  request: Request,
  _: FormInput,
  { viewer, params }: OfPerson,
): Promise<Response> {
  const person = await readPerson(deps, viewer, params.person)
  if (!person) return problemAnswer(request, 'person_unknown')
  const outcome = await eraseContact(deps, viewer.app, { email: person.email, actor: viewer.member.id })
  if ('refusal' in outcome) return showPerson(deps, request, viewer, params.person, REFUSALS[outcome.refusal])
  return doneAnswer(deps, viewer, 'people', ...withStillSending('person_erased', outcome))
}
