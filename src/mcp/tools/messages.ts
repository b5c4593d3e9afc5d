import { Type } from '@sinclair/typebox'
import { describeActor } from '../../accounts/audit.ts'
import { readMessageSubject } from '../../store/audit.ts'
import { findChanger } from '../../accounts/settings-basis.ts'
import { parseTime } from '../../core/field-schemas.ts'
import { TIME_PATTERN } from '../../core/field-patterns.ts'
import { formatTimeInZone } from '../../core/format-time.ts'
import { type Body, type Fault, faultOf } from '../../core/inputs.ts'
import { isLiveToken, type MessageChange, saveMessage, setMessageStatus } from '../../messages/messages.ts'
import { MessageSchema } from '../../messages/message-schema.ts'
import type { AppRow } from '../../accounts/access.ts'
import { publicId } from '../../core/ids.ts'
import { isRefusal, type Refusal, refuse, refuseFields, warnOfSending, withWarnings } from '../../core/refusals.ts'
import { createArguments, findAsked, findMessage, messageIdOf } from '../arguments.ts'
import type { Caller } from '../caller.ts'
import { cleanText } from '../untrusted.ts'
import { APP, MESSAGE_ID, oneOf, outputSchema, RESULT, takes, type Tool, type ToolDependencies } from './tool.ts'

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

const NO_OBJECT = 'Send the message as a JSON object. get_docs, page messages, shows one.'

const { status: _, ...properties } = MessageSchema.properties
const MESSAGE = Type.Object(properties, { ...MessageSchema, properties, say: NO_OBJECT })

const DRAFT = takes({
  app: APP,
  messageId: Type.Optional(MESSAGE_ID),
  basedOn: Type.Optional(
    Type.String({
      brief: '`updatedAt` from get_message',
      pattern: TIME_PATTERN,
      say: "Send the message's `updatedAt`, as get_message returned it.",
    }),
  ),
  message: MESSAGE,
})

const ALONE: Fault = {
  code: 'conflict',
  message: 'Send this only with `messageId`. Leave it out for a new message.',
}

/** A message is replaced only by someone who has read it. */
function findBasisFault(basedOn: unknown, { messageId }: Body): Fault | null {
  if (messageId === undefined) return basedOn === undefined ? null : ALONE
  const isTime = typeof basedOn === 'string' && parseTime(basedOn) !== null
  return isTime ? null : faultOf(DRAFT.properties.basedOn, basedOn === undefined ? 'missing' : 'invalid', basedOn)
}

const readDraft = createArguments({
  schema: DRAFT,
  clean: ({ messageId, basedOn, message }) => ({
    id: messageId === undefined ? null : messageIdOf(messageId),
    basedOn: basedOn === undefined ? null : parseTime(basedOn),
    value: message,
  }),
  rules: () => ({ basedOn: findBasisFault }),
})

export const saveMessageDraft: Tool = {
  name: 'save_message_draft',
  title: 'Save a draft',
  description:
    'Creates a message, or replaces `messageId` if not live. See get_docs: messages, rules, frequency, content, results.',
  kind: 'manage',
  hints: { destructive: true },
  input: DRAFT,
  output: outputSchema('messageId', 'status', 'version', 'updatedAt', 'change'),
  run: async (deps, caller, args) => {
    const asked = findAsked(caller.access, readDraft(args, null))
    return isRefusal(asked) ? asked : saveDraft(deps, caller, asked)
  },
}

type Draft = { app: AppRow; input: { id: number | null; basedOn: number | null; value: object } }

const LIVE = 'This message is live. Pause it with set_message_status, then save, preview and turn it on again.'

async function saveDraft(deps: ToolDependencies, caller: Caller, { app, input: { id, basedOn, value } }: Draft) {
  const old = id === null ? null : await deps.store.findMessage(app.id, id)
  if (id !== null && !old) return refuse('message_not_found')
  if (old?.status === 'live') return refuseFields([{ field: 'messageId', code: 'conflict', message: LIVE }])
  const draft = { id, value, ...(basedOn === null ? {} : { basedOn }) }
  const saved = await saveMessage(checking(deps, app), by(deps, caller, app), draft)
  if (isRefusal(saved)) return saved.refusal === 'message_changed' ? refuseChanged(deps, app, id) : withinMessage(saved)
  const { status, version, updatedAt, change } = saved
  return {
    ok: true,
    messageId: publicId('msg', saved.id),
    status,
    version,
    updatedAt: new Date(updatedAt).toISOString(),
    change,
  }
}

async function refuseChanged({ store }: ToolDependencies, app: AppRow, id: number | null): Promise<Refusal> {
  const { accountId, timezone } = app
  const last =
    id === null
      ? null
      : await findChanger(store, accountId, (entry) => readMessageSubject(entry)?.id === publicId('msg', id))
  const [members, keys] = await Promise.all([store.listMembers(accountId), store.listKeys(accountId)])
  const what = last
    ? `${cleanText(describeActor(last, { members, keys }))} changed this message on ${formatTimeInZone(last.createdAt, timezone)}, after you read it`
    : 'This message was changed after you read it'
  return refuse('message_changed', {
    message: `${what}. Nothing was saved. Call get_message again and apply your change to what it returns.`,
  })
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

const UNSEEN =
  'Call preview_message, show the preview to the user, and send its token. preview_message returns no token while it reports problems. Every change to the message requires a new token.'

const STATUSES = ['draft', 'live', 'paused'] as const

const STATUS = takes({
  app: APP,
  messageId: MESSAGE_ID,
  status: oneOf(STATUSES, { invalid: `Send one of ${STATUSES.join(', ')}.` }),
  token: Type.Optional(Type.String({ say: UNSEEN })),
})

const readStatus = createArguments({
  schema: STATUS,
  clean: ({ messageId, status, token = '' }) => ({ messageId: messageIdOf(messageId), status, token }),
})

export const setStatus: Tool = {
  name: 'set_message_status',
  title: 'Set a status',
  description: "Going live needs a current preview's `token`. Emails due while not live are skipped.",
  kind: 'manage',
  hints: { destructive: true, reachesOut: true },
  input: STATUS,
  output: RESULT,
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
