import { Type } from '@sinclair/typebox'
import type { AppRow } from '../../accounts/access.ts'
import { DELIVERY_STATES } from '../../deliveries/deliveries.ts'
import { DEFAULT_PAGE_ITEMS } from '../../core/field-limits.ts'
import { viewDeliveries } from '../../deliveries/delivery-lists.ts'
import { UNKNOWN_PERSON } from '../../people/contacts.ts'
import { idCursorRule, PAGE, readIdCursor, writeIdCursor } from '../../http/queries.ts'
import { isRefusal, type Refusal, refuse } from '../../core/refusals.ts'
import { createArguments, emailOf, findAsked, messageIdOf } from '../arguments.ts'
import { PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanValue, UNTRUSTED } from '../untrusted.ts'
import { APP, EMAIL, RESULT, MESSAGE_ID, oneOf, takes, type Tool, type ToolDependencies } from './tool.ts'

const ASKED = takes({
  app: APP,
  messageId: Type.Optional(MESSAGE_ID),
  email: Type.Optional(EMAIL),
  state: Type.Optional(oneOf(DELIVERY_STATES, `Send one of ${DELIVERY_STATES.join(', ')}.`)),
  ...PAGE,
})

const readQuery = createArguments({
  schema: ASKED,
  clean: ({ messageId, email, state, cursor, limit = DEFAULT_PAGE_ITEMS }) => ({
    messageId: messageId === undefined ? null : messageIdOf(messageId),
    email: emailOf(email),
    states: state === undefined ? null : [state],
    before: cursor === undefined ? null : readIdCursor(cursor),
    limit,
  }),
  rules: () => ({ cursor: idCursorRule }),
})

export const listDeliveries: Tool = {
  name: 'list_deliveries',
  title: 'List deliveries',
  description: 'Triggered emails, newest first.',
  kind: 'read',
  input: ASKED,
  output: RESULT,
  run: async (deps, { access }, args) => {
    const asked = findAsked(access, readQuery(args, null))
    if (isRefusal(asked)) return asked
    const { app, input } = asked
    const about = await findAbout(deps, app, input)
    if (isRefusal(about)) return about
    const { states, before, limit } = input
    const query = { ...about, appId: app.id, states, before, limit: limit + 1 }
    const rows = await deps.store.listDeliveries(query)
    const views = await viewDeliveries(deps, app, rows.slice(0, limit))
    const data = takeWithin(cleanValue(views), PAGE_BYTES)
    const last = rows[data.length - 1]
    const nextCursor = rows.length > data.length && last ? writeIdCursor(last.id) : null
    return { untrusted: UNTRUSTED, ok: true, data, nextCursor }
  },
}

type About = { messageId: number | null; contactId: number | null }

/** 404 for a message or person of another app. */
async function findAbout(
  { store }: ToolDependencies,
  app: AppRow,
  { messageId, email }: { messageId: number | null; email: string | null },
): Promise<About | Refusal> {
  if (messageId !== null && !(await store.findMessage(app.id, messageId))) return refuse('message_not_found')
  if (email === null) return { messageId, contactId: null }
  const contact = await store.findContact(app.id, email)
  return contact ? { messageId, contactId: contact.id } : UNKNOWN_PERSON
}
