/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { publicId, readPublicId } from '../../core/ids.ts'
import { REFUSALS } from '../../core/refusals.ts'
import {
  addSuppression,
  findSuppressed,
  readSuppression,
  removeSuppression,
  type SuppressionText,
} from '../../people/suppressions.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { showPage, takeForm } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer } from '../layout/viewer.ts'
import { flashCookie, withStillSending } from '../layout/flash.ts'
import type { Form } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { readMailState } from '../deliveries/mail-state.ts'
import { type Asked, SuppressionsPage } from './suppressions-page.tsx'

const PAGE_ROWS = 50

/** Addresses are sent by POST, so that they don't appear in URLs. */
export const suppressionsRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/suppressions', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showSuppressions(deps, request, viewer)),
    )
    .post(
      '/apps/:app/suppressions',
      ({ request, params: { app } }) =>
        takeForm(deps, request, { appId: app, role: 'viewer' }, (form, viewer) => lookUp(deps, request, viewer, form)),
      { parse: 'none' },
    )
    .post('/apps/:app/suppressions/add', ({ request, params: { app } }) => takeChange(deps, request, app, true), {
      parse: 'none',
    })
    .post('/apps/:app/suppressions/remove', ({ request, params: { app } }) => takeChange(deps, request, app, false), {
      parse: 'none',
    })

const takeChange = (deps: PageDependencies, request: Request, appId: string, isAdding: boolean): Promise<Response> =>
  takeForm(deps, request, { appId, role: 'editor' }, (form, viewer) =>
    changeList(deps, request, viewer, { form, isAdding }),
  )

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

async function lookUp(deps: PageDependencies, request: Request, viewer: Viewer, form: Form): Promise<Response> {
  const email = form.text('email')
  const found = await findSuppressed(deps, viewer.app, email)
  if (found !== 'invalid') return showSuppressions(deps, request, viewer, { search: { email, found } })
  const error = 'Give one whole email address.'
  return showSuppressions(deps, request, viewer, { status: 400, search: { email, error } })
}

type Changing = { form: Form; isAdding: boolean }

async function changeList(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { form, isAdding }: Changing,
): Promise<Response> {
  const text: SuppressionText = {
    email: form.text('email'),
    why: form.text('why'),
    reason: isAdding ? form.text('reason') : 'unsubscribed',
  }
  const reading = readSuppression(text)
  const name = isAdding ? 'adding' : 'removing'
  if ('errors' in reading) {
    return showSuppressions(deps, request, viewer, { status: 400, [name]: { text, errors: reading.errors } })
  }
  const change = isAdding ? addSuppression : removeSuppression
  const outcome = await change(deps, viewer.app, { input: reading.input, actor: viewer.member.id })
  if (outcome === 'not_listed') {
    const error = { field: 'email', code: 'invalid', message: 'This address is not on the list.' } as const
    return showSuppressions(deps, request, viewer, { status: 400, [name]: { text, errors: [error] } })
  }
  if ('refusal' in outcome) {
    const { status, message } = REFUSALS[outcome.refusal]
    return showSuppressions(deps, request, viewer, { status, notice: message, [name]: { text, errors: [] } })
  }
  const codes =
    'stillSending' in outcome ? withStillSending('address_suppressed', outcome) : (['address_freed'] as const)
  return redirectAnswer(pathOf(viewer.app.publicId, 'suppressions'), [flashCookie(deps.baseUrl, ...codes)])
}
