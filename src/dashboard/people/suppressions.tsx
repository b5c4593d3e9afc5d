/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { hasRole } from '../../accounts/members.ts'
import { REFUSALS } from '../../core/refusals.ts'
import {
  addSuppressions,
  exportSuppressions,
  readRemoval,
  readSuppressionList,
  removeSuppression,
  searchSuppressions,
  type SuppressionListText,
  type SuppressionReason,
} from '../../people/suppressions.ts'
import { readMailState } from '../deliveries/mail-state.ts'
import { type Exported, exportRoutes } from '../access/export.tsx'
import { nameExport, pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { countFlash, type Flash } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { doneAnswer, onForm, refuseRole, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { AddSuppressionsPage, RemoveSuppressionPage } from './suppression-forms.tsx'
import { SuppressionsPage } from './suppressions-page.tsx'

const PAGE_ROWS = 30
/** Larger lists are counted to here. */
const COUNTED = 10_000
/** Room for 100,000 addresses. */
const FILE_BYTES = 8 * 1024 * 1024

/** Addresses are sent by POST, so that they don't appear in URLs. */
export const suppressionsRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/suppressions', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showSuppressions(deps, request, viewer)),
    )
    .use(exportRoutes(deps, '/apps/:app/suppressions/export', { page: 'deliveries', find: findExported }))
    .get('/apps/:app/suppressions/new', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) =>
        hasRole(viewer.member.role, 'editor') ? showAdding(request, viewer) : refuseRole(deps, request, viewer),
      ),
    )
    .post('/apps/:app/suppressions', onForm(deps, { role: 'viewer' }, search), { parse: 'none' })
    .post(
      '/apps/:app/suppressions/new',
      onForm(deps, { role: 'editor', mostBytes: FILE_BYTES, hasFiles: true }, addAddresses),
      {
        parse: 'none',
      },
    )
    .post('/apps/:app/suppressions/remove', onForm(deps, { role: 'editor' }, removeAddress), { parse: 'none' })

/** Cursor: time and hash, which has no dot. */
function readCursor(text: string | null): { createdAt: number; emailHash: string } | null {
  const [, createdAt, emailHash] = /^(\d{1,15})\.([\w-]{43})$/.exec(text ?? '') ?? []
  return createdAt === undefined || emailHash === undefined ? null : { createdAt: Number(createdAt), emailHash }
}

const REASONS: readonly SuppressionReason[] = ['unsubscribed', 'bounced', 'complained']

async function readShared(deps: PageDependencies, viewer: Viewer) {
  const counted = await deps.store.countSuppressions(viewer.app.id, COUNTED + 1)
  const count = Math.min(counted, COUNTED).toLocaleString('en')
  return {
    viewer,
    mail: await readMailState(deps, viewer.app),
    count: counted > COUNTED ? `${count}+` : count,
    now: deps.clock.now(),
  }
}

async function showSuppressions(deps: PageDependencies, request: Request, viewer: Viewer): Promise<Response> {
  const query = new URL(request.url).searchParams
  const before = readCursor(query.get('before'))
  const reason = REASONS.find((one) => one === query.get('reason')) ?? null
  const asked = { appId: viewer.app.id, reason, before, limit: PAGE_ROWS + 1 }
  const found = await deps.store.listSuppressions(asked)
  const rows = found.slice(0, PAGE_ROWS)
  const last = found.length > PAGE_ROWS ? rows.at(-1) : undefined
  const older =
    last && new URLSearchParams({ ...(reason && { reason }), before: `${last.createdAt}.${last.emailHash}` })
  const page = (
    <SuppressionsPage
      {...await readShared(deps, viewer)}
      reason={reason}
      rows={rows}
      search={null}
      isFirst={before === null}
      older={older ? `${pathOf(viewer.app.publicId, 'suppressions')}?${older}` : null}
    />
  )
  return pageAnswer(request, 200, page)
}

const findExported = (deps: PageDependencies, _: Request, { viewer: { app } }: { viewer: Viewer }): Exported => ({
  what: 'suppressions',
  pieces: exportSuppressions(deps, app.id),
  file: { name: nameExport('suppressions', app, deps.clock.now()), format: 'csv' },
})

async function search(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const text = form.text('email')
  if (text.trim() === '') return redirectAnswer(pathOf(viewer.app.publicId, 'suppressions'))
  const found = await searchSuppressions(deps, viewer.app, text, PAGE_ROWS + 1)
  const page = (
    <SuppressionsPage
      {...await readShared(deps, viewer)}
      reason={null}
      rows={found.slice(0, PAGE_ROWS)}
      search={{ text, hasMore: found.length > PAGE_ROWS }}
      isFirst
      older={null}
    />
  )
  return pageAnswer(request, 200, page)
}

const NO_LIST: SuppressionListText = { addresses: '', file: '', why: '', reason: 'unsubscribed' }

type Refused = {
  status: number
  text: SuppressionListText
  errors: Parameters<typeof AddSuppressionsPage>[0]['errors']
  notice?: string
}

const showAdding = (
  request: Request,
  viewer: Viewer,
  { status, ...refused }: Refused = { status: 200, text: NO_LIST, errors: [] },
): Response => pageAnswer(request, status, <AddSuppressionsPage viewer={viewer} {...refused} />)

async function addAddresses(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const text = {
    addresses: form.text('addresses'),
    file: form.text('file'),
    why: form.text('why'),
    reason: form.text('reason'),
  }
  const reading = await readSuppressionList(text)
  if ('errors' in reading) return showAdding(request, viewer, { status: 400, text, errors: reading.errors })
  const { input } = reading
  const outcome = await addSuppressions(deps, viewer.app, { input, actor: viewer.member.id })
  if ('refusal' in outcome) {
    const { status, message } = REFUSALS[outcome.refusal]
    return showAdding(request, viewer, { status, text, errors: [], notice: message })
  }
  const { added, stillSending } = outcome
  const flashes: Flash[] = [
    ['addresses_added', added],
    ...countFlash('addresses_listed', input.rows.length - added),
    ...countFlash(`lines_as_${input.assumed.reason}`, input.assumed.lines),
    ...countFlash('lines_skipped', input.wrongLines.length, input.wrongLines),
    ...(stillSending === 0 ? [] : (['still_sending'] as const)),
  ]
  return doneAnswer(deps, viewer, 'suppressions', ...flashes)
}

/** The first form asks why; the second removes. */
async function removeAddress(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const text = { email: form.text('email'), why: form.text('why') }
  const show = (status: number, errors: Refused['errors'] = [], notice?: string) =>
    pageAnswer(request, status, <RemoveSuppressionPage {...{ viewer, text, errors, notice }} />)
  if (form.text('confirmed') === '') return show(200)
  const reading = readRemoval(text)
  if ('errors' in reading) return show(400, reading.errors)
  const outcome = await removeSuppression(deps, viewer.app, { input: reading.input, actor: viewer.member.id })
  if (outcome === 'not_listed') return show(400, [], NOT_LISTED)
  if ('refusal' in outcome) return show(REFUSALS[outcome.refusal].status, [], REFUSALS[outcome.refusal].message)
  return doneAnswer(deps, viewer, 'suppressions', 'address_freed')
}

const NOT_LISTED = 'This address is not on the list.'
