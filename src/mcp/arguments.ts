/** From the arguments of a reading tool to clean input, by the readers of the API's queries. */
import type { Access, AppRow } from '../core/access.ts'
import { findApp } from '../core/access.ts'
import { type Body, readAddress, readAppId } from '../core/field-readers.ts'
import { type Query, refuseUnknown } from '../core/queries.ts'
import { type FieldError, type Refusal, refuse, refuseFields } from '../core/refusals.ts'

/** As a query would say it. Models send null for what they leave out. */
export const toQuery = (args: Body): Query =>
  Object.fromEntries(
    Object.entries(args)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )

type Reading<T> = { input: T } | { errors: FieldError[] }
export type Asked<T> = { app: AppRow; input: T }

/** 400, then 404 for the app. */
export function findAsked<T extends { app: string }>(access: Access, reading: Reading<T>): Asked<T> | Refusal {
  if ('errors' in reading) return refuseFields(reading.errors)
  const app = findApp(access, reading.input.app)
  return app ? { app, input: reading.input } : refuse('app_not_found')
}

type Extra<T> = (query: Query, errors: FieldError[]) => T

/** Arguments about one app: `app`, and the others that are `known`, which `readOthers` reads. */
export function readAbout<T>(args: Body, known: string[], readOthers: Extra<T>): Reading<{ app: string } & T> {
  const query = toQuery(args)
  const errors: FieldError[] = []
  refuseUnknown(query, new Set(['app', 'newsletter', ...known]), errors)
  const app = readAppId(query, 'app', errors)
  const others = readOthers(query, errors)
  return errors.length > 0 ? { errors } : { input: { app, ...others } }
}

/** The email of one person, which a query may leave out. */
export const readPerson = (args: Body) =>
  readAbout(args, ['email'], ({ email }, errors) => ({ email: readAddress(email, errors).email }))
