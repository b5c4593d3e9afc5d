import { type TObject, type TProperties, Type } from '@sinclair/typebox'
import type { Body } from '../../core/field-readers.ts'
import type { CallLog } from '../../accounts/call-log.ts'
import type { Limits } from '../../accounts/limits.ts'
import type { Clock } from '../../core/clock.ts'
import type { Simulations } from '../../deliveries/simulation/index.ts'
import type { Notes } from '../../events/activation.ts'
import type { Mailer } from '../../messages/mailer.ts'
import type { TemplateWorker } from '../../messages/template-worker.ts'
import type { Store } from '../../store/store.ts'
import type { Refusal, Warning } from '../../core/refusals.ts'
import type { SnippetSource } from '../../visits/snippet-tag.ts'
import type { Caller } from '../caller.ts'

/** What a tool may do: `manage` is for keys of that scope alone. */
export type ToolKind = 'read' | 'write' | 'manage'

/** `snippet`: the scripts of the tag for pages, as they were built. */
export type ToolParts = {
  store: Store
  clock: Clock
  limits: Limits
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

/**
 * One thing that can be asked for. `run` answers what the HTTP API would, with the same refusals; the schemas are what it
 * takes and answers, in few words, because a model reads all of them before it does anything.
 */
export type Tool = {
  name: string
  title: string
  description: string
  kind: ToolKind
  /** what it does may be more than adding, and sending it twice may be more than sending it once */
  hints?: { destructive?: boolean; repeats?: boolean; reachesOut?: boolean }
  input: TObject
  output: TObject
  run(parts: ToolParts, caller: Caller, args: Body): Result | Promise<Result>
}

/** What `app` and `cursor` are is said once, in the instructions of the server. */
export const APP = Type.String()
export const EMAIL = Type.String()
export const MESSAGE_ID = Type.String()
export const text = (description?: string) => Type.String(description === undefined ? {} : { description })
/** Shorter than the union that says the same. */
export const textOrNull = (description?: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...(description === undefined ? {} : { description }) })

export const PAGE = {
  cursor: Type.Optional(text()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
}

export const takes = (properties: TProperties): TObject => Type.Object(properties, { additionalProperties: false })

/** Beside these, every result has `ok`, and `untrusted` where others wrote what is in it. */
export const gives = (properties: TProperties): TObject => Type.Object(properties)

export const record = (description: string) => Type.Unsafe<object>({ type: 'object', description })
/** What its name says. */
export const OBJECT = Type.Unsafe<object>({ type: 'object' })
export const records = (description: string) => Type.Unsafe<object[]>({ type: 'array', description })

export const CONTACT = record(
  'id, email, firstName, lastName, tags, fields, source, status, and times such as lastSeenAt',
)
export const NEXT = { nextCursor: textOrNull() }
/** `contactId` null: the person would be new. Beside these there are `dryRun` and `warnings`, where there is something to say. */
const WRITTEN = {
  contactId: textOrNull(),
  created: Type.Boolean(),
  messages: records('messageId, name, deliveryId, state, dueAt'),
}
export const RECORDED = gives(WRITTEN)
export const SAVED = gives({ ...WRITTEN, contact: OBJECT })

/** A person's fields are called as the API's documentation calls them there, but for the app. */
export const nameApp = <T extends Warning>(errors: T[]): T[] =>
  errors.map((error) =>
    error.field === 'newsletter'
      ? { ...error, field: 'app', message: error.message.replace('`newsletter`', '`app`') }
      : error,
  )
