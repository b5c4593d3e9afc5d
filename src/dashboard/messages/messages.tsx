/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { render } from 'preact-render-to-string'
import { hasRole } from '../../accounts/members.ts'
import { readMessage } from '../../messages/message-input.ts'
import { describeMessage } from '../../messages/describe-message.ts'
import { addCounts, type MessageRow } from '../../messages/messages.ts'
import { readGoals, readResults } from '../../deliveries/results.ts'
import type { FieldError } from '../../core/refusals.ts'
import { readPublicId } from '../../core/ids.ts'
import { readMessageSubject } from '../../store/audit.ts'
import { pageAnswer } from '../layout/answers.ts'
import { onForm, refuseRole, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { readMailState } from '../../monitoring/mail-state.ts'
import { createMailFrames, mailAnswer } from '../deliveries/mail-frames.ts'
import { pickSeen, takeEditor } from './message-actions.tsx'
import {
  answerEditor,
  checkFields,
  type Editing,
  findDatedPath,
  findTested,
  noteTrigger,
  previewFields,
  readSending,
  simulateFields,
} from './message-editing.tsx'
import { type Fields, textOf } from './message-field-names.ts'
import { dateOf, EMPTY_FIELDS, readFields, writeFields } from './message-form.ts'
import { previewParts } from './message-preview.tsx'
import {
  Checklist,
  CHECKLIST,
  countOpen,
  DATA_NOTES,
  DataNotes,
  faultsOf,
  lacksSender,
  listChecks,
  LiveChecks,
  OPEN_CHECKS,
  senderFaults,
} from './message-checklist.tsx'
import { REFUSED } from './message-editor.tsx'
import { PANE } from './message-panes.tsx'
import { sentenceParts } from './message-sentence.tsx'
import { describeReach, describeUncounted, REACH, REACH_DAYS } from './message-simulation.tsx'
import { LIVE_CHECKS } from './message-status.tsx'
import { createTestedEmails } from './tested-emails.ts'
import { ResultsPage } from './results-page.tsx'
import { readView } from './results-view.ts'
import { isOverwrittenBySaving } from '../../messages/message-changes.ts'
import { VersionsPage } from './message-versions-page.tsx'
import { listShownVersions } from './version-writers.ts'
import { MessagesPage } from './messages-page.tsx'
import { chooseReady } from './ready-emails.tsx'
import { Fault } from '../ui/field.tsx'
import { missingAnswer } from '../layout/missing-page.tsx'

/** An email of 50,000 characters and HTML of 100,000, at a third of nine bytes each. */
const EDITOR_BYTES = 1024 * 1024
const VERSIONS = 20
/** Rows per page, two lines each. The page stays below 2,000 pixels. */
const MESSAGES = 20
/** Events or people checked before the page is shown. islands/message.ts has all of them checked afterwards. */
const FIRST_CHECKED = 100
const NEW = 'new'

export function messagesRoutes(deps: PageDependencies) {
  const frames = createMailFrames()
  const kept = { frames, tested: createTestedEmails() }
  return new Elysia()
    .get('/apps/:app/messages', ({ request, params: { app } }) =>
      showPage(deps, request, app, async (viewer) => {
        const all = await deps.store.listMessages(viewer.app.id)
        const after = readPublicId('msg', new URL(request.url).searchParams.get('after') ?? '') ?? 0
        const rows = all.filter(({ id }) => id > after)
        const messages = await addCounts(deps.store, rows.slice(0, MESSAGES))
        const mail = await readMailState(deps, viewer.app)
        const hasMore = rows.length > MESSAGES
        return pageAnswer(request, 200, <MessagesPage {...{ viewer, mail, all, messages, after, hasMore }} />)
      }),
    )
    .get('/apps/:app/messages/:message', ({ request, params: { app, message } }) =>
      showPage(deps, request, app, (viewer) => showEditor({ deps, ...kept, request, viewer }, message)),
    )
    .get('/apps/:app/messages/:message/versions', ({ request, params: { app, message } }) =>
      showPage(deps, request, app, (viewer) => showVersions(deps, request, viewer, message)),
    )
    .get('/apps/:app/messages/:message/results', ({ request, params: { app, message } }) =>
      showPage(deps, request, app, (viewer) => showResults(deps, request, viewer, message)),
    )
    .get('/apps/:app/messages/:message/simulation', ({ request, params: { app } }) =>
      showPage(deps, request, app, async (viewer) =>
        Response.json(deps.simulations.progressOf(viewer.app.id), { headers: { 'Cache-Control': 'no-store' } }),
      ),
    )
    .get('/apps/:app/mail-frames/:frame', ({ request, params: { app, frame } }) =>
      showPage(deps, request, app, (viewer) => mailAnswer(request, frames.find(viewer.app.id, frame))),
    )
    .use(editorForms(deps, kept))
}

type Kept = Pick<Editing, 'frames' | 'tested'>

/** Viewers can preview and simulate; each action checks its role. */
const editorForms = (deps: PageDependencies, kept: Kept) =>
  new Elysia()
    .post(
      '/apps/:app/messages/:message',
      onForm(deps, { role: 'viewer', mostBytes: EDITOR_BYTES }, ofMessage(kept, takeEditor)),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/messages/:message/preview',
      onForm(deps, { role: 'viewer', mostBytes: EDITOR_BYTES }, ofMessage(kept, showTyped)),
      { parse: 'none' },
    )

type OfMessage = Who & { params: { message: string } }

/** Answers a form of a message with `take`. */
const ofMessage =
  (kept: Kept, take: (editing: Editing, fields: Fields) => Promise<Response>) =>
  async (deps: PageDependencies, request: Request, form: FormInput, { viewer, params }: OfMessage) => {
    const message = await findMessage(deps, viewer, params.message)
    if (message === 'unknown') return unknownAnswer(deps, request, viewer, params.message)
    return take({ deps, ...kept, request, viewer, message }, form.fields)
  }

/** Previews, checks or counts the form's input, for islands/message.ts. */
async function showTyped(editing: Editing, sent: Fields): Promise<Response> {
  const isEditor = hasRole(editing.viewer.member.role, 'editor')
  const fields = isEditor ? sent : pickSeen(editing, sent)
  if (fields === null) return refuseRole(editing.deps, editing.request, editing.viewer)
  const show = SHOWN.get(textOf(sent, 'show')) ?? previewTyped
  return Response.json(await show(editing, fields), { headers: { 'Cache-Control': 'no-store' } })
}

const SHOWN = new Map<string, (editing: Editing, fields: Fields) => Promise<object>>([
  ['check', checkTyped],
  ['reach', countTyped],
])

async function previewTyped({ deps, frames, viewer }: Editing, fields: Fields) {
  const shown = await previewFields({ deps, frames, viewer }, fields)
  const reading = readMessage({ ...readFields(fields), name: NEW })
  const says = 'input' in reading ? describeMessage(reading.input.content) : null
  const { fragments, mail } = previewParts({ ...shown, viewer, says, date: dateOf(fields), now: deps.clock.now() })
  return { fragments: { ...fragments, ...sentenceParts(fields) }, mail }
}

async function checkTyped(editing: Editing, fields: Fields) {
  const isEditor = hasRole(editing.viewer.member.role, 'editor')
  const check = await checkFields(editing, fields)
  const reading = readMessage(readFields(fields))
  const errors = 'errors' in reading ? reading.errors : []
  const sending = await readSending(editing)
  const triggerNote = await noteTrigger(editing, fields)
  const tested = findTested(editing, fields)
  const datedPath = findDatedPath(editing, fields)
  const { message } = editing
  const lines = listChecks({ fields, errors, check, sending, triggerNote, tested, message })
  const shown = { viewer: editing.viewer, isEditor, isLive: message?.status === 'live', fields, lines }
  return {
    fragments: {
      [REFUSED]: '',
      [CHECKLIST]: render(<Checklist {...shown} />),
      [OPEN_CHECKS]: countOpen(lines),
      [DATA_NOTES]: render(<DataNotes check={check} fields={fields} datedPath={datedPath} />),
      [LIVE_CHECKS]: render(<LiveChecks viewer={editing.viewer} lines={lines} />),
    },
    faults: renderFaults({ ...senderFaults(fields), ...faultsOfFields([...errors, ...check.problems]) }),
    // those of `readMessage` are marked when the message is saved, because it may be incomplete
    marks: renderFaults(faultsOfFields(check.problems)),
  }
}

/** No field has the sender that the app lacks. */
const faultsOfFields = (problems: FieldError[]): Record<string, string> =>
  faultsOf(problems.filter((one) => !lacksSender(one)))

const renderFaults = (faults: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(faults).map(([name, error]) => [name, render(<Fault id={name} error={error} />)]))

async function countTyped(editing: Editing, fields: Fields) {
  const simulated = await simulateFields(editing, fields, REACH_DAYS)
  const says = simulated.errors ? describeUncounted(fields, simulated.errors) : describeReach(simulated)
  return { fragments: { [REACH]: says } }
}

/** null for a new message. Only messages of the viewer's app are found. */
async function findMessage(
  { store }: Pick<PageDependencies, 'store'>,
  viewer: Viewer,
  id: string,
): Promise<MessageRow | null | 'unknown'> {
  if (id === NEW) return null
  const number = readPublicId('msg', id)
  return (number === null ? null : await store.findMessage(viewer.app.id, number)) ?? 'unknown'
}

const RECENT_DELETIONS = 200

async function unknownAnswer(
  { store }: Pick<PageDependencies, 'store'>,
  request: Request,
  viewer: Viewer,
  id: string,
): Promise<Response> {
  const query = { action: 'message.delete', before: null, limit: RECENT_DELETIONS }
  const deletions = await store.listAudit({ ...query, accountId: viewer.account.id, kind: 'changes' })
  const isDeleted = deletions.some((one) => readMessageSubject(one)?.id === id)
  return missingAnswer(request, viewer, isDeleted ? 'message_deleted' : 'message_unknown')
}

type Asking = Omit<Editing, 'message'>

async function showEditor(asking: Asking, id: string): Promise<Response> {
  const { deps, request, viewer } = asking
  const message = await findMessage(deps, viewer, id)
  if (message === 'unknown') return unknownAnswer(deps, request, viewer, id)
  if (message === null && !hasRole(viewer.member.role, 'editor')) return refuseRole(deps, request, viewer)
  if (message === null) return showNew(asking)
  const pane = new URL(request.url).searchParams.get(PANE) ?? ''
  const fields = { ...writeFields(message), basedOn: String(message.updatedAt), [PANE]: pane }
  return answerEditor({ ...asking, message }, { fields, check: await checkFields(asking, fields, FIRST_CHECKED) })
}

async function showNew(asking: Asking): Promise<Response> {
  const { deps, request, viewer } = asking
  const names = (await deps.store.listMessages(viewer.app.id)).map(({ name }) => name)
  const { fields = EMPTY_FIELDS, ...ready } = chooseReady(new URL(request.url).searchParams.get('from'), names)
  const check = await checkFields(asking, fields, FIRST_CHECKED)
  return answerEditor({ ...asking, message: null }, { fields, ready, check })
}

async function showResults(deps: PageDependencies, request: Request, viewer: Viewer, id: string): Promise<Response> {
  const message = await findMessage(deps, viewer, id)
  if (message === 'unknown' || message === null) return unknownAnswer(deps, request, viewer, id)
  const view = readView(new URL(request.url).searchParams, deps.clock.now())
  const [counts, results, goals, reports, expired] = await Promise.all([
    deps.store.countEmails(message.id),
    readResults(deps.store, message.id, view.range),
    readGoals(deps.store, message, view.range),
    deps.store.listLastReports(viewer.app.id),
    deps.store.findExpired(viewer.app.id),
  ])
  const reportsDelivered = reports.some(({ kind }) => kind === 'delivered')
  const page = <ResultsPage {...{ viewer, message, counts, view, results, goals, reportsDelivered, expired }} />
  return pageAnswer(request, view.error === null ? 200 : 400, page)
}

async function showVersions(deps: PageDependencies, request: Request, viewer: Viewer, id: string): Promise<Response> {
  const message = await findMessage(deps, viewer, id)
  if (message === 'unknown' || message === null) return unknownAnswer(deps, request, viewer, id)
  const asked = new URL(request.url).searchParams
  const before = Number(asked.get('before')) || null
  const found = await listShownVersions(deps, viewer, { messageId: message.id, before, limit: VERSIONS + 1 })
  const versions = found.slice(0, VERSIONS)
  const number = Number(asked.get('version')) || (versions[0]?.version ?? message.version)
  const [shown, previous, hasDeliveries] = await Promise.all([
    deps.store.findVersion(message.id, number),
    deps.store.findVersion(message.id, number - 1),
    deps.store.hasDeliveries(message.id),
  ])
  if (!shown) return missingAnswer(request, viewer, 'version_unknown')
  const path = new URL(request.url).pathname
  const page = (
    <VersionsPage
      viewer={viewer}
      message={message}
      versions={versions}
      isOverwritten={isOverwrittenBySaving(message, () => hasDeliveries)}
      shown={{ version: number, content: shown.content, before: previous?.content ?? null }}
      newest={before === null ? null : path}
      older={found.length > VERSIONS ? `${path}?before=${versions.at(-1)?.version}` : null}
      now={deps.clock.now()}
    />
  )
  return pageAnswer(request, 200, page)
}
