import type { Access, AppRow } from '../accounts/access.ts'
import { findApp } from '../accounts/apps.ts'
import { type Body, readAddress, readAppId } from '../core/field-readers.ts'
import type { MessageRow } from '../messages/messages.ts'
import type { Store } from '../store/store.ts'
import { readPublicId } from '../core/ids.ts'
import { type Query, refuseUnknown } from '../http/queries.ts'
import { type FieldError, isRefusal, type Refusal, refuse, refuseFields } from '../core/refusals.ts'

/** Models send null for what they omit. */
export const toQuery = (args: Body): Query =>
  Object.fromEntries(
    Object.entries(args)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )

type Reading<T> = { input: T } | { errors: FieldError[] }
export type Asked<T> = { app: AppRow; input: T }

export function findAsked<T extends { app: string }>(access: Access, reading: Reading<T>): Asked<T> | Refusal {
  if ('errors' in reading) return refuseFields(reading.errors)
  const app = findApp(access, reading.input.app)
  return app ? { app, input: reading.input } : refuse('app_not_found')
}

export type Names = ReadonlySet<string>

type Extra<T> = (query: Query, errors: FieldError[]) => T

export function readAbout<T>(args: Body, known: Names, readOthers: Extra<T>): Reading<{ app: string } & T> {
  const query = toQuery(args)
  const errors: FieldError[] = []
  refuseUnknown(query, known, errors)
  const app = readAppId(query, 'app', errors)
  const others = readOthers(query, errors)
  return errors.length > 0 ? { errors } : { input: { app, ...others } }
}

export const readPerson = (args: Body, known: Names) =>
  readAbout(args, known, ({ email }, errors) => ({ email: readAddress(email, errors).email }))

/** Never a stored id, so foreign ids answer like unknown ones. */
const NO_ID = 0

export function readMessageId({ messageId }: Query, errors: FieldError[]): number {
  if (messageId !== undefined) return readPublicId('msg', messageId) ?? NO_ID
  errors.push({ field: 'messageId', code: 'missing', message: 'Send the ID of the message, as list_messages has it.' })
  return NO_ID
}

export const readDeliveryId = (text: string): number => readPublicId('dlv', text) ?? NO_ID

/** 400, then 404 for the app, then 404 for the message. */
export async function findMessage<T extends { app: string; messageId: number }>(
  { store }: { store: Store },
  access: Access,
  reading: Reading<T>,
): Promise<(Asked<T> & { message: MessageRow }) | Refusal> {
  const asked = findAsked(access, reading)
  if (isRefusal(asked)) return asked
  const message = await store.findMessage(asked.app.id, asked.input.messageId)
  return message ? { ...asked, message } : refuse('message_not_found')
}
