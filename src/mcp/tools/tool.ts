import { Kind, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import * as fields from '../../core/field-schemas.ts'
import { type Body, type Say, WORD } from '../../core/inputs.ts'
import type { KeyAccess } from '../../accounts/access.ts'
import type { CallLog } from '../../accounts/call-log.ts'
import type { Limits } from '../../accounts/limits.ts'
import type { Clock } from '../../core/clock.ts'
import type { Simulations } from '../../deliveries/simulation/index.ts'
import type { Notes } from '../../events/activation.ts'
import type { EventRecorder } from '../../events/events.ts'
import { type CallNames, messageIdField } from '../../messages/drafts.ts'
import type { Mailer } from '../../messages/mailer.ts'
import type { TemplateWorker } from '../../messages/template-worker.ts'
import type { Store } from '../../store/store.ts'
import type { Refusal, Warning } from '../../core/refusals.ts'
import type { SnippetSource } from '../../visits/snippet-tag.ts'
import type { Names } from '../arguments.ts'
import type { Caller } from '../caller.ts'

/** `manage` needs a key of that scope. */
export type ToolKind = 'read' | 'write' | 'manage'

export type ToolDependencies = {
  store: Store
  clock: Clock
  access: Pick<KeyAccess, 'findWithNewApps'>
  limits: Limits
  recordEvent: EventRecorder
  notes: Notes
  calls: CallLog
  mailer: Mailer
  templates: TemplateWorker
  simulations: Simulations
  baseUrl: string
  addressKey: string
  previewKey: string
  snippet: Pick<SnippetSource, 'stub' | 'script'>
}

type Result = { ok: boolean } | Refusal

/** `run` answers like the HTTP API, with the same refusals. Schemas are brief, because models read all of them. */
export type Tool = {
  name: string
  title: string
  description: string
  kind: ToolKind
  /** hints: changes or deletes data; safe to repeat; reaches other people */
  hints?: { destructive?: boolean; repeats?: boolean; reachesOut?: boolean }
  input: TObject
  run(deps: ToolDependencies, caller: Caller, args: Body, known: Names): Result | Promise<Result>
}

export const APP = Type.String()
export const EMAIL = fields.EMAIL
export const NAMES: CallNames = {
  list: 'list_messages',
  get: 'get_message',
  preview: 'preview_message',
  docs: 'get_docs, page messages,',
}
export const MESSAGE_ID = messageIdField(NAMES)

/** One of a list of words; without `type` if the words are enough for a model. */
export const oneOf = <const T extends readonly string[]>(words: T, say: Say, type?: 'string') =>
  Type.Unsafe<T[number]>({ [Kind]: WORD, type, enum: [...words], say })

export const takes = <T extends TProperties>(properties: T): TObject<T> =>
  Type.Object(properties, { additionalProperties: false })

/** The HTTP API's schema and `more`. `app` has one name here and is required. */
export const inputSchema = ({ properties, required = [] }: TObject, more: TProperties = {}): TObject => {
  const { newsletter: _, ...own } = properties
  const { properties: added, required: needed = [] } = Type.Object(more)
  const all = { ...own, ...added }
  return { ...takes({}), required: ['app', ...required, ...needed], properties: all }
}

const mapValues = <T, R>(values: Record<string, T>, map: (value: T) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))

/** Keeps a schema's shape and its `brief` descriptions. */
export function forModels(schema: TSchema): TSchema {
  const { type, const: literal, enum: words, required, brief, additionalProperties } = schema
  const { properties, items, anyOf } = schema as { properties?: TProperties; items?: TSchema; anyOf?: TSchema[] }
  const inner = {
    ...(properties ? { properties: mapValues(properties, forModels) } : {}),
    // plain values need no type
    ...(items && !items.isPlain ? { items: forModels(items) } : {}),
    ...(anyOf ? { anyOf: anyOf.map(forModels) } : {}),
  }
  // literals and lists of words imply their type
  const shape = {
    ...(literal === undefined && words === undefined ? { type } : {}),
    const: literal,
    enum: words,
    description: brief,
    required,
    ...(properties && additionalProperties === false ? { additionalProperties } : {}),
    ...inner,
  }
  return JSON.parse(JSON.stringify(shape)) as TSchema
}

export const nameApp = <T extends Warning>(errors: T[]): T[] =>
  errors.map((error) =>
    error.field === 'newsletter'
      ? { ...error, field: 'app', message: error.message.replace('`newsletter`', '`app`') }
      : error,
  )
