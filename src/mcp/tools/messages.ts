import { Type } from '@sinclair/typebox'
import type { Fault } from '../../core/inputs.ts'
import { isJsonObject } from '../../core/json.ts'
import { isLiveToken, type MessageChange, saveMessage, setMessageStatus } from '../../messages/messages.ts'
import { MessageSchema } from '../../messages/message-schema.ts'
import type { AppRow } from '../../accounts/access.ts'
import { publicId } from '../../core/ids.ts'
import { isRefusal, type Refusal, refuse, refuseFields, warnOfSending, withWarnings } from '../../core/refusals.ts'
import { createArguments, findAsked, findMessage, messageIdOf } from '../arguments.ts'
import type { Caller } from '../caller.ts'
import { APP, outputSchema, MESSAGE_ID, oneOf, takes, text, type Tool, type ToolDependencies } from './tool.ts'

const by = ({ clock }: ToolDependencies, { access }: Caller, app: AppRow): MessageChange => ({
  accountId: app.accountId,
  appId: app.id,
  actor: access.key.id,
  at: clock.now(),
})

const checking = ({ store, mailer, templates }: ToolDependencies, app: AppRow) => ({
  store,
  mailer,
  templates,
  app,
  senders: mailer.senders,
})

const { status: _, ...properties } = MessageSchema.properties
const MESSAGE = { ...MessageSchema, properties }

const DRAFT = takes({ app: APP, messageId: Type.Optional(MESSAGE_ID), message: MESSAGE })

/** `message` is the context; its content is checked by the schema of messages. */
const readDraft = createArguments({
  schema: takes({ ...DRAFT.properties, message: Type.Optional(Type.Unknown()) }),
  clean: ({ messageId }, message: unknown) =>
    findWrong(message) || !isJsonObject(message)
      ? null
      : { id: messageId === undefined ? null : messageIdOf(messageId), value: message },
  rules: (message) => ({ message: () => findWrong(message) }),
})

const NO_OBJECT: Fault = {
  code: 'invalid',
  message: 'Send the message as a JSON object. get_docs, page messages, shows one.',
}
const WITH_STATUS: Fault = {
  field: 'message.status',
  code: 'invalid',
  message: 'Leave this out: set_message_status turns messages on.',
}

function findWrong(message: unknown): Fault | null {
  if (!isJsonObject(message)) return NO_OBJECT
  return message.status === undefined ? null : WITH_STATUS
}

export const saveMessageDraft: Tool = {
  name: 'save_message_draft',
  title: 'Write a message',
  description:
    'Makes a message, or replaces `messageId`, which must not be live. Sends nothing. How to write one: get_docs, page messages.',
  kind: 'manage',
  hints: { destructive: true },
  input: DRAFT,
  output: outputSchema('messageId', 'status', 'version', 'change'),
  run: async (deps, caller, args) => {
    const asked = findAsked(caller.access, readDraft(args, args.message))
    return isRefusal(asked) ? asked : saveDraft(deps, caller, asked)
  },
}

type Draft = { app: AppRow; input: { id: number | null; value: Record<string, unknown> } }

const LIVE = 'This message is live. Pause it with set_message_status first; then write, preview and turn it on again.'

/** Refuses with message_changed when someone else edits or turns it on meanwhile. */
async function saveDraft(deps: ToolDependencies, caller: Caller, { app, input: { id, value } }: Draft) {
  const old = id === null ? null : await deps.store.findMessage(app.id, id)
  if (id !== null && !old) return refuse('message_not_found')
  if (old?.status === 'live') return refuseFields([{ field: 'messageId', code: 'conflict', message: LIVE }])
  const draft = { id, value, ...(old ? { basedOn: old.updatedAt } : {}) }
  const saved = await saveMessage(checking(deps, app), by(deps, caller, app), draft)
  if (isRefusal(saved)) return withinMessage(saved)
  const { status, version, change } = saved
  return { ok: true, messageId: publicId('msg', saved.id), status, version, change }
}

/** Fields are named by their path in the arguments. */
function withinMessage(refused: Refusal): Refusal {
  const name = (field: string): string => (field === '' ? 'message' : `message.${field}`)
  const { field, errors, ...rest } = refused
  return {
    ...rest,
    ...(field === undefined ? {} : { field: name(field) }),
    ...(errors === undefined ? {} : { errors: errors.map((error) => ({ ...error, field: name(error.field) })) }),
  }
}

const STATUSES = ['draft', 'live', 'paused'] as const

const STATUS = takes({
  app: APP,
  messageId: MESSAGE_ID,
  status: oneOf(STATUSES, { invalid: `Send one of ${STATUSES.join(', ')}.` }),
  token: Type.Optional(text()),
})

const readStatus = createArguments({
  schema: STATUS,
  clean: ({ messageId, status, token = '' }) => ({ messageId: messageIdOf(messageId), status, token }),
})

export const setStatus: Tool = {
  name: 'set_message_status',
  title: 'Turn a message on or off',
  description:
    'Live needs the `token` of a preview of the message as it is. What comes due while not live is not sent.',
  kind: 'manage',
  hints: { destructive: true, reachesOut: true },
  input: STATUS,
  output: outputSchema('messageId', 'status'),
  run: async (deps, caller, args) => {
    const asked = await findMessage(deps, caller.access, readStatus(args, null))
    if (isRefusal(asked)) return asked
    const { app, message, input } = asked
    const { status } = input
    const isSeen = isLiveToken(input.token, { key: deps.previewKey, app, message })
    if (status === 'live' && !isSeen) return refuseFields([{ field: 'token', code: 'invalid', message: UNSEEN }])
    const outcome = await setMessageStatus(checking(deps, app), by(deps, caller, app), { message, status })
    if (isRefusal(outcome)) return outcome
    return withWarnings({ ok: true, messageId: publicId('msg', message.id), status }, warnOfSending('status', outcome))
  },
}

const UNSEEN =
  'Call preview_message, show it to the user, and send its token: there is none while it names problems. Each change of the message needs a new one.'
