/** @jsxImportSource preact */
import type { VNode } from 'preact'
import { makeMailbox } from '../../core/mail-addresses.ts'
import { readEmail } from '../../core/email.ts'
import { writeActorFirst } from '../../accounts/audit.ts'
import { allowHost } from '../../accounts/app-settings.ts'
import { saveSender } from '../../accounts/sender-settings.ts'
import { changeSenders } from '../../accounts/senders.ts'
import { hasRole, listRecipients } from '../../accounts/members.ts'
import { readMessage } from '../../messages/message-input.ts'
import { diffVersions } from '../../messages/message-versions.ts'
import { isCapturing } from '../../deliveries/delivery-lists.ts'
import { sendTestMail } from '../../deliveries/message-preview.ts'
import { describeStillSending } from '../../core/hand-overs.ts'
import {
  deleteMessage,
  type MessageContent,
  type MessageStatus,
  MOVE_WAITING,
  type SavedMessage,
  saveMessage,
  setMessageStatus,
} from '../../messages/messages.ts'
import type { LiveCheck } from '../../messages/message-checks.ts'
import { type FieldError, isRefusal, REFUSALS, type Refusal, refuse } from '../../core/refusals.ts'
import { redirectAnswer } from '../layout/answers.ts'
import { messagePath } from './messages-page.tsx'
import { refuseRole } from '../layout/require-member.tsx'
import { type Flash, flashCookie, withStillSending } from '../layout/flash.ts'
import { pathOf } from '../layout/frame.tsx'
import { answerEditor, checkFields, type Editing, editorPath, readContext, simulateFields } from './message-editing.tsx'
import { type Fields, textOf } from './message-field-names.ts'
import { changeRows, nameCopy, readFields, readMail, saysSame, writeFields } from './message-form.ts'
import { ALLOW_HOST, describeWrongSender, FIX, isOfText, NEW_SENDER } from './message-checklist.tsx'
import { withPane } from './message-panes.tsx'
import { REACH_DAYS } from './message-simulation.tsx'
import { refuseTest } from './tested-emails.ts'
import { missingAnswer } from '../layout/missing-page.tsx'
import type { Viewer } from '../layout/viewer.ts'
import { EDITOR } from './editor-props.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Diff } from '../ui/diff.tsx'
import { SentText } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import { listShownVersions, type ShownVersion } from './version-writers.ts'

/** Runs the action of the pressed button. The answer keeps unsaved input. Viewers see the stored message. */
export async function takeEditor(editing: Editing, sent: Fields): Promise<Response> {
  const [action = '', ...words] = textOf(sent, 'do').split(' ')
  const isEditor = hasRole(editing.viewer.member.role, 'editor')
  const fields = isEditor ? sent : pickSeen(editing, sent)
  if (action === 'preview' && fields) return answerEditor(editing, { fields })
  if (action === 'simulate' && fields) return simulate(editing, fields, Number(words[0]))
  if (!isEditor) return refuseRole(editing.deps, editing.request, editing.viewer)
  if (action === 'test') return sendTest(editing, sent)
  if (action === 'delete') return remove(editing, sent)
  if (action === NEW_SENDER) return addSender(editing, sent)
  if (action === ALLOW_HOST) return addHost(editing, sent, words[0] ?? '')
  if (action === 'copy') return copy(editing, sent)
  if (action === 'restore') return restore(editing, sent, Number(words[0]))
  if (action === 'paused' || action === 'draft') return setStatus(editing, sent, action)
  if (action === FIX) return answerEditor(editing, { fields: await applyFix(editing, sent, words) })
  const changed = changeRows(sent, textOf(sent, 'do'))
  return changed ? answerEditor(editing, { fields: changed }) : saveAs(editing, sent, action)
}

async function saveAs(editing: Editing, sent: Fields, action: string): Promise<Response> {
  if (action !== 'live') return save(editing, sent, null)
  const isCaptured = await isCapturing(editing.deps, editing.viewer.app)
  return save(editing, sent, 'live', isCaptured ? 'message_live_captured' : 'message_live')
}

/** Applies a proposed fix without saving. */
async function applyFix(editing: Editing, fields: Fields, [name = '', ...rest]: string[]): Promise<Fields> {
  const check = await checkFields(editing, fields)
  const from = rest.join(' ')
  const found = check.problems.find(({ field, replace }) => field === name && replace?.from === from)
  return found?.replace
    ? { ...fields, [name]: textOf(fields, name).replaceAll(from, () => found.replace?.by ?? from) }
    : fields
}

/** Viewers can only choose the sample. */
export const pickSeen = ({ message }: Editing, { sample = '', view = '', language = '' }: Fields): Fields | null =>
  message && { ...writeFields(message), sample, view, language }

const byMember = ({ deps, viewer }: Editing) => ({
  accountId: viewer.account.id,
  appId: viewer.app.id,
  actor: viewer.member.id,
  at: deps.clock.now(),
})

/** Shows a refusal next to its fields, or on top. */
function answerRefusal(editing: Editing, fields: Fields, refusal: Refusal, check?: LiveCheck): Promise<Response> {
  const { status, message } = REFUSALS[refusal.refusal]
  const text = refusal.message ?? message
  if (refusal.refusal === 'message_name_taken') {
    return answerEditor(editing, { fields, errors: [{ field: 'name', code: 'conflict', message: text }], status })
  }
  if (refusal.refusal !== 'invalid_field' || refusal.field === MOVE_WAITING)
    return answerEditor(editing, { fields, notice: text, status })
  const errors = refusal.errors ?? [{ field: refusal.field ?? '', code: 'invalid', message: text }]
  return answerEditor(editing, { fields, errors, check })
}

type SaveFlash = 'message_saved' | 'message_changed_live' | 'message_moved' | 'message_live' | 'message_live_captured'

async function save(
  editing: Editing,
  fields: Fields,
  status: MessageStatus | null,
  flash: SaveFlash | Restoring = editing.message?.status === 'live' ? 'message_changed_live' : 'message_saved',
): Promise<Response> {
  const { message } = editing
  const typed = message && saysSame(fields, message) ? { name: message.name, ...message.content } : readFields(fields)
  const value = status === null ? typed : { ...typed, status }
  const movesWaiting = textOf(fields, MOVE_WAITING) !== ''
  const origin = typeof flash === 'string' ? undefined : flash
  const draft = message
    ? { id: message.id, value, basedOn: Number(textOf(fields, 'basedOn')), movesWaiting, origin }
    : { id: null, value }
  let check: LiveCheck | undefined
  const context = { ...readContext(editing), noteCheck: (found: LiveCheck) => (check = found) }
  const outcome = await saveMessage(context, byMember(editing), draft)
  if (isRefusal(outcome) && outcome.refusal === 'message_changed') return answerChanged(editing, fields)
  if (isRefusal(outcome)) return answerRefusal(editing, fields, outcome, check)
  const path = messagePath(editing.viewer.app.publicId, outcome.id)
  const said = typeof flash === 'string' ? flash : flashRestored(flash, outcome)
  const done = movesWaiting && status === null ? 'message_moved' : said
  const cookie = flashCookie(editing.deps.baseUrl, ...withStillSending(done, outcome))
  return redirectAnswer(withPane(path, fields), [cookie])
}

/** An earlier version that is saved again. */
type Restoring = { version: number }

const flashRestored = ({ version }: Restoring, saved: SavedMessage): Flash =>
  saved.change === 'unchanged' ? ['message_same', version] : ['message_restored', version, saved.version]

/** Saves an earlier version again. If it can't be saved, the editor shows it with its problems. */
async function restore(editing: Editing, { basedOn = '' }: Fields, version: number): Promise<Response> {
  const { deps, message } = editing
  const found = message && Number.isSafeInteger(version) ? await deps.store.findVersion(message.id, version) : null
  if (!message || !found) return missingAnswer(editing.request, editing.viewer, 'message_unknown')
  const fields = { ...writeFields({ name: message.name, content: found.content }), basedOn }
  return save(editing, fields, null, { version })
}

/** Saves the form's input as a new draft. */
async function copy(editing: Editing, fields: Fields): Promise<Response> {
  const { deps, viewer } = editing
  const names = (await deps.store.listMessages(viewer.app.id)).map(({ name }) => name)
  const value = { ...readFields(fields), name: nameCopy(textOf(fields, 'name'), names) }
  const outcome = await saveMessage(readContext(editing), byMember(editing), { id: null, value, origin: 'copy' })
  if (isRefusal(outcome)) return answerRefusal(editing, fields, outcome)
  return redirectAnswer(messagePath(viewer.app.publicId, outcome.id), [flashCookie(deps.baseUrl, 'message_copied')])
}

/** Owners add the app's first sender address. The form's input stays unsaved. */
async function addSender(editing: Editing, fields: Fields): Promise<Response> {
  const { deps, viewer } = editing
  if (!hasRole(viewer.member.role, 'owner')) return refuseRole(deps, editing.request, viewer)
  const sender = textOf(fields, NEW_SENDER)
  const add = readEmail(sender)?.email
  if (add === undefined) {
    return answerEditor(editing, { fields, notice: describeWrongSender(sender), status: 400 })
  }
  const changed = await changeSenders(deps.store, viewer.app, { add, isDefault: true })
  const outcome =
    'wrong' in changed
      ? refuse('settings_changed')
      : await saveSender(deps, viewer.app, { ...changed, actor: viewer.member.id })
  return isRefusal(outcome) ? answerRefusal(editing, fields, outcome) : answerEditor(editing, { fields })
}

/** Owners let emails link to the domain. The form's input stays unsaved. */
async function addHost(editing: Editing, fields: Fields, host: string): Promise<Response> {
  const { deps, viewer } = editing
  if (!hasRole(viewer.member.role, 'owner')) return refuseRole(deps, editing.request, viewer)
  const outcome = await allowHost(deps, viewer.app, { host, actor: viewer.member.id })
  if (isRefusal(outcome)) return answerRefusal(editing, fields, outcome)
  const app = (await deps.store.findAppByPublicId(viewer.app.publicId)) ?? viewer.app
  return answerEditor({ ...editing, viewer: { ...viewer, app } }, { fields })
}

type Again = { said: string; button: VNode }

/** Edit conflict: the input is kept and can overwrite the stored version. */
async function answerChanged(editing: Editing, fields: Fields, again: Again = SAVE_AGAIN): Promise<Response> {
  const { deps, viewer } = editing
  const message = await deps.store.findMessage(viewer.app.id, editing.message?.id ?? 0)
  if (!message) return missingAnswer(editing.request, editing.viewer, 'message_unknown')
  const [saved] = await listShownVersions(deps, viewer, { messageId: message.id, before: null, limit: 1 })
  const isSaved = saved !== undefined && saved.createdAt > Number(textOf(fields, 'basedOn'))
  const path = messagePath(viewer.app.publicId, message.id)
  const notice = (
    <>
      <p>
        {isSaved ? (
          <>
            <SentText most={60}>{describeWriter(saved, viewer)}</SentText> saved{' '}
            <a href={`${path}/versions?version=${saved.version}`}>this message</a>
            {saved.writer === viewer.member.email && ' in another tab'}{' '}
            <Time at={saved.createdAt} now={deps.clock.now()} />.
          </>
        ) : (
          'This message changed after you opened this page.'
        )}{' '}
        {again.said}
      </p>
      {isSaved && again === SAVE_AGAIN && <Overwritten saved={message.content} fields={fields} />}
      <div class="buttons">
        {again.button}
        <ButtonLink href={path}>Discard my changes</ButtonLink>
      </div>
    </>
  )
  const based = { ...fields, basedOn: String(message.updatedAt) }
  return answerEditor({ ...editing, message }, { fields: based, notice, isConflict: true, status: 409 })
}

/** What changes if you overwrite. Input with errors can't be compared. */
function Overwritten({ saved, fields }: { saved: MessageContent; fields: Fields }) {
  const typed = readMessage({ ...readFields(fields), name: 'compared' })
  if ('errors' in typed) return null
  const lines = diffVersions(saved, typed.input.content).filter(({ kind }) => kind !== 'same')
  if (lines.length === 0) return null
  return (
    <details>
      <summary>What changes if you overwrite</summary>
      <Diff label="What changes if you overwrite" lines={lines} />
    </details>
  )
}

const describeWriter = ({ writer }: ShownVersion, { member }: Viewer): string =>
  writer === null ? 'Someone else' : writer === member.email ? 'You' : writeActorFirst(writer)

const SAVE_AGAIN: Again = {
  said: 'Your changes here are not saved yet.',
  button: (
    <Button name="do" value="save" form={EDITOR}>
      Overwrite with my changes
    </Button>
  ),
}
const DELETE_AGAIN: Again = {
  said: 'It was not deleted.',
  button: (
    <Button kind="danger" name="do" value="delete" form={EDITOR}>
      Delete it anyway
    </Button>
  ),
}

/** Shows another member's changes before they are overwritten. */
async function remove(editing: Editing, fields: Fields): Promise<Response> {
  const { deps, message, viewer } = editing
  if (!message) return missingAnswer(editing.request, editing.viewer, 'message_unknown')
  if (textOf(fields, 'basedOn') !== String(message.updatedAt)) return answerChanged(editing, fields, DELETE_AGAIN)
  const outcome = await deleteMessage(deps.store, { ...byMember(editing), id: message.id })
  if (isRefusal(outcome)) return answerRefusal(editing, fields, outcome)
  return redirectAnswer(pathOf(viewer.app.publicId, 'messages'), [flashCookie(deps.baseUrl, 'message_deleted')])
}

/** Pausing works with invalid input, which is kept unsaved. */
async function setStatus(editing: Editing, fields: Fields, status: 'paused' | 'draft'): Promise<Response> {
  const { deps, message, viewer } = editing
  if (!message) return missingAnswer(editing.request, editing.viewer, 'message_unknown')
  const outcome = await setMessageStatus(readContext(editing), byMember(editing), { message, status })
  if (isRefusal(outcome)) return answerRefusal(editing, fields, outcome)
  const isSame = saysSame(fields, message)
  const flash = flashCookie(deps.baseUrl, ...withStillSending(`message_${status}`, outcome))
  if (isSame) return redirectAnswer(withPane(editorPath(editing), fields), [flash])
  const changed = await deps.store.findMessage(viewer.app.id, message.id)
  const sending = outcome.stillSending === 0 ? '' : ` ${describeStillSending(outcome.stillSending)}`
  const notice = `The message is ${status === 'paused' ? 'paused' : 'a draft'} now. Your changes are not saved yet.${sending}`
  const based = { ...fields, basedOn: String(changed?.updatedAt ?? '') }
  return answerEditor({ ...editing, message: changed }, { fields: based, notice })
}

/** A test needs the email only, so that a new message can be tested before it has a name. */
function findMailFault(fields: Fields): FieldError | null {
  const reading = readMessage({ ...readFields(fields), name: 'tested' })
  return 'errors' in reading ? (reading.errors.find(isOfText) ?? null) : null
}

async function sendTest(editing: Editing, fields: Fields): Promise<Response> {
  const { deps, viewer } = editing
  const fault = findMailFault(fields)
  if (fault !== null) return answerEditor(editing, { fields, test: { fault } })
  const recipients = await listRecipients(deps.store, viewer.account.id)
  const email = recipients.find((one) => one === textOf(fields, 'to'))
  const to = email && makeMailbox('', email)
  if (!to)
    return answerEditor(editing, { fields, notice: 'You can send tests only to members of the account.', status: 400 })
  const notice = await refuseTest(deps, viewer)
  if (notice !== null) return answerEditor(editing, { fields, notice, status: 429 })
  const content = readFields(fields) as unknown as MessageContent
  const asked = { content, sampleId: textOf(fields, 'sample'), language: textOf(fields, 'language') }
  const sent = await sendTestMail({ deps, app: viewer.app, to }, asked)
  const { result } = sent
  if ('is' in result && !('reason' in result)) {
    editing.tested.note(viewer.app, readMail(fields), { to: to.address, isCaptured: result.is === 'kept' })
  }
  return answerEditor(editing, { fields, test: { to: to.address, ...sent } })
}

async function simulate(editing: Editing, fields: Fields, asked: number): Promise<Response> {
  const simulated = await simulateFields(editing, fields, asked === REACH_DAYS ? REACH_DAYS : 7)
  if ('errors' in simulated) return answerEditor(editing, { fields, errors: simulated.errors })
  const { found, ...rest } = simulated
  if (found !== null && isRefusal(found)) return answerRefusal(editing, fields, found)
  return answerEditor(editing, { fields, simulation: { ...rest, found } })
}
