/** Validates arguments of tools that read and of those that manage messages. */
import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox'
import type { AppRow, KeyAccess } from '../accounts/access.ts'
import * as fields from '../core/field-schemas.ts'
import { type Body, createReader, type Rules } from '../core/inputs.ts'
import type { MessageRow } from '../messages/messages.ts'
import type { Store } from '../store/store.ts'
import { readEmail } from '../core/email.ts'
import { refuseUnknown } from '../http/queries.ts'
import { findNamed } from '../http/request-input.ts'
import type { Caller } from './caller.ts'
import { type FieldError, isRefusal, type Refusal, refuse, refuseApp, refuseFields } from '../core/refusals.ts'

/** Models send null for what they omit. */
export const withoutNulls = (args: Body): Body =>
  Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null))

type Reading<T> = { input: T } | { errors: FieldError[] }
export type Asked<T> = { app: AppRow; input: T }

type Dependencies = { access: Pick<KeyAccess, 'findWithNewApps'> }
type Asking = Pick<Caller, 'access' | 'facts'>

/** The app is noted for the log. */
export async function findAskedApp(deps: Dependencies, { access, facts }: Asking, publicId: string) {
  const found = await findNamed(deps, access, publicId)
  facts.app = found?.app
  return found
}

export async function findAsked<T extends { app: string }>(
  deps: Dependencies,
  caller: Asking,
  reading: Reading<T>,
): Promise<Asked<T> | Refusal> {
  if ('errors' in reading) return refuseFields(reading.errors)
  const { input } = reading
  const found = await findAskedApp(deps, caller, input.app)
  return found ? { app: found.app, input } : refuseApp(input.app)
}

export type Names = ReadonlySet<string>

/** Arguments besides the app, with their rules and clean form. */
type Arguments<S extends TObject, C, R> = {
  schema: S
  clean: (sent: Static<S>, context: C) => R | null
  rules?: (context: C) => Rules
}

const APP_NAME = { app: fields.APP }
const APP_RULES = fields.appRules(Type.Object(APP_NAME))

/** Reads arguments about one app. */
export function createArguments<S extends TObject, C, R extends object>({
  schema,
  clean,
  rules,
}: Arguments<S, C, R>): (args: Body, context: C) => Reading<{ app: string } & R> {
  const { app: _, ...others }: TProperties = schema.properties
  const own: TObject = Type.Object({ ...APP_NAME, ...others })
  const rulesOf = (context: C): Rules => ({
    ...APP_RULES,
    email: fields.emailRule,
    ...rules?.(context),
  })
  const known = new Set(Object.keys(own.properties))
  const read = createReader({
    schema: own,
    clean: (sent: Body, context: C) => {
      const app = fields.findAppId(sent)
      const isRefused = Object.entries(rulesOf(context)).some(([name, rule]) => rule(sent[name], sent) !== null)
      const cleaned = app === null || isRefused ? null : clean(sent as Static<S>, context)
      return app === null || cleaned === null ? null : { app, ...cleaned }
    },
    rules: rulesOf,
  })
  return (args, context) => refuseUnknown(read, withoutNulls(args), context, known)
}

/** The identity form of an optional email; null if absent. */
export const emailOf = (text: string | undefined): string | null =>
  text === undefined ? null : (readEmail(text)?.email ?? null)

/** 400, then 404 for the app, then 404 for the message. */
export async function findMessage<T extends { app: string; messageId: number }>(
  deps: Dependencies & { store: Store },
  caller: Asking,
  reading: Reading<T>,
): Promise<(Asked<T> & { message: MessageRow }) | Refusal> {
  const asked = await findAsked(deps, caller, reading)
  if (isRefusal(asked)) return asked
  const message = await deps.store.findMessage(asked.app.id, asked.input.messageId)
  return message ? { ...asked, message } : refuse('message_not_found')
}
