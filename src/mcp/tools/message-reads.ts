import { countsView, messageView, viewOutcome } from '../../deliveries/message-views.ts'
import { idOf } from '../../core/ids.ts'
import { listMessages as listAll, type MessageCounts, type MessageRow } from '../../messages/messages.ts'
import { DEFAULT_PAGE_ITEMS } from '../../core/field-limits.ts'
import {
  cursorRule,
  idCursorRule,
  PAGE,
  readContactCursor,
  readIdCursor,
  writeContactCursor,
  writeIdCursor,
} from '../../http/queries.ts'
import { isRefusal, refuseFields } from '../../core/refusals.ts'
import { createArguments, findAsked, findMessage } from '../arguments.ts'
import { fitMessage, fitText, PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanText, cleanWritten, UNTRUSTED } from '../untrusted.ts'
import { APP, MESSAGE_ID, takes, type Tool } from './tool.ts'

const ENVELOPE_BYTES = 2 * 1024

const LISTED = takes({ app: APP, ...PAGE })

const readListed = createArguments({
  schema: LISTED,
  clean: ({ cursor, limit = DEFAULT_PAGE_ITEMS }) => ({
    after: cursor === undefined ? 0 : (readIdCursor(cursor) ?? 0),
    limit,
  }),
  rules: () => ({ cursor: idCursorRule }),
})

export const listMessages: Tool = {
  name: 'list_messages',
  title: 'List messages',
  description: 'Oldest first, with emails by state.',
  kind: 'read',
  input: LISTED,
  run: async (deps, caller, args) => {
    const asked = await findAsked(deps, caller, readListed(args, null))
    if (isRefusal(asked)) return asked
    const { after, limit } = asked.input
    const rows = await listAll(deps.store, asked.app, { after, most: limit + 1 })
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

const ONE = takes({ app: APP, messageId: MESSAGE_ID, cursor: PAGE.cursor })

/** `place`: the character offset, and the version's time. */
const readOne = createArguments({
  schema: ONE,
  clean: ({ messageId, cursor }) => ({
    messageId: idOf('msg', messageId),
    place: cursor === undefined ? null : readContactCursor(cursor, true),
  }),
  rules: () => ({ cursor: cursorRule((text) => readContactCursor(text, true) !== null) }),
})

export const getMessage: Tool = {
  name: 'get_message',
  title: 'Get a message',
  description: 'In the format for saving. `cursor` returns what is `omitted`.',
  kind: 'read',
  input: ONE,
  run: async (deps, caller, args) => {
    const asked = await findMessage(deps, caller, readOne(args, null))
    if (isRefusal(asked)) return asked
    const { message, input } = asked
    const { name, ...view } = messageView(message)
    const written = cleanWritten({ name, ...message.content })
    const shown = { untrusted: UNTRUSTED, ok: true, ...view }
    if (input.place) {
      const isSame = input.place.updatedAt === message.updatedAt
      return isSame ? { ...shown, ...takePiece(written, message, input.place.id) } : refuseFields([CHANGED])
    }
    const fitted = fitMessage(written, PAGE_BYTES - ENVELOPE_BYTES)
    return {
      ...shown,
      ...(await viewOutcome(deps, message)),
      ...fitted,
      nextCursor: fitted.omitted ? cursorTo(message, 0) : null,
    }
  },
}

const CHANGED = { field: 'cursor', code: 'invalid', message: 'The message has changed. Start again without a cursor.' }

const cursorTo = ({ updatedAt }: MessageRow, id: number): string => writeContactCursor({ id, updatedAt })

function takePiece(written: object, message: MessageRow, from: number) {
  const whole = JSON.stringify(written)
  const json = fitText(whole.slice(from), PAGE_BYTES - ENVELOPE_BYTES)
  const end = from + json.length
  return { json, nextCursor: end < whole.length ? cursorTo(message, end) : null }
}
