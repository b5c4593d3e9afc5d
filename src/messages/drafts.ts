/** Saving messages and turning them on over MCP and the API, which requires having read or previewed them. */
import { Kind, type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { AppRow } from '../accounts/access.ts'
import { describeActor } from '../accounts/audit.ts'
import { findChanger } from '../accounts/settings-basis.ts'
import { TIME_PATTERN } from '../core/field-patterns.ts'
import { parseTime } from '../core/field-schemas.ts'
import { formatTimeInZone } from '../core/format-time.ts'
import { idOf, publicId } from '../core/ids.ts'
import { type Body, type Fault, faultOf, type Rules, WORD } from '../core/inputs.ts'
import {
  isRefusal,
  type Refusal,
  refuse,
  refuseFields,
  visibleName,
  type Warning,
  warnOfSending,
} from '../core/refusals.ts'
import { readMessageSubject } from '../store/audit.ts'
import { MESSAGE_STATUSES, type MessageStatus } from '../store/message-types.ts'
import type { SavedMessages } from '../store/messages.ts'
import type { Idempotency, Refused } from '../store/types.ts'
import { nameChoices } from './message-input.ts'
import { MessageSchema } from './message-schema.ts'
import {
  isLiveToken,
  type MessageChange,
  type MessageRow,
  MOVE_WAITING,
  moveWaiting,
  type SavedMessage,
  type SavingContext,
  saveMessage,
  setMessageStatus,
} from './messages.ts'

/** The calls that error messages name, which differ by interface. */
export type CallNames = { list: string; get: string; preview: string; docs: string }

/** Whether it exists is found later. */
export const messageIdField = ({ list }: Pick<CallNames, 'list'>) => {
  const say = `Send a message ID from ${list}.`
  return Type.String({ description: 'The ID of the message, `msg_...`.', say: { missing: say, invalid: say } })
}

const { status: _, ...properties } = MessageSchema.properties

/** A message without its status, which is changed by itself. */
export const ContentSchema = Type.Object(properties, {
  ...MessageSchema,
  properties,
  title: 'MessageContent',
  description: 'What triggers an email, who gets it and what it says.',
})

export const draftFields = (names: CallNames) => ({
  messageId: Type.Optional({
    ...messageIdField(names),
    description: 'The message to change. Leave it out for a new one.',
  }),
  basedOn: Type.Optional(
    Type.String({
      description: 'The `updatedAt` of the message when you last read it. Required with `messageId`.',
      brief: `\`updatedAt\` from ${names.get}`,
      pattern: TIME_PATTERN,
      say: `Send the message's \`updatedAt\`, as ${names.get} returned it.`,
    }),
  ),
  [MOVE_WAITING]: Type.Optional(
    Type.Boolean({
      description: 'Whether waiting emails use the new version too. By default, they keep theirs.',
      say: 'Send true or false.',
    }),
  ),
  message: { ...ContentSchema, say: `Send the message as a JSON object. ${names.docs} shows one.` },
})

type DraftFields = Static<TObject<ReturnType<typeof draftFields>>>

/** `id` null: a new one. `basedOn`: ms UTC. */
export type Draft = { id: number | null; basedOn: number | null; movesWaiting: boolean; value: object }

export const cleanDraft = ({ messageId, basedOn, moveWaiting = false, message }: DraftFields): Draft => ({
  id: messageId === undefined ? null : idOf('msg', messageId),
  basedOn: basedOn === undefined ? null : parseTime(basedOn),
  movesWaiting: moveWaiting,
  value: message,
})

const ALONE: Fault = {
  code: 'conflict',
  message: 'Send this only with `messageId`. Leave it out for a new message.',
}

/** A message is replaced only by someone who has read it. */
export const draftRules = ({ basedOn: basis }: ReturnType<typeof draftFields>): Rules => ({
  basedOn: (basedOn, { messageId }) => {
    if (messageId === undefined) return basedOn === undefined ? null : ALONE
    const isTime = typeof basedOn === 'string' && parseTime(basedOn) !== null
    return isTime ? null : faultOf(basis as TSchema, basedOn === undefined ? 'missing' : 'invalid', basedOn)
  },
  [MOVE_WAITING]: (isMoving, { messageId }: Body) => (isMoving === true && messageId === undefined ? ALONE : null),
})

const describeUnseen = ({ preview }: Pick<CallNames, 'preview'>): string =>
  `Call ${preview}, show the preview to the user, and send its token. ${preview} returns no token while it reports problems. Every change to the message requires a new token.`

export const statusFields = (names: CallNames) => ({
  messageId: messageIdField(names),
  status: Type.Unsafe<MessageStatus>({
    [Kind]: WORD,
    type: 'string',
    enum: [...MESSAGE_STATUSES],
    description: '`live`: the message sends emails. `draft` and `paused`: emails that come due are skipped.',
    say: { invalid: `Send one of ${MESSAGE_STATUSES.join(', ')}.` },
  }),
  token: Type.Optional(
    Type.String({
      description: 'The token from a preview of the current content. Required for `live`.',
      say: describeUnseen(names),
    }),
  ),
})

type StatusFields = Static<TObject<ReturnType<typeof statusFields>>>

export const cleanStatus = ({ messageId, status, token = '' }: StatusFields) => ({
  messageId: idOf('msg', messageId),
  status,
  token,
})

/** `by`: who changes it. `names`: for error messages. */
type Changing = { context: SavingContext; by: MessageChange; idempotency?: Idempotency | null; names: CallNames }

/** As the API and MCP show it. */
export const savedView = ({ id, status, version, updatedAt, change, waiting }: SavedMessage) => ({
  messageId: publicId('msg', id),
  status,
  version,
  updatedAt: new Date(updatedAt).toISOString(),
  change,
  waiting,
})

/** Creates a message, or replaces one; if it is live, at once. Refusals: as of saveMessage. */
export async function saveDraft(
  { context, by, idempotency, names }: Changing,
  { id, basedOn, movesWaiting, value }: Draft,
): Promise<SavedMessage | Refusal | Refused> {
  const draft = { id, value, movesWaiting, idempotency, ...(basedOn === null ? {} : { basedOn }) }
  const saved = await saveMessage(context, by, draft)
  if (!isRefusal(saved)) return saved
  return saved.refusal === 'message_changed' ? refuseChanged(context, id, names) : withinMessage(saved)
}

/** A repeated request. Refusals: unavailable. */
export async function finishDraft(
  { store }: Pick<SavingContext, 'store'>,
  { saved: [saved] }: Pick<SavedMessages, 'saved'>,
  { movesWaiting }: Draft,
): Promise<SavedMessage | Refusal> {
  if (!saved) return refuse('internal_error')
  return (movesWaiting ? await moveWaiting(store, saved) : null) ?? saved
}

async function refuseChanged(
  { store, app }: SavingContext,
  id: number | null,
  { get }: Pick<CallNames, 'get'>,
): Promise<Refusal> {
  const { accountId, timezone } = app
  const last =
    id === null
      ? null
      : await findChanger(store, accountId, {
          action: 'message.',
          isIt: (entry) => readMessageSubject(entry)?.id === publicId('msg', id),
        })
  const [members, keys] = await Promise.all([store.listMembers(accountId), store.listKeys(accountId)])
  const what = last
    ? `${visibleName(describeActor(last, { members, keys }))} changed this message on ${formatTimeInZone(last.createdAt, timezone)}, after you read it`
    : 'This message was changed after you read it'
  return refuse('message_changed', {
    message: `${what}. Nothing was saved. Call ${get} again and apply your change to what it returns.`,
  })
}

/** Fields are named by their path in what was sent, and values as they are sent. */
function withinMessage(refused: Refusal): Refusal {
  const name = (field: string): string =>
    field === MOVE_WAITING ? field : field === '' ? 'message' : `message.${field}`
  const { field, message, errors, ...rest } = refused
  return {
    ...rest,
    ...(message === undefined ? {} : { message: nameChoices(message) }),
    ...(field === undefined ? {} : { field: name(field) }),
    ...(errors === undefined
      ? {}
      : {
          errors: errors.map((error) => ({ ...error, field: name(error.field), message: nameChoices(error.message) })),
        }),
  }
}

type Turning = { message: MessageRow; status: MessageStatus; token: string; previewKey: string }

/** Going live needs the token of a preview of exactly this content. Refusals: as of setMessageStatus. */
export async function turnDraft(
  { context, by, idempotency, names }: Changing,
  { message, status, token, previewKey }: Turning,
): Promise<{ warnings: Warning[] } | Refusal | Refused> {
  const { app } = context
  const isSeen = isLiveToken(token, { key: previewKey, app, message })
  if (status === 'live' && !isSeen)
    return refuseFields([{ field: 'token', code: 'invalid', message: describeUnseen(names) }])
  const outcome = await setMessageStatus(context, by, { message, status, idempotency })
  return isRefusal(outcome) ? outcome : { warnings: warnOfSending('status', outcome) }
}

/** For `by` of a key. */
export const changeByKey = (app: AppRow, keyId: string, at: number): MessageChange => ({
  accountId: app.accountId,
  appId: app.id,
  actor: keyId,
  at,
})
