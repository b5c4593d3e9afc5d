/** Bodies that name an app. */
import { type Static, type TObject, Type } from '@sinclair/typebox'
import * as fields from '../core/field-schemas.ts'
import { type Body, createReader, type Reading, type Rules, warnOfUnknown } from '../core/inputs.ts'

export const APP = { app: fields.APP, newsletter: fields.NEWSLETTER }

export const ofBody = <P extends TObject['properties']>(
  properties: P,
  options: { title: string; description: string },
) => Type.Object({ ...APP, ...properties }, { ...options, ...fields.EITHER_APP_NAME })

/** `clean` returns null for what `rules` refuse. */
export function createBody<S extends TObject, R extends object>(
  schema: S,
  clean: (sent: Static<S>) => R | null,
  rules: Rules,
) {
  const all: Rules = { ...fields.appRules(schema), ...rules }
  const read = createReader({
    schema: schema as TObject,
    clean: (sent: Body) => {
      const app = fields.findAppId(sent)
      const isRefused = Object.entries(all).some(([name, rule]) => rule(sent[name], sent) !== null)
      const cleaned = app === null || isRefused ? null : clean(sent as Static<S>)
      return app === null || cleaned === null ? null : { app, ...cleaned }
    },
    rules: () => all,
  })
  const known = fields.knownFields(schema)
  return (body: Body): Reading<{ app: string } & R> => {
    const reading = read(body, null)
    return 'errors' in reading ? reading : { ...reading, warnings: warnOfUnknown(body, known) }
  }
}
