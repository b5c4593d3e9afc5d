import { Type } from '@sinclair/typebox'
import { DELIVERY_STATES } from '../../deliveries/deliveries.ts'
import { DEFAULT_PAGE_ITEMS } from '../../core/field-limits.ts'
import { findListed, viewDeliveries } from '../../deliveries/delivery-lists.ts'
import { idCursorRule, PAGE, readIdCursor, writeIdCursor } from '../../http/queries.ts'
import { idOf } from '../../core/ids.ts'
import { isRefusal } from '../../core/refusals.ts'
import { createArguments, emailOf, findAsked } from '../arguments.ts'
import { PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanValue, UNTRUSTED } from '../untrusted.ts'
import { APP, EMAIL, MESSAGE_ID, oneOf, takes, type Tool } from './tool.ts'

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
    messageId: messageId === undefined ? null : idOf('msg', messageId),
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
  description: 'Emails, newest first.',
  kind: 'read',
  input: ASKED,
  run: async (deps, caller, args) => {
    const asked = await findAsked(deps, caller, readQuery(args, null))
    if (isRefusal(asked)) return asked
    const { app, input } = asked
    const about = await findListed(deps.store, app, input)
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
