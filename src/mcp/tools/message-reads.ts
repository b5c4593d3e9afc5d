import { countsView, messageView } from '../message-views.ts'
import { listMessages as listAll, type MessageCounts, type MessageRow } from '../../messages/messages.ts'
import type { Body } from '../../core/field-readers.ts'
import { readContactCursor, readIdCursor, readLimit, writeContactCursor, writeIdCursor } from '../../http/queries.ts'
import { isRefusal, refuseFields } from '../../core/refusals.ts'
import { type Names, findAsked, findMessage, readAbout, readMessageId } from '../arguments.ts'
import { fitMessage, fitText, PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanText, cleanWritten, UNTRUSTED } from '../untrusted.ts'
import { APP, outputSchema, LIST, MESSAGE_ID, PAGE, takes, type Tool } from './tool.ts'

const ENVELOPE_BYTES = 2 * 1024

export const listMessages: Tool = {
  name: 'list_messages',
  title: 'Messages of an app',
  description: 'Oldest first: what triggers each, how many emails are in each state.',
  kind: 'read',
  input: takes({ app: APP, ...PAGE }),
  output: LIST,
  run: async ({ store }, { access }, args, known) => {
    const asked = findAsked(
      access,
      readAbout(args, known, ({ cursor, limit }, errors) => ({
        after: cursor === undefined ? 0 : (readIdCursor(cursor, errors) ?? 0),
        limit: readLimit(limit, errors),
      })),
    )
    if (isRefusal(asked)) return asked
    const { after, limit } = asked.input
    const rows = (await listAll(store, asked.app)).filter(({ id }) => id > after)
    const data = takeWithin(rows.slice(0, limit).map(describe), PAGE_BYTES)
    const last = rows[data.length - 1]
    const nextCursor = rows.length > data.length && last ? writeIdCursor(last.id) : null
    return { untrusted: UNTRUSTED, ok: true, data, nextCursor }
  },
}

/** Without conditions: there may be many. */
function describe(row: MessageRow & { counts: MessageCounts }) {
  const { where: _, ...trigger } = row.content.trigger as Record<string, unknown>
  const counts = countsView(row.counts)
  return { ...messageView(row), name: cleanText(row.name), trigger: cleanWritten(trigger), counts }
}

export const getMessage: Tool = {
  name: 'get_message',
  title: 'One message',
  description: 'Can be saved again, unless parts are `omitted`: then `cursor` gives all of it, as pieces of its JSON.',
  kind: 'read',
  input: takes({ app: APP, messageId: MESSAGE_ID, cursor: PAGE.cursor }),
  output: outputSchema('id', 'status', 'version', 'message', 'json', 'nextCursor'),
  run: async (deps, { access }, args, known) => {
    const asked = await findMessage(deps, access, readOne(args, known))
    if (isRefusal(asked)) return asked
    const { message, input } = asked
    const { name, ...view } = messageView(message)
    const written = cleanWritten({ name, ...message.content })
    const told = { untrusted: UNTRUSTED, ok: true, ...view }
    if (input.place) {
      const isSame = input.place.updatedAt === message.updatedAt
      return isSame ? { ...told, ...takePiece(written, message, input.place.id) } : refuseFields([CHANGED])
    }
    const counts = countsView(await deps.store.countDeliveries(message.id))
    const fitted = fitMessage(written, PAGE_BYTES - ENVELOPE_BYTES)
    return { ...told, counts, ...fitted, nextCursor: fitted.omitted ? cursorTo(message, 0) : null }
  },
}

const CHANGED = { field: 'cursor', code: 'invalid', message: 'The message was changed meanwhile. Begin again.' }

/** `place`: the character offset, and the version's time. */
const readOne = (args: Body, known: Names) =>
  readAbout(args, known, (query, errors) => ({
    messageId: readMessageId(query, errors),
    place: query.cursor === undefined ? null : readContactCursor(query.cursor, true, errors),
  }))

const cursorTo = ({ updatedAt }: MessageRow, id: number): string => writeContactCursor({ id, updatedAt })

function takePiece(written: object, message: MessageRow, from: number) {
  const whole = JSON.stringify(written)
  const json = fitText(whole.slice(from), PAGE_BYTES - ENVELOPE_BYTES)
  const end = from + json.length
  return { json, nextCursor: end < whole.length ? cursorTo(message, end) : null }
}
