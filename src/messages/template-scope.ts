/** What templates see: plain data of one person and event, cleaned, without what is blank. */

import { cleanText } from '../core/visible-text.ts'
import type { Place } from './template-values.ts'

/** The facts as the store keeps them. `properties` is the event's compact JSON; null where nothing was an event. */
export type TemplateFacts = {
  contact: {
    email: string
    firstName: string | null
    lastName: string | null
    tags: string[] | null
    fields: Record<string, unknown> | null
  }
  event: { properties: string | null } | null
  /** all that the email lists, oldest first; the event alone where it is left out */
  events?: { properties: string | null }[]
  app: { name: string; homeUrl: string | null } & Place
  unsubscribeUrl: string
}

/** A value is missing exactly when it is undefined: null and blank texts were left out. */
export type TemplateScope = { [name: string]: unknown }

/** How long one email may take to render. */
export const RENDER_MS = 250

/** Deeper than any JSON the API takes. */
const DEPTH_MAX = 16

/** The scope of one mail. Nothing in it has a prototype or a function. */
export function makeTemplateScope({ contact, event, events, app, unsubscribeUrl }: TemplateFacts): TemplateScope {
  const { email, firstName, lastName, tags, fields } = contact
  const listed = new Set((events ?? (event ? [event] : [])).map(({ properties }) => properties))
  return {
    event: readEvent(event?.properties ?? null),
    // what was sent twice is listed once
    events: [...listed].map(readEvent),
    contact: { ...asObject(cleanData({ email, firstName, lastName, tags })), fields: asObject(cleanData(fields)) },
    // null and not missing: as a fallback it is looked up also where it is not needed
    app: { homeUrl: null, ...asObject(cleanData({ name: app.name, homeUrl: app.homeUrl })) },
    unsubscribeUrl,
  }
}

const readEvent = (json: string | null): object => asObject(cleanData(json === null ? {} : JSON.parse(json)))

const asObject = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {})

function cleanData(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return undefined
  if (Array.isArray(value)) return value.map((one) => cleanData(one, depth + 1)).filter((one) => one !== undefined)
  const entries = Object.entries(value).map(([name, one]) => [name, cleanData(one, depth + 1)] as const)
  return Object.fromEntries(entries.filter(([, one]) => one !== undefined))
}
