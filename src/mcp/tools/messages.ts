import { Type } from '@sinclair/typebox'
import { isJsonObject } from '../../core/json.ts'
import { isLiveToken } from '../../core/live-tokens.ts'
import { countsView, messageView } from '../../core/message-views.ts'
import { type MessageChange, type MessageRow, saveMessage, setMessageStatus } from '../../core/messages.ts'
import type { AppRow } from '../../core/access.ts'
import type { Body } from '../../core/field-readers.ts'
import type { Parts } from '../../core/parts.ts'
import { publicId } from '../../core/public-ids.ts'
import { readIdCursor, readLimit, writeIdCursor } from '../../core/queries.ts'
import { type FieldError, isRefusal, type Refusal, refuse, refuseFields } from '../../core/refusals.ts'
import { findAsked, findMessage, readAbout, readMessageId } from '../arguments.ts'
import { fitMessage, PAGE_BYTES, takeFitting } from '../budget.ts'
import type { Caller } from '../caller.ts'
import { cleanText, cleanWritten, UNTRUSTED } from '../untrusted.ts'
import { APP, gives, MESSAGE_ID, NEXT, PAGE, record, records, takes, text, type Tool } from './tool.ts'

/** For what stands around a message: its counts and times. */
const AROUND_BYTES = 2 * 1024

export const listMessages: Tool = {
  name: 'list_messages',
  title: 'Messages of an app',
  description: 'The messages in the order in which they were made: what starts each, and how many mails became what.',
  kind: 'read',
  input: takes({ app: APP, ...PAGE }),
  output: gives({ data: records('id, name, status, version, createdAt, updatedAt, trigger, counts'), ...NEXT }),
  run: async ({ store }, { access }, args) => {
    const asked = findAsked(
      access,
      readAbout(args, ['cursor', 'limit'], ({ cursor, limit }, errors) => ({
        after: cursor === undefined ? 0 : (readIdCursor(cursor, errors) ?? 0),
        limit: readLimit(limit, errors),
      })),
    )
    if (isRefusal(asked)) return asked
    const { after, limit } = asked.input
    const rows = (await store.listMessages(asked.app.id)).filter(({ id }) => id > after)
    const views = await Promise.all(rows.slice(0, limit).map((row) => describe({ store }, row)))
    const data = takeFitting(views, PAGE_BYTES)
    const last = rows[data.length - 1]
    const nextCursor = rows.length > data.length && last ? writeIdCursor(last.id) : null
    return { untrusted: UNTRUSTED, ok: true, data, nextCursor }
  },
}

/** Conditions are left to get_message: there may be many. */
async function describe({ store }: Pick<Parts, 'store'>, row: MessageRow) {
  const { where: _, ...trigger } = row.content.trigger as Record<string, unknown>
  const counts = countsView(await store.countDeliveries(row.id))
  return { ...messageView(row), name: cleanText(row.name), trigger: cleanWritten(trigger), counts }
}

export const getMessage: Tool = {
  name: 'get_message',
  title: 'One message',
  description:
    'A message as it can be saved again: what starts it, its rules, its mail. Parts named in `omitted` are cut: do not save them.',
  kind: 'read',
  input: takes({ app: APP, messageId: MESSAGE_ID }),
  output: gives({ id: text(), status: text(), version: Type.Integer(), message: record('see the docs page messages') }),
  run: async (parts, { access }, args) => {
    const asked = await findMessage(parts, access, readOne(args))
    if (isRefusal(asked)) return asked
    const { name, ...view } = messageView(asked.message)
    const counts = countsView(await parts.store.countDeliveries(asked.message.id))
    const fitted = fitMessage(cleanWritten({ name, ...asked.message.content }), PAGE_BYTES - AROUND_BYTES)
    return { untrusted: UNTRUSTED, ok: true, ...view, counts, ...fitted }
  },
}

const readOne = (args: Body) =>
  readAbout(args, ['messageId'], (query, errors) => ({ messageId: readMessageId(query, errors) }))

const by = ({ clock }: Parts, { access }: Caller, app: AppRow): MessageChange => ({
  accountId: app.accountId,
  appId: app.id,
  actor: access.key.id,
  at: clock.now(),
})

const checking = ({ store, mailer }: Parts, app: AppRow) => ({ store, app, sender: mailer.sender?.address ?? null })

export const saveMessageDraft: Tool = {
  name: 'save_message_draft',
  title: 'Write a message',
  description:
    'Makes a message, or with `messageId` writes over one that is not live. Nothing goes out. How to write one: docs page messages.',
  kind: 'manage',
  hints: { destructive: true },
  input: takes({
    app: APP,
    messageId: Type.Optional(MESSAGE_ID),
    message: record('name, trigger, wait, onlyIf, again, mail: {subject, preheader, body}'),
  }),
  output: gives({ messageId: text(), status: text(), version: Type.Integer(), change: text() }),
  run: async (parts, caller, args) => {
    const asked = findAsked(
      caller.access,
      readAbout(args, ['messageId', 'message'], (query, errors) => ({
        id: query.messageId === undefined ? null : readMessageId(query, errors),
        value: readValue(args.message, errors),
      })),
    )
    return isRefusal(asked) ? asked : saveDraft(parts, caller, asked)
  },
}

type Draft = { app: AppRow; input: { id: number | null; value: Record<string, unknown> } }

const LIVE = 'This message is live. Pause it with set_message_status first; then write, preview and turn it on again.'

/** The status is set with it, so that what somebody turns on in this moment does not go out as nobody has seen it. */
async function saveDraft(parts: Parts, caller: Caller, { app, input: { id, value } }: Draft) {
  const old = id === null ? null : await parts.store.findMessage(app.id, id)
  if (id !== null && !old) return refuse('message_not_found')
  if (old?.status === 'live') return refuseFields([{ field: 'messageId', code: 'conflict', message: LIVE }])
  const draft = { id, value: { ...value, status: old?.status ?? 'draft' } }
  const saved = await saveMessage(checking(parts, app), by(parts, caller, app), draft)
  if (isRefusal(saved)) return withinMessage(saved)
  const { status, version, change } = saved
  return { ok: true, messageId: publicId('msg', saved.id), status, version, change }
}

function readValue(value: unknown, errors: FieldError[]): Record<string, unknown> {
  const add = (field: string, message: string): void => void errors.push({ field, code: 'invalid', message })
  if (!isJsonObject(value)) add('message', 'Send the message as a JSON object. The docs page about messages shows one.')
  else if (value.status !== undefined) add('message.status', 'Leave this out: set_message_status turns messages on.')
  else return value
  return {}
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

export const setStatus: Tool = {
  name: 'set_message_status',
  title: 'Turn a message on or off',
  description:
    'Live needs the `token` of a preview of the message as it is now. What comes due while it is not live is not sent.',
  kind: 'manage',
  hints: { destructive: true, reachesOut: true },
  input: takes({
    app: APP,
    messageId: MESSAGE_ID,
    status: Type.Unsafe<string>({ enum: [...STATUSES] }),
    token: Type.Optional(text()),
  }),
  output: gives({ messageId: text(), status: text() }),
  run: async (parts, caller, args) => {
    const asked = await findMessage(
      parts,
      caller.access,
      readAbout(args, ['messageId', 'status', 'token'], (query, errors) => ({
        messageId: readMessageId(query, errors),
        status: readStatus(query.status, errors),
        token: query.token ?? '',
      })),
    )
    if (isRefusal(asked)) return asked
    const { app, message, input } = asked
    const { status } = input
    const isSeen = isLiveToken(input.token, { key: parts.previewKey, app, message })
    if (status === 'live' && !isSeen) return refuseFields([{ field: 'token', code: 'invalid', message: UNSEEN }])
    const change = { id: message.id, status }
    const outcome = await setMessageStatus(checking(parts, app), by(parts, caller, app), change)
    return isRefusal(outcome) ? outcome : { ok: true, messageId: publicId('msg', message.id), status }
  },
}

const UNSEEN =
  'Call preview_message, show it to the user, and send its token. Each change of the message needs a new one.'

function readStatus(text: string | undefined, errors: FieldError[]): (typeof STATUSES)[number] {
  const status = STATUSES.find((one) => one === text)
  if (!status) errors.push({ field: 'status', code: 'invalid', message: `Send one of ${STATUSES.join(', ')}.` })
  return status ?? 'draft'
}
