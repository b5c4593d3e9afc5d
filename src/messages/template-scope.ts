/** Template variables: cleaned data of one person and event, without blanks. */

import { cleanText } from '../core/visible-text.ts'
import type { Place } from './template-values.ts'

export type TemplateFacts = {
  contact: {
    email: string
    firstName: string | null
    lastName: string | null
    tags: string[] | null
    fields: Record<string, unknown> | null
  }
  event: { properties: string | null } | null
  /** all listed events, oldest first; default: the event alone */
  events?: { properties: string | null }[]
  app: { name: string; homeUrl: string | null } & Place
  unsubscribeUrl: string
  /** only in emails that ask for consent */
  confirmUrl?: string
}

/** undefined means missing: nulls and blanks are left out. */
export type TemplateScope = { [name: string]: unknown }

export const RENDER_MS = 250

/** What this thread has computed, in ms: a busy machine doesn't make a template slow. */
export function computedMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Deeper than the API's JSON. */
const DEPTH_MAX = 16

export function makeTemplateScope({
  contact,
  event,
  events,
  app,
  unsubscribeUrl,
  confirmUrl,
}: TemplateFacts): TemplateScope {
  const { email, firstName, lastName, tags, fields } = contact
  const listed = new Set((events ?? (event ? [event] : [])).map(({ properties }) => properties))
  return {
    event: readEvent(event?.properties ?? null),
    events: [...listed].map(readEvent),
    contact: { ...asObject(cleanData({ email, firstName, lastName, tags })), fields: asObject(cleanData(fields)) },
    // null instead of missing: fallbacks are evaluated even when unused
    app: { homeUrl: null, ...asObject(cleanData({ name: app.name, homeUrl: app.homeUrl })) },
    unsubscribeUrl,
    ...(confirmUrl === undefined ? {} : { confirmUrl }),
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
