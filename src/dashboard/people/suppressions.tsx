/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { publicId, readPublicId } from '../../core/ids.ts'
import { type FieldError, REFUSALS } from '../../core/refusals.ts'
import { addSuppression, findSuppressed, readSuppression, removeSuppression } from '../../people/suppressions.ts'
import { pageAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { withStillSending } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { readMailState } from '../deliveries/mail-state.ts'
import { type Asked, SuppressionsPage } from './suppressions-page.tsx'

const PAGE_ROWS = 50

/** Addresses are sent by POST, so that they don't appear in URLs. */
export const suppressionsRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/suppressions', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showSuppressions(deps, request, viewer)),
    )
    .post('/apps/:app/suppressions', onForm(deps, { role: 'viewer' }, lookUp), { parse: 'none' })
    .post('/apps/:app/suppressions/add', onForm(deps, { role: 'editor' }, addAddress), { parse: 'none' })
    .post('/apps/:app/suppressions/remove', onForm(deps, { role: 'editor' }, removeAddress), { parse: 'none' })

/** Cursor: time and hash, which has no dot. */
function readCursor(text: string | null): { createdAt: number; emailHash: string } | null {
  const [, createdAt, emailHash] = /^(\d{1,15})\.([\w-]{43})$/.exec(text ?? '') ?? []
  return createdAt === undefined || emailHash === undefined ? null : { createdAt: Number(createdAt), emailHash }
}

async function showSuppressions(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, ...asked }: Asked & { status?: number } = {},
): Promise<Response> {
  const query = new URL(request.url).searchParams
  const [before, beforePerson] = [readCursor(query.get('before')), readPublicId('con', query.get('people') ?? '')]
  const found = await deps.store.listSuppressions(viewer.app.id, before, PAGE_ROWS + 1)
  const lines = found.slice(0, PAGE_ROWS)
  const last = found.length > PAGE_ROWS ? lines.at(-1) : undefined
  const { people, next } = await deps.store.listRefusing(viewer.app.id, beforePerson, PAGE_ROWS)
  const page = (
    <SuppressionsPage
      viewer={viewer}
      mail={await readMailState(deps, viewer.app)}
      asked={asked}
      list={{ rows: lines, isFirst: before === null, older: last ? `${last.createdAt}.${last.emailHash}` : null }}
      people={{ rows: people, isFirst: beforePerson === null, older: next === null ? null : publicId('con', next) }}
      now={deps.clock.now()}
    />
  )
  return pageAnswer(request, status, page)
}

async function lookUp(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const email = form.text('email')
  const found = await findSuppressed(deps, viewer.app, email)
  if (found !== 'invalid') return showSuppressions(deps, request, viewer, { search: { email, found } })
  const errors = [{ field: 'email', message: 'Give one whole email address.' }]
  return showSuppressions(deps, request, viewer, { status: 400, search: { email, errors } })
}

async function addAddress(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const text = { email: form.text('email'), why: form.text('why'), reason: form.text('reason') }
  const refuse = (status: number, errors: FieldError[], notice?: string) =>
    showSuppressions(deps, request, viewer, { status, notice, adding: { text, errors } })
  const reading = readSuppression(text)
  if ('errors' in reading) return refuse(400, reading.errors)
  const outcome = await addSuppression(deps, viewer.app, { input: reading.input, actor: viewer.member.id })
  if ('refusal' in outcome) return refuse(REFUSALS[outcome.refusal].status, [], REFUSALS[outcome.refusal].message)
  return doneAnswer(deps, viewer, 'suppressions', ...withStillSending('address_suppressed', outcome))
}

async function removeAddress(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const text = { email: form.text('email'), why: form.text('why'), reason: 'unsubscribed' }
  const refuse = (status: number, errors: FieldError[], notice?: string) =>
    showSuppressions(deps, request, viewer, { status, notice, removing: { text, errors } })
  const reading = readSuppression(text)
  if ('errors' in reading) return refuse(400, reading.errors)
  const outcome = await removeSuppression(deps, viewer.app, { input: reading.input, actor: viewer.member.id })
  if (outcome === 'not_listed') return refuse(400, [NOT_LISTED])
  if ('refusal' in outcome) return refuse(REFUSALS[outcome.refusal].status, [], REFUSALS[outcome.refusal].message)
  return doneAnswer(deps, viewer, 'suppressions', 'address_freed')
}

const NOT_LISTED: FieldError = { field: 'email', code: 'invalid', message: 'This address is not on the list.' }
