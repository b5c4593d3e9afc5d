/** @jsxImportSource preact */
import { isCapturing } from '../../deliveries/delivery-lists.ts'
import { listRecipients } from '../../accounts/members.ts'
import { previewMessage } from '../../deliveries/message-preview.ts'
import { checkIncomplete, checkLive, findTemplateFaults, type LiveCheck } from '../../messages/message-checks.ts'
import { describeUndated, warnOfDates } from '../../messages/data-checks.ts'
import { mayDelete } from '../../messages/message-changes.ts'
import { readMessage } from '../../messages/message-input.ts'
import { listFollowers } from '../../messages/sequences.ts'
import type { MessageContent, MessageRow, SavingContext } from '../../messages/messages.ts'
import { listSenderEmails } from '../../accounts/senders.ts'
import { firstNameHour } from '../../events/stats.ts'
import { findNearest } from '../../core/nearest.ts'
import { isLinkUnreachable } from '../../people/unsubscribe.ts'
import { pageAnswer } from '../layout/answers.ts'
import { messagePath } from './messages-page.tsx'
import type { PageDependencies, Viewer } from '../layout/viewer.ts'
import { pathOf } from '../layout/frame.tsx'
import type { MailFrames } from '../deliveries/mail-frames.ts'
import { EditorPage } from './message-editor.tsx'
import type { EditorProps, Sending, ShownPreview } from './editor-props.ts'
import { type Fields, textOf } from './message-field-names.ts'
import { dateOf, EMPTY_FIELDS, readFields, readMail, readsSame, saysSame } from './message-form.ts'
import { withFieldPath } from '../people/people-view.ts'
import { showPreview } from './message-preview.tsx'
import type { TestedEmail, TestedEmails } from './tested-emails.ts'
import { listShownVersions } from './version-writers.ts'

/** `message` is null for a new one. */
export type Editing = {
  deps: PageDependencies
  frames: MailFrames
  tested: TestedEmails
  request: Request
  viewer: Viewer
  message: MessageRow | null
}

/** Shown next to the fields. */
export type Shown = Partial<Pick<EditorProps, 'errors' | 'notice' | 'isConflict' | 'simulation' | 'test' | 'ready'>> & {
  fields: Fields
  status?: number
  /** findings about exactly these fields */
  check?: LiveCheck
}

export const editorPath = ({ viewer, message }: Pick<Editing, 'viewer' | 'message'>): string =>
  message ? messagePath(viewer.app.publicId, message.id) : `${pathOf(viewer.app.publicId, 'messages')}/new`

export const readContext = ({ deps, viewer }: Pick<Editing, 'deps' | 'viewer'>): SavingContext => ({
  store: deps.store,
  mailer: deps.mailer,
  templates: deps.templates,
  app: viewer.app,
  senders: deps.mailer.senders,
})

export async function answerEditor(editing: Editing, shown: Shown): Promise<Response> {
  const { deps, request, viewer, message } = editing
  const {
    fields,
    errors,
    notice,
    isConflict = false,
    simulation = null,
    test = null,
    ready = null,
    check,
    status = errors ? 400 : 200,
  } = shown
  const [surroundings, triggerNote, found, preview] = await Promise.all([
    readSurroundings(editing),
    noteTrigger(editing, fields),
    check ?? checkFields(editing, fields),
    previewFields(editing, fields),
  ])
  const page = (
    <EditorPage
      {...surroundings}
      viewer={viewer}
      message={message}
      fields={fields}
      ready={ready}
      isUnsaved={ready === null && !(message ? saysSame(fields, message) : readsSame(fields, EMPTY_FIELDS))}
      errors={errors ?? []}
      check={found}
      notice={notice}
      isConflict={isConflict}
      shown={preview}
      simulation={simulation}
      test={test}
      tested={findTested(editing, fields)}
      triggerNote={triggerNote}
      datedPath={findDatedPath(editing, fields)}
      path={editorPath(editing)}
      now={deps.clock.now()}
    />
  )
  return pageAnswer(request, status, page)
}

/** Data that doesn't depend on the input. */
async function readSurroundings({ deps, viewer, message }: Editing) {
  const { store } = deps
  const [messages, counts, hasDeliveries, settings, members, eventNames, suggested, sending, topics, [saved = null]] =
    await Promise.all([
      store.listMessages(viewer.app.id),
      message && store.countEmails(message.id),
      message !== null && store.hasDeliveries(message.id),
      store.mailSettings(viewer.app.id),
      listRecipients(store, viewer.account.id),
      listNames(deps, viewer),
      store.suggestFilters(viewer.app.id),
      readSending({ deps, viewer }),
      store.listTopics(viewer.app.id),
      message ? listShownVersions(deps, viewer, { messageId: message.id, before: null, limit: 1 }) : [],
    ])
  const timezone = settings.timezone ?? 'UTC'
  const { installation } = deps.mailer.senders
  const senders = {
    emails: listSenderEmails(settings, installation),
    usual: settings.fromEmail ?? installation.from?.address ?? null,
  }
  const { perPersonDay } = settings
  const followers = message ? listFollowers(messages, message.name) : []
  const isDeletable = message !== null && mayDelete(message, { hasDeliveries: () => hasDeliveries, followers })
  const others = messages.filter(({ id }) => id !== message?.id)
  const names = topics.map(({ name }) => name)
  const suggestions = { eventNames, fieldNames: suggested.fields, tagNames: suggested.tags, topics: names }
  const shared = { saved, timezone, perPersonDay, members, senders, ...suggestions, sending }
  return { counts, isDeletable, others, followers, ...shared }
}

/** The base URL matters even before there is a mail server. */
export const readSending = async ({ deps, viewer }: Pick<Editing, 'deps' | 'viewer'>): Promise<Sending> => ({
  isCapturing: await isCapturing(deps, viewer.app),
  lostUrl: isLinkUnreachable(deps.baseUrl) ? deps.baseUrl : null,
})

export const findTested = (
  { tested, viewer }: Pick<Editing, 'tested' | 'viewer'>,
  fields: Fields,
): TestedEmail | null => tested.find(viewer.app, readMail(fields))

/** Checks the form's input, so that fixes count. If other fields are invalid, checks only the sender and the templates. */
export async function checkFields(
  { deps, viewer }: Pick<Editing, 'deps' | 'viewer'>,
  fields: Fields,
  most?: number,
): Promise<LiveCheck> {
  // a missing name is found when it is saved
  const reading = readMessage({ ...readFields(fields), name: 'checked' })
  const context = { ...readContext({ deps, viewer }), asksDns: false, most }
  if ('input' in reading) return checkLive(context, reading.input.content)
  const isSenderWrong = reading.errors.some(({ field }) => field.startsWith('mail.from'))
  const problems = await checkIncomplete(context, readMail(fields), { asksSender: !isSenderWrong })
  return { problems, warnings: await warnOfDates(context, { date: dateOf(fields) }), tried: null, lacked: null }
}

export const findDatedPath = ({ deps, viewer }: Pick<Editing, 'deps' | 'viewer'>, fields: Fields): string =>
  withFieldPath(deps.previewKey, viewer.app.publicId, dateOf(fields))

/** Built-in names start with `$`. */
async function listNames(
  { store, clock }: Pick<PageDependencies, 'store' | 'clock'>,
  { app }: Viewer,
): Promise<string[]> {
  const { names } = await store.countNames(app.id, firstNameHour(clock.now()))
  return names.map(({ name }) => name).filter((name) => !name.startsWith('$'))
}

/** Suggests a similar event if none with the trigger's name has arrived, or names another reason why nothing triggers yet. */
export async function noteTrigger(
  { deps, viewer }: Pick<Editing, 'deps' | 'viewer'>,
  fields: Fields,
): Promise<string | null> {
  const kind = textOf(fields, 'trigger')
  const name = textOf(fields, `trigger.${kind}`)
  if (kind === 'message') {
    const source = await deps.store.findMessageByName(viewer.app.id, name)
    return source === null || source.status === 'live'
      ? null
      : `“${name}” is ${source.status === 'draft' ? 'a draft' : 'paused'}, so it triggers nothing yet.`
  }
  if (kind !== 'event' || name === '') return null
  const names = await listNames(deps, viewer)
  const near = names.includes(name) ? undefined : findNearest(name, names)
  if (near === undefined) return null
  const { rows } = await deps.store.listEvents({ appId: viewer.app.id, contactId: null, name, before: null, limit: 1 })
  return rows.length === 0 ? `No event with this name has arrived. Did you mean ${near}?` : null
}

export async function previewFields(
  { deps, frames, viewer }: Pick<Editing, 'deps' | 'frames' | 'viewer'>,
  fields: Fields,
): Promise<ShownPreview> {
  // errors elsewhere don't affect the preview, but a rule that has one can't be decided
  const read = readFields(fields) as unknown as MessageContent
  const reading = readMessage({ ...read, name: 'previewed' })
  const errors = 'errors' in reading ? reading.errors : []
  const hasError = (path: string): boolean => errors.some(({ field }) => field.startsWith(path))
  const content = { ...read, onlyIf: read.onlyIf?.filter((_, index) => !hasError(`onlyIf[${index}]`)) }
  const asked = { content, sampleId: textOf(fields, 'sample'), language: textOf(fields, 'language') }
  return showPreview(frames, viewer, await previewMessage(deps, viewer.app, asked))
}

/** Simulates the form's input on stored events. The name doesn't matter. */
export async function simulateFields({ deps, viewer, request, message }: Editing, fields: Fields, days: number) {
  const reading = readMessage({ ...readFields(fields), name: 'simulated' })
  if ('errors' in reading) return { errors: reading.errors }
  const { content } = reading.input
  const errors = await findTemplateFaults({ app: viewer.app, templates: deps.templates }, content.mail)
  if (errors.length > 0) return { errors }
  const settings = await deps.store.mailSettings(viewer.app.id)
  const { id: appId, hosts } = viewer.app
  const messageId = message?.id ?? null
  const asking = { appId, messageId, hosts, content, settings, days, now: deps.clock.now() }
  const isUnsaved = message !== null && !saysSame({ ...fields, name: message.name }, message)
  const found = await deps.simulations.simulate(asking, { signal: request.signal })
  return {
    days,
    content,
    isUnsaved,
    found,
    undated: await describeUndated({ store: deps.store, app: viewer.app }, content.trigger),
  }
}
