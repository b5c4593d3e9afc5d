/**
 * Fields shared by several inputs, with their error messages (`say`) and rules beyond the schema. Validation (inputs.ts),
 * OpenAPI and MCP use the same schemas. `brief` is the description for a model. Unknown fields are ignored with a warning.
 */
import { type TObject, Type } from '@sinclair/typebox'
import { MINUTE_MS } from './clock.ts'
import { describeInvalidEmail, readEmail } from './email.ts'
import * as limits from './field-limits.ts'
import * as patterns from './field-patterns.ts'
import { type Body, type Fault, faultOf, isFine, type Rules, type Say } from './inputs.ts'

const APP_ID_SAY = {
  missing: 'Send the app ID from the Activation page as `app`.',
  invalid: 'Send the app ID as shown on the Activation page.',
}

const appId = (description: string, say: Say) =>
  Type.Optional(Type.String({ description, say, minLength: 1, maxLength: limits.MAX_APP_ID_CHARACTERS }))

export const APP = appId('The app ID from the Activation page.', APP_ID_SAY)
export const NEWSLETTER = appId('Another name for `app`: send either one.', {
  ...APP_ID_SAY,
  missing: 'Send the app ID from the Activation page as `newsletter`.',
})

/**
 * Requires one of the names. TypeBox publishes `not` without checking it; `appRules` and `findAppId` do. Generators of
 * typed clients would read an equivalent `anyOf` as "or anything".
 */
export const EITHER_APP_NAME = { not: { properties: { app: false, newsletter: false } } }

const CONFLICT: Fault = {
  code: 'conflict',
  message: '`app` and `newsletter` are two names for one field. Send one of them, or the same value in both.',
}

type AppNames = { app?: string; newsletter?: string }

export const knownFields = ({ properties }: TObject): ReadonlySet<string> => new Set(Object.keys(properties))

/** The app ID under either name; null if none or two are given. */
export function findAppId({ app, newsletter }: AppNames): string | null {
  if (app !== undefined && newsletter !== undefined && app !== newsletter) return null
  return app ?? newsletter ?? null
}

/** The errors for `findAppId`. A missing ID is reported under the first name in the schema. */
export function appRules({ properties }: TObject): Rules {
  const first = Object.keys(properties).find((name) => name === 'app' || name === 'newsletter')
  const missing = (name: 'app' | 'newsletter', { app, newsletter }: Body): Fault | null =>
    name === first && app === undefined && newsletter === undefined
      ? faultOf(name === 'app' ? APP : NEWSLETTER, 'missing', undefined)
      : null
  return {
    app: (app, body) => missing('app', body) ?? (isConflict(app, body.newsletter) ? CONFLICT : null),
    newsletter: (_, body) => missing('newsletter', body),
  }
}

const isConflict = (app: unknown, newsletter: unknown): boolean =>
  app !== undefined && app !== newsletter && isFine(NEWSLETTER, newsletter)

export const describeWrongEmail = (value: unknown): string =>
  describeInvalidEmail(
    value,
    'Send one complete email address, such as ada@example.com, without a name, brackets or quotes.',
  )

export const EMAIL = Type.String({
  description:
    "The person's email address. To identify the person, it is trimmed and lowercased, and international domains become punycode.",
  pattern: patterns.EMAIL_PATTERN,
  examples: ['jane@example.com'],
  say: {
    missing: "Send the person's email address.",
    invalid: describeWrongEmail,
  },
})

/** The part of the rule that EMAIL_PATTERN can't express. */
export const emailRule = (value: unknown): Fault | null =>
  typeof value === 'string' && readEmail(value) === null ? faultOf(EMAIL, 'invalid', value) : null

export const EVENT = Type.String({
  description:
    "The name of the event: 1 to 64 letters, digits, `_`, `.`, `:` and `-`. Use `results_ready` the first time a user's results are ready.",
  maxLength: limits.MAX_EVENT_NAME_CHARACTERS,
  pattern: patterns.EVENT_NAME_PATTERN,
  examples: ['results_ready'],
  say: {
    missing: 'Send the name of the event, such as `results_ready`.',
    too_long: `Send a name of 1 to ${limits.MAX_EVENT_NAME_CHARACTERS} characters.`,
    invalid: 'Send 1 to 64 characters: letters A to Z and a to z, digits, `_`, `.`, `:` and `-`.',
  },
})

const oneLine = (what: string, size: string): Say => {
  const say = `Send ${what} of ${size} characters, without control characters.`
  return { invalid: say, too_long: say }
}

export const nameField = (description: string) =>
  Type.Union(
    [Type.String({ pattern: patterns.NO_CONTROL_PATTERN, maxLength: limits.MAX_NAME_CHARACTERS }), Type.Null()],
    { description, say: oneLine('a name', `up to ${limits.MAX_NAME_CHARACTERS}`) },
  )

/** `what`: its name in error messages. */
export const shortText = (maxLength: number, what: string, description?: string) => {
  const say = oneLine(what, `1 to ${maxLength}`)
  return Type.String({ description, minLength: 1, maxLength, pattern: patterns.NO_CONTROL_PATTERN, say })
}

export const flag = (options: { description: string; brief: string }) =>
  Type.Boolean({ ...options, say: 'Send true or false.' })

export const TIME_SAY = 'Send an ISO 8601 time with a timezone, such as 2026-03-01T12:00:00Z.'

const TIME = new RegExp(patterns.TIME_PATTERN)

/** Milliseconds since 1970 of an ISO 8601 time with `Z` or an offset; null if invalid or not a real day. */
export function parseTime(text: string): number | null {
  const [, date = '', minutes = '', seconds = '00', fraction = '', zone = 'Z'] = TIME.exec(text) ?? []
  const local = Date.parse(`${date}T${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`)
  // Date.parse may turn February 30 into March 1 or 2.
  if (Number.isNaN(local) || !new Date(local).toISOString().startsWith(date)) return null
  if (zone === 'Z') return local
  const offsetMs = (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2))) * MINUTE_MS
  return zone.startsWith('-') ? local + offsetMs : local - offsetMs
}
