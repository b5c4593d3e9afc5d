/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { createMemberNames, hasRole } from '../../accounts/members.ts'
import { askAgain } from '../../people/consent.ts'
import { type ContactRow, eraseContact, saveByMember } from '../../people/contacts.ts'
import { EXPORT_FORMATS, exportPeople } from '../../people/people-lists.ts'
import { explainPerson, listDeliveries } from '../../deliveries/delivery-lists.ts'
import { SOFT_BOUNCES } from '../../deliveries/reports.ts'
import { readEmail } from '../../core/email.ts'
import { exportPerson } from '../../deliveries/person-export.ts'
import { listTimeline } from '../../deliveries/person-timeline.ts'
import { publicId, readPublicId } from '../../core/ids.ts'
import { type FieldError, REFUSALS } from '../../core/refusals.ts'
import { nameExport, pageAnswer, redirectAnswer } from '../layout/answers.ts'
import type { Confirm } from '../access/confirm.tsx'
import { type Exported, exportRoutes } from '../access/export.tsx'
import { writeConflict } from '../access/settings-conflicts.ts'
import { doneAnswer, onForm, refuseRole, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { FEED_ROWS, personPath } from '../events/feed.tsx'
import { countFlash, flashCookie, withStillSending } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { PeoplePage } from './people-page.tsx'
import { createViewPaths, isFiltered, listFilters, readFilterForm, toFilter } from './people-view.ts'
import {
  findWrongNames,
  mergePersonText,
  NO_PERSON,
  PERSON_FORM_BYTES,
  type PersonConflict,
  type PersonText,
  readNewPerson,
  readPersonChange,
  readPersonForm,
  readShown,
  toPersonText,
} from './person-form.ts'
import { PersonFormPage } from './person-form-page.tsx'
import { MOST_SHOWN } from './person-mail.tsx'
import { PersonPage } from './person-page.tsx'
import { timelineCursor } from './person-timeline.tsx'
import { missingAnswer } from '../layout/missing-page.tsx'
import { chooseTopics, listChosenTopics } from '../../people/topics.ts'
import { readTopics } from './topic-fields.tsx'

const PAGE_ROWS = 35
/** Changes that are searched for who made a conflicting one. */
const CONFLICT_CHANGES = 50
const PERSON_FORM = { role: 'editor', mostBytes: PERSON_FORM_BYTES } as const

export const peopleRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/people', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showPeople(deps, request, viewer)),
    )
    .post('/apps/:app/people', onForm(deps, { role: 'viewer' }, findPeople), { parse: 'none' })
    .use(exportRoutes(deps, '/apps/:app/people/export', { page: 'people', find: findExported }))
    .get('/apps/:app/people/new', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) =>
        hasRole(viewer.member.role, 'editor')
          ? formAnswer(deps, request, viewer, { status: 200, person: null, text: NO_PERSON })
          : refuseRole(deps, request, viewer),
      ),
    )
    .post('/apps/:app/people/new', onForm(deps, PERSON_FORM, addPerson), { parse: 'none' })
    .get('/apps/:app/people/:person/edit', ({ request, params: { app, person } }) =>
      showPage(deps, request, app, async (viewer) => {
        if (!hasRole(viewer.member.role, 'editor')) return refuseRole(deps, request, viewer)
        const found = await readPerson(deps, viewer, person)
        if (!found) return missingAnswer(request, viewer, 'person_unknown')
        return formAnswer(deps, request, viewer, { status: 200, person: found, text: toPersonText(found) })
      }),
    )
    .post('/apps/:app/people/:person/edit', onForm(deps, PERSON_FORM, editPerson), { parse: 'none' })
    .get('/apps/:app/people/:person', ({ request, params: { app, person } }) =>
      showPage(deps, request, app, (viewer) => showPerson(deps, request, viewer, person)),
    )
    .post('/apps/:app/people/:person/topics', onForm(deps, { role: 'editor' }, saveTopics), { parse: 'none' })
    .post('/apps/:app/people/:person/ask', onForm(deps, { role: 'editor' }, askPerson), { parse: 'none' })
    .use(exportRoutes(deps, '/apps/:app/people/:person/export', { page: 'people', find: findExportedPerson }))
    .post(
      '/apps/:app/people/:person/erase',
      onForm(
        deps,
        { role: 'owner', confirm: { to: 'erase a person', kind: 'danger', find: findErased }, page: 'people' },
        erasePerson,
      ),
      { parse: 'none' },
    )

async function showPeople(deps: PageDependencies, request: Request, viewer: Viewer): Promise<Response> {
  const { store, clock, previewKey } = deps
  const { id: appId, publicId } = viewer.app
  const [paths, now] = [createViewPaths(previewKey, publicId), clock.now()]
  const view = paths.read(request.url)
  const { sort, after, texts } = view
  const query = { appId, filter: toFilter(texts, now), sort, after, limit: PAGE_ROWS, isCounted: true }
  const [{ people, next, count }, suggested, messages, indexed] = await Promise.all([
    store.findPeople(query),
    store.suggestFilters(appId),
    store.listMessages(appId),
    store.contactIndexShare(),
  ])
  const page = <PeoplePage {...{ viewer, view, paths, people, next, count, suggested, messages, indexed, now }} />
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
  const isSearch = !isFiltered({ ...view.texts, search: '' })
  const address = isSearch ? readEmail(view.texts.search) : null
  const person = address && (await store.findContact(viewer.app.id, address.email))
  if (person) return redirectAnswer(personPath(viewer.app.publicId, person.id))
  return redirectAnswer(createViewPaths(previewKey, viewer.app.publicId).pathOf(view))
}

function findExported(deps: PageDependencies, request: Request, { viewer: { app } }: { viewer: Viewer }): Exported {
  const { texts, sort } = createViewPaths(deps.previewKey, app.publicId).read(request.url)
  const format = EXPORT_FORMATS.find((one) => one === new URL(request.url).searchParams.get('format')) ?? 'csv'
  const filter = toFilter(texts, deps.clock.now())
  const filters = listFilters(texts)
  return {
    what: 'people',
    filters,
    pieces: exportPeople(deps, app, { filter, sort, format }),
    file: { name: nameExport('people', { app, filters, now: deps.clock.now() }), format },
  }
}

async function findExportedPerson(
  deps: PageDependencies,
  _: Request,
  { viewer, params: { person = '' } }: { viewer: Viewer; params: Record<string, string> },
): Promise<Exported | null> {
  const found = await readPerson(deps, viewer, person)
  if (!found) return null
  const id = publicId('con', found.id)
  const pieces = exportPerson(deps, viewer.app, found)
  return { what: found.email, person: id, pieces, file: { name: id, format: 'json' } }
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

const ALL_EMAILS = { messageId: null, states: null, before: null, isLead: true } as const
const NO_EMAILS: Awaited<ReturnType<typeof listDeliveries>> = { deliveries: [], next: null }

async function showPerson(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  id: string,
  notice?: { status: number; message: string },
): Promise<Response> {
  const person = await readPerson(deps, viewer, id)
  if (!person) return missingAnswer(request, viewer, 'person_unknown')
  const before = readPublicId('evt', new URL(request.url).searchParams.get('before') ?? '')
  const newest = { ...ALL_EMAILS, contactId: person.id, limit: MOST_SHOWN }
  const [
    { items, next },
    members,
    keys,
    suppressed,
    softBounces,
    messages,
    emails,
    consents,
    isOptInOn,
    topics,
    expired,
  ] = await Promise.all([
    listTimeline(deps.store, viewer.app, person, { before, limit: FEED_ROWS }),
    deps.store.listMembers(viewer.account.id),
    deps.store.listKeys(viewer.account.id),
    deps.store.findSuppressed(viewer.app.id, person.email),
    deps.store.countSoftBounces(person.id, deps.clock.now() - SOFT_BOUNCES.withinMs),
    before === null ? explainPerson(deps, person) : [],
    before === null ? listDeliveries(deps.store, viewer.app, newest) : NO_EMAILS,
    deps.store.listConsents(person.id),
    isAsking(deps, viewer),
    listChosenTopics(deps.store, viewer.app, person.email),
    deps.store.findExpired(viewer.app.id),
  ])
  const page = (
    <PersonPage
      viewer={viewer}
      person={person}
      items={items}
      nameMember={createMemberNames(members)}
      suppressed={suppressed}
      softBounces={softBounces}
      keys={new Map(keys.map((key) => [key.id, key.name]))}
      isFirst={before === null}
      messages={messages}
      consents={consents}
      isOptInOn={isOptInOn}
      topics={topics}
      emails={emails.deliveries}
      isMore={emails.next !== null}
      older={next === null ? null : timelineCursor(next)}
      expired={expired}
      since={person.createdAt}
      notice={notice?.message}
      now={deps.clock.now()}
    />
  )
  return pageAnswer(request, notice?.status ?? 200, page)
}

type Shown = {
  status: number
  person: ContactRow | null
  text: PersonText
  shown?: PersonText
  errors?: FieldError[]
  existing?: ContactRow
  notice?: string
}

async function formAnswer(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status, errors = [], ...shown }: Shown,
): Promise<Response> {
  const isOptInOn = await isAsking(deps, viewer)
  return pageAnswer(request, status, <PersonFormPage {...{ viewer, errors, isOptInOn, ...shown }} />)
}

/** Whether people can be asked to confirm their address. */
const isAsking = async ({ store }: PageDependencies, { app }: Viewer): Promise<boolean> =>
  (await store.mailSettings(app.id)).optIn?.isOn === true

async function addPerson(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const text = readPersonForm(form)
  const asked = { person: null, text }
  const address = readEmail(text.email)
  const existing = address && (await deps.store.findContact(viewer.app.id, address.email))
  if (existing) {
    const errors = [{ field: 'email', code: 'exists', message: 'This app already has a person with this email.' }]
    return formAnswer(deps, request, viewer, { ...asked, status: 409, errors, existing })
  }
  return savePerson(deps, request, { viewer, asked, reading: readNewPerson(text, viewer.app) })
}

async function editPerson(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer, params }: OfPerson,
): Promise<Response> {
  const person = await readPerson(deps, viewer, params.person)
  if (!person) return missingAnswer(request, viewer, 'person_unknown')
  const [typed, shown, stored] = [readPersonForm(form), readShown(form), toPersonText(person)]
  const asked = { person, text: typed, shown }
  const errors = findWrongNames(typed)
  if (errors.length > 0) return formAnswer(deps, request, viewer, { ...asked, status: 400, errors })
  const { text, conflicts } = mergePersonText(typed, shown, stored)
  if (conflicts.length > 0) {
    const notice = await describePersonConflict(deps, viewer, person, conflicts)
    return formAnswer(deps, request, viewer, { status: 409, person, text, shown: stored, notice })
  }
  return savePerson(deps, request, { viewer, asked, reading: readPersonChange(text, stored, viewer.app) })
}

async function describePersonConflict(
  { store }: PageDependencies,
  { account }: Viewer,
  { id }: ContactRow,
  conflicts: PersonConflict[],
): Promise<string> {
  const changes = await store.listContactChanges(id, null, CONFLICT_CHANGES)
  const made = changes.find(({ change }) => conflicts.some(({ isIn }) => isIn(change)))
  const members = await store.listMembers(account.id)
  const nameOf = (actor: string): string =>
    members.find(({ personId }) => personId === actor)?.email ?? 'A former member'
  const who = made ? (made.actor === null ? 'The API' : nameOf(made.actor)) : 'Someone'
  return writeConflict(who, 'this person', conflicts)
}

type Saving = {
  viewer: Viewer
  asked: Pick<Shown, 'person' | 'text' | 'shown'>
  reading: ReturnType<typeof readNewPerson>
}

async function savePerson(
  deps: PageDependencies,
  request: Request,
  { viewer, asked, reading }: Saving,
): Promise<Response> {
  if ('errors' in reading) return formAnswer(deps, request, viewer, { ...asked, status: 400, errors: reading.errors })
  const { person } = asked
  const write = { fields: reading.input, actor: viewer.member.id, isNew: person === null }
  const saved = await saveByMember(deps, viewer.app, write)
  if ('refusal' in saved) {
    const { status, message } = { ...REFUSALS[saved.refusal], ...saved }
    return formAnswer(deps, request, viewer, { ...asked, status, notice: message })
  }
  const path = personPath(viewer.app.publicId, saved.contact.id)
  const wrongDates = countFlash('wrong_dates', saved.wrongDates?.length ?? 0)
  return redirectAnswer(path, [flashCookie(deps.baseUrl, person ? 'person_saved' : 'person_added', ...wrongDates)])
}

type OfPerson = Who & { params: { person: string } }

/** For a pending person: another email with the link that confirms the address. */
async function askPerson(
  deps: PageDependencies,
  request: Request,
  _: FormInput,
  { viewer, params }: OfPerson,
): Promise<Response> {
  const person = await readPerson(deps, viewer, params.person)
  if (!person) return missingAnswer(request, viewer, 'person_unknown')
  const by = { source: 'dashboard', actor: viewer.member.id } as const
  const outcome = await askAgain(deps, { app: viewer.app, email: person.email }, by)
  if ('refusal' in outcome) return showPerson(deps, request, viewer, params.person, REFUSALS[outcome.refusal])
  if (!outcome.isAsked) return showPerson(deps, request, viewer, params.person, NOT_ASKED)
  return redirectAnswer(personPath(viewer.app.publicId, person.id), [flashCookie(deps.baseUrl, 'consent_asked')])
}

async function saveTopics(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer, params }: OfPerson,
): Promise<Response> {
  const person = await readPerson(deps, viewer, params.person)
  if (!person) return missingAnswer(request, viewer, 'person_unknown')
  const choice = readTopics(await listChosenTopics(deps.store, viewer.app, person.email), form)
  const outcome = await chooseTopics(deps, { contactId: person.id, actor: viewer.member.id, ...choice })
  if ('refusal' in outcome) return showPerson(deps, request, viewer, params.person, REFUSALS[outcome.refusal])
  const flash = flashCookie(deps.baseUrl, ...withStillSending('topics_saved', outcome))
  return redirectAnswer(personPath(viewer.app.publicId, person.id), [flash])
}

const NOT_ASKED = {
  status: 429,
  message:
    'No email was sent: the person has confirmed, double opt-in is off, or the last email is less than an hour old.',
}

const findErased: Confirm['find'] = async (deps, { viewer, params }) => {
  const person = await readPerson(deps, viewer, params.person ?? '')
  return person && { to: `erase ${person.email}`, from: `people/${publicId('con', person.id)}` }
}

async function erasePerson(
  deps: PageDependencies,
  request: Request,
  _: FormInput,
  { viewer, params }: OfPerson,
): Promise<Response> {
  const person = await readPerson(deps, viewer, params.person)
  if (!person) return missingAnswer(request, viewer, 'person_unknown')
  const outcome = await eraseContact(deps, viewer.app, { email: person.email, actor: viewer.member.id })
  if ('refusal' in outcome) return showPerson(deps, request, viewer, params.person, REFUSALS[outcome.refusal])
  return doneAnswer(deps, viewer, 'people', ...withStillSending('person_erased', outcome))
}
