/**
 * Fields that several inputs have, as TypeBox schemas. An input is declared once, beside its reader: OpenAPI, MCP and the
 * names that the reader knows are made from it. The readers (field-readers.ts) enforce a few rules more, which a schema
 * cannot say; test/http/schemas.test.ts holds the two together. `brief` is the description for a model. Unknown fields are
 * allowed, and ignored with a warning.
 */
import { Type } from '@sinclair/typebox'
import * as limits from './field-limits.ts'
import * as patterns from './field-patterns.ts'

const appId = (description: string) =>
  Type.Optional(Type.String({ description, minLength: 1, maxLength: limits.MAX_APP_ID_CHARACTERS }))

export const APP = appId('The app ID from the Activation screen. `newsletter` is its other name: send either.')
export const NEWSLETTER = appId('The app ID from the Activation screen. `app` is its other name: send either.')

/**
 * Not without both names. TypeBox hands it on to JSON Schema without checking it; the readers do. `anyOf` would say the
 * same, but makers of typed clients read it as "or anything".
 */
export const EITHER_APP_NAME = { not: { properties: { app: false, newsletter: false } } }

export const EMAIL = Type.String({
  description:
    "The person's email: one plain address. Trimmed and lowercased to identify the person; international domains are folded to punycode.",
  pattern: patterns.EMAIL_PATTERN,
  examples: ['jane@example.com'],
})

export const EVENT = Type.String({
  description:
    'The name of the event: 1 to 64 letters, digits, `_`, `.`, `:` and `-`. `results_ready` when results are ready for the first time.',
  pattern: patterns.EVENT_NAME_PATTERN,
  examples: ['results_ready'],
})

export const nameField = (description: string) =>
  Type.Union(
    [Type.String({ pattern: patterns.NO_CONTROL_PATTERN, maxLength: limits.MAX_NAME_CHARACTERS }), Type.Null()],
    { description },
  )

export const shortText = (maxLength: number, description?: string) =>
  Type.String({ description, minLength: 1, maxLength, pattern: patterns.NO_CONTROL_PATTERN })
