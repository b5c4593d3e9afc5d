import { Type } from '@sinclair/typebox'
import type { AppRow } from '../../accounts/access.ts'
import { DELIVERY_STATES, type DeliveryRow } from '../../deliveries/deliveries.ts'
import { readAddress, type Body } from '../../core/field-readers.ts'
import { deliveryView } from '../message-views.ts'
import { UNKNOWN_PERSON } from '../../people/contacts.ts'
import { readIdCursor, readLimit, writeIdCursor } from '../../http/queries.ts'
import { type FieldError, isRefusal, type Refusal, refuse } from '../../core/refusals.ts'
import { type Names, findAsked, readAbout, readMessageId } from '../arguments.ts'
import { PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanText, UNTRUSTED } from '../untrusted.ts'
import { APP, EMAIL, LIST, MESSAGE_ID, PAGE, takes, text, type Tool, type ToolDependencies } from './tool.ts'

const readQuery = (args: Body, known: Names) =>
  readAbout(args, known, (query, errors) => ({
    messageId: query.messageId === undefined ? null : readMessageId(query, errors),
    email: query.email === undefined ? null : readAddress(query.email, errors).email,
    states: query.state === undefined ? null : readState(query.state, errors),
    before: query.cursor === undefined ? null : readIdCursor(query.cursor, errors),
    limit: readLimit(query.limit, errors),
  }))

function readState(text: string, errors: FieldError[]) {
  const states = DELIVERY_STATES.filter((state) => state === text)
  if (states.length === 0)
    errors.push({ field: 'state', code: 'invalid', message: `Send one of ${DELIVERY_STATES.join(', ')}.` })
  return states
}

export const listDeliveries: Tool = {
  name: 'list_deliveries',
  title: 'Mails to people',
  description: 'Triggered emails, newest first.',
  kind: 'read',
  input: takes({
    app: APP,
    messageId: Type.Optional(MESSAGE_ID),
    email: Type.Optional(EMAIL),
    state: Type.Optional(text('such as sent, kept or skipped')),
    ...PAGE,
  }),
  output: LIST,
  run: async (deps, { access }, args, known) => {
    const asked = findAsked(access, readQuery(args, known))
    if (isRefusal(asked)) return asked
    const { app, input } = asked
    const about = await findAbout(deps, app, input)
    if (isRefusal(about)) return about
    const { states, before, limit } = input
    const query = { ...about, appId: app.id, states, before, limit: limit + 1 }
    const rows = await deps.store.listDeliveries(query)
    const data = takeWithin(await describe(deps, app, rows.slice(0, limit)), PAGE_BYTES)
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

async function describe({ store }: ToolDependencies, app: AppRow, rows: DeliveryRow[]) {
  const [messages, contacts] = await Promise.all([
    store.listMessages(app.id),
    store.listContactsById([...new Set(rows.map(({ contactId }) => contactId))]),
  ])
  const names = new Map(messages.map(({ id, name }) => [id, cleanText(name)]))
  const emails = new Map(contacts.map(({ id, email }) => [id, cleanText(email)]))
  return rows.map((row) => ({
    ...deliveryView(row),
    message: names.get(row.messageId) ?? null,
    email: emails.get(row.contactId) ?? null,
  }))
}
