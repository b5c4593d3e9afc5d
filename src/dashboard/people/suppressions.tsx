/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { createMemberNames, hasRole } from '../../accounts/members.ts'
import type { Limit } from '../../accounts/limits.ts'
import { MOST_COUNTED } from '../../core/count.ts'
import { type FieldError, REFUSALS } from '../../core/refusals.ts'
import {
  addSuppressions,
  exportSuppressions,
  readRemoval,
  readSuppressionList,
  removeSuppression,
  readStart,
  type SuppressionListText,
  type SuppressionCursor,
  type SuppressionFilter,
  type SuppressionReason,
} from '../../people/suppressions.ts'
import { createSuppressionSyncs, type SuppressionSyncs } from '../../people/suppression-sync.ts'
import { readMailState } from '../../monitoring/mail-state.ts'
import { type Exported, exportRoutes } from '../access/export.tsx'
import { nameExport, pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { countFlash, type Flash } from '../layout/flash.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { createQuerySealer } from '../layout/sealed-query.ts'
import { doneAnswer, onForm, refuseRole, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { AddSuppressionsPage, RemoveSuppressionPage } from './suppression-forms.tsx'
import { SuppressionsPage, SYNC, type SyncState } from './suppressions-page.tsx'

const PAGE_ROWS = 30
/** As long as an address. */
const MOST_TYPED = 254
/** Room for 100,000 addresses. */
const FILE_BYTES = 8 * 1024 * 1024

/** Reading a provider's list again is safe, but not free. */
const SYNCS = { max: 10, windowMs: 600_000 } as const satisfies Limit
/** A short list is read before the page is shown again. */
const SYNC_SHOWN_MS = 3_000

type Deps = PageDependencies & { syncs: SuppressionSyncs }

/** Addresses are sent by POST, so that they don't appear in URLs. */
export function suppressionsRoutes(given: PageDependencies) {
  const deps = { ...given, syncs: createSuppressionSyncs(given) }
  return new Elysia()
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
    .post(
      '/apps/:app/suppressions/sync',
      onForm(deps, { role: 'editor' }, (_, request, __, { viewer }) => syncWithProvider(deps, request, viewer)),
      { parse: 'none' },
    )
}

/** What the list shows: by reason, or by the start of an address, as it was typed. */
type SuppressionsView = { reason: SuppressionReason | null; search: string; before: SuppressionCursor | null }

/** The address is sealed. */
function createPaths(key: string, appId: string) {
  const { seal, open } = createQuerySealer(key, `suppressions ${appId}`)
  return {
    read(url: string): SuppressionsView {
      const query = new URL(url).searchParams
      const found = open(query.get('find'))
      const search = typeof found === 'string' ? found : ''
      const reason = search === '' ? (REASONS.find((one) => one === query.get('reason')) ?? null) : null
      return { reason, search, before: readCursor(query.get('before')) }
    },
    pathOf({ reason, search, before }: SuppressionsView, page = ''): string {
      const query = new URLSearchParams({
        ...(search !== '' && { find: seal(search) }),
        ...(reason && { reason }),
        ...(before && { before: `${before.createdAt}.${before.emailHash}` }),
      })
      return `${pathOf(appId, 'suppressions')}${page}${query.size === 0 ? '' : `?${query}`}`
    },
  }
}

/** The list, searched for one address. */
export const findSuppressionPath = (key: string, appId: string, email: string): string =>
  createPaths(key, appId).pathOf({ reason: null, search: email, before: null })

const toFilter = ({ reason, search }: SuppressionsView): SuppressionFilter => ({
  reason,
  start: search === '' ? null : readStart(search),
})

/** Cursor: time and hash, which has no dot. */
function readCursor(text: string | null): SuppressionCursor | null {
  const [, createdAt, emailHash] = /^(\d{1,15})\.([\w-]{43})$/.exec(text ?? '') ?? []
  return createdAt === undefined || emailHash === undefined ? null : { createdAt: Number(createdAt), emailHash }
}

const REASONS: readonly SuppressionReason[] = ['unsubscribed', 'bounced', 'complained']

async function showSuppressions(
  deps: Deps,
  request: Request,
  viewer: Viewer,
  refused: { status: number; notice?: string } = { status: 200 },
): Promise<Response> {
  const { store, clock, previewKey } = deps
  const { id: appId, publicId } = viewer.app
  const paths = createPaths(previewKey, publicId)
  const view = paths.read(request.url)
  const { reason, start } = toFilter(view)
  const found = await (start === null
    ? store.listSuppressions({ appId, reason, before: view.before, limit: PAGE_ROWS + 1 })
    : store.searchSuppressions({ appId, start, limit: PAGE_ROWS + 1 }))
  const rows = found.slice(0, PAGE_ROWS)
  const last = start === null && found.length > PAGE_ROWS ? rows.at(-1) : undefined
  const page = (
    <SuppressionsPage
      viewer={viewer}
      mail={await readMailState(deps, viewer.app)}
      reason={reason}
      search={view.search}
      rows={rows}
      count={await store.countSuppressions({ appId, reason, start }, MOST_COUNTED + 1)}
      sync={await readSyncState(deps, viewer)}
      notice={refused.notice}
      isFirst={view.before === null}
      older={last ? paths.pathOf({ ...view, before: last }) : null}
      nameMember={createMemberNames(await store.listMembers(viewer.account.id))}
      exportPath={paths.pathOf({ ...view, before: null }, '/export')}
      now={clock.now()}
    />
  )
  return pageAnswer(request, refused.status, page)
}

/** The installation's provider is shared, so its list includes other accounts' addresses. */
async function findList({ store, mailer }: PageDependencies, { app }: Viewer) {
  const settings = await store.mailSettings(app.id)
  const isOfOthers = settings.smtpUrl === null && !(await store.senderFacts(app.accountId)).isOnlyAccount
  return isOfOthers ? null : mailer.findSuppressionList(settings)
}

async function readSyncState(deps: Deps, viewer: Viewer): Promise<SyncState> {
  const { id: appId } = viewer.app
  return {
    list: await findList(deps, viewer),
    progress: deps.syncs.findProgress(appId),
    last: await deps.store.findSuppressionSync(appId),
  }
}

/** A longer sync continues after the response. */
async function syncWithProvider(deps: Deps, request: Request, viewer: Viewer): Promise<Response> {
  const { syncs, limits } = deps
  const path = `${pathOf(viewer.app.publicId, 'suppressions')}#${SYNC}`
  const list = await findList(deps, viewer)
  if (list === null || 'why' in list) return redirectAnswer(path)
  const { allowed } = await limits.takeAlone(`suppression-sync:${viewer.account.id}`, SYNCS)
  if (allowed === 0) {
    const { status, message } = REFUSALS.rate_limited
    return showSuppressions(deps, request, viewer, { status, notice: message })
  }
  await Promise.race([syncs.start(viewer.app, list, viewer.member.id), Bun.sleep(SYNC_SHOWN_MS)])
  return redirectAnswer(path)
}

function findExported(deps: PageDependencies, request: Request, { viewer: { app } }: { viewer: Viewer }): Exported {
  const view = createPaths(deps.previewKey, app.publicId).read(request.url)
  const { reason, search } = view
  const filters = [...(reason === null ? [] : ['reason']), ...(search === '' ? [] : ['search'])]
  return {
    what: 'suppressions',
    filters,
    pieces: exportSuppressions(deps, app, toFilter(view)),
    file: { name: nameExport('suppressions', { app, filters, now: deps.clock.now() }), format: 'csv' },
  }
}

/** To the list of what is found. */
const search = ({ previewKey }: PageDependencies, _: Request, form: FormInput, { viewer: { app } }: Who): Response =>
  redirectAnswer(
    createPaths(previewKey, app.publicId).pathOf({
      reason: null,
      search: form.text('email').trim().slice(0, MOST_TYPED),
      before: null,
    }),
  )

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

/** Browsers can't keep it. */
const CHOOSE_AGAIN: FieldError = { field: 'file', code: 'required', message: 'Choose the file again.' }

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
  const withLost = (errors: FieldError[]): FieldError[] =>
    text.file === '' || errors.some(({ field }) => field === 'file') ? errors : [...errors, CHOOSE_AGAIN]
  if ('errors' in reading) return showAdding(request, viewer, { status: 400, text, errors: withLost(reading.errors) })
  const { input } = reading
  const outcome = await addSuppressions(deps, viewer.app, { input, actor: viewer.member.id })
  if ('refusal' in outcome) {
    const { status, message } = REFUSALS[outcome.refusal]
    return showAdding(request, viewer, { status, text, errors: withLost([]), notice: message })
  }
  const { added, stillSending } = outcome
  const flashes: Flash[] = [
    ['addresses_added', added],
    ...countFlash('addresses_listed', input.rows.length - added),
    ...countFlash('lines_repeated', input.repeated),
    ...countFlash(`lines_as_${input.assumed.reason}`, input.assumed.lines),
    ...countFlash('lines_skipped', input.wrongLines.length, input.wrongLines),
    ...(stillSending === 0 ? [] : (['still_sending'] as const)),
  ]
  return doneAnswer(deps, viewer, 'suppressions', ...flashes)
}

/** The first form asks for the reason; the second one removes the address. */
async function removeAddress(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const text = { email: form.text('email'), why: form.text('why') }
  const suppressed = await deps.store.findSuppressed(viewer.app.id, text.email)
  const isUnsubscribed = suppressed?.unsubscribedAt != null
  const hasComplained = suppressed?.reason === 'complained'
  const show = (status: number, errors: Refused['errors'] = [], notice?: string) =>
    pageAnswer(
      request,
      status,
      <RemoveSuppressionPage {...{ viewer, text, errors, notice, isUnsubscribed, hasComplained }} />,
    )
  if (form.text('confirmed') === '') return show(200)
  const reading = readRemoval(text)
  if ('errors' in reading) return show(400, reading.errors)
  const outcome = await removeSuppression(deps, viewer.app, { input: reading.input, actor: viewer.member.id })
  if (outcome === 'not_listed') return show(400, [], NOT_LISTED)
  if ('refusal' in outcome) return show(REFUSALS[outcome.refusal].status, [], REFUSALS[outcome.refusal].message)
  return doneAnswer(deps, viewer, 'suppressions', isUnsubscribed ? 'address_unsubscribed' : 'address_freed')
}

const NOT_LISTED = 'This address is not on the list.'
