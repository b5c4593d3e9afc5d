/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { type ContactRow, eraseContact } from '../../people/contacts.ts'
import { explainPerson } from '../../deliveries/delivery-lists.ts'
import { readEmail } from '../../core/email.ts'
import { explainEvents } from '../../deliveries/message-explanations.ts'
import { publicId, readPublicId } from '../../core/ids.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { FEED_ROWS, personPath } from '../events/feed.tsx'
import { withStillSending } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { PeoplePage, type Search } from './people-page.tsx'
import { PersonPage } from './person-page.tsx'
import { problemAnswer } from '../layout/problems.tsx'

const PAGE_ROWS = 50

export const peopleRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/people', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showPeople(deps, request, viewer)),
    )
    // POST, so that emails don't appear in URLs and logs
    .post('/apps/:app/people', onForm(deps, { role: 'viewer' }, findPerson), { parse: 'none' })
    .get('/apps/:app/people/:person', ({ request, params: { app, person } }) =>
      showPage(deps, request, app, (viewer) => showPerson(deps, request, viewer, person)),
    )
    .post(
      '/apps/:app/people/:person/erase',
      onForm(deps, { role: 'owner', confirm: { to: 'erase a person' }, page: 'people' }, erasePerson),
      { parse: 'none' },
    )

async function showPeople(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  search: Search = { email: '' },
): Promise<Response> {
  const cursor = readPublicId('con', new URL(request.url).searchParams.get('before') ?? '')
  const before = cursor === null ? null : { id: cursor, updatedAt: null }
  const query = { tag: null, updatedAfter: null, before, limit: PAGE_ROWS + 1 }
  const found = await deps.store.listContacts({ ...query, appId: viewer.app.id })
  const people = found.slice(0, PAGE_ROWS)
  const last = found.length > PAGE_ROWS ? people.at(-1) : undefined
  const page = (
    <PeoplePage
      viewer={viewer}
      people={people}
      search={search}
      isFirst={before === null}
      older={last ? publicId('con', last.id) : null}
      now={deps.clock.now()}
    />
  )
  return pageAnswer(request, search.errors ? 404 : 200, page)
}

async function findPerson(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const email = form.text('email')
  const address = readEmail(email)
  const person = address && (await deps.store.findContact(viewer.app.id, address.email))
  if (person) return redirectAnswer(personPath(viewer.app.publicId, person.id))
  const message = address ? 'This app knows nobody with this email.' : 'Give one whole email address.'
  return showPeople(deps, request, viewer, { email, errors: [{ field: 'email', message }] })
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
