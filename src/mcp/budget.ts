import { cutText } from '../core/visible-text.ts'

export const RESULT_BYTES = 25 * 1024

/** Untrusted-text notices, cursor and protocol. */
const ENVELOPE_BYTES = 1_024
export const PAGE_BYTES = RESULT_BYTES - ENVELOPE_BYTES
/** So that a page holds several people. */
export const LISTED_CONTACT_BYTES = 4 * 1024
export const CONTACT_BYTES = PAGE_BYTES - 1_024

/** Values appear twice: structured and as text. */
export function costOf(value: unknown): number {
  const json = JSON.stringify(value)
  return Buffer.byteLength(json) + Buffer.byteLength(JSON.stringify(json))
}

export function takeWithin<T>(items: readonly T[], bytes: number): T[] {
  let left = bytes
  const end = items.findIndex((item) => (left -= costOf(item) + 3) < 0)
  return end < 0 ? [...items] : items.slice(0, end)
}

type Contact = { tags: string[]; fields: Record<string, unknown> }
type Omitted = { omitted?: { tags: number; fields: number } }

/** Drops tags and fields that don't fit; `omitted` counts them. */
export function fitContact<T extends Contact>(contact: T, bytes: number): T & Omitted {
  if (costOf(contact) <= bytes) return contact
  const rest = bytes - costOf({ ...contact, tags: [], fields: {}, omitted: { tags: 999, fields: 999 } })
  const tags = takeWithin(contact.tags, rest / 4)
  const entries = Object.entries(contact.fields)
  const fields = takeWithin(entries, rest - costOf(tags))
  const omitted = { tags: contact.tags.length - tags.length, fields: entries.length - fields.length }
  return { ...contact, tags, fields: Object.fromEntries(fields), omitted }
}

type Written = { onlyIf?: unknown; trigger: object; mail: { body: string; html?: string; variants?: object } }

/** Leaves out HTML and other languages and cuts the body first, then the rules; `omitted` names what was cut. */
export function fitMessage<T extends Written>(message: T, bytes: number): { message: T; omitted?: string[] } {
  if (costOf(message) <= bytes) return { message }
  const { html, variants, ...mail } = message.mail
  if (html !== undefined || variants !== undefined) {
    const fitted = fitMessage({ ...message, mail }, bytes)
    const left = [...(html === undefined ? [] : ['mail.html']), ...(variants === undefined ? [] : ['mail.variants'])]
    return { ...fitted, omitted: [...(fitted.omitted ?? []), ...left] }
  }
  const bare = { ...message, mail: { ...message.mail, body: '' } }
  if (costOf(bare) <= bytes - LEAST_BODY_BYTES)
    return { message: cutBody(bare, message, bytes), omitted: ['mail.body'] }
  const { onlyIf: _, ...rest } = bare
  const short = { ...rest, trigger: { ...message.trigger, where: undefined } } as unknown as T
  return { message: cutBody(short, message, bytes), omitted: ['trigger.where', 'onlyIf', 'mail.body'] }
}

const LEAST_BODY_BYTES = 2 * 1024

function cutBody<T extends Written>(bare: T, { mail }: Written, bytes: number): T {
  return { ...bare, mail: { ...bare.mail, body: fitText(mail.body, bytes - costOf(bare)) } }
}

export function fitText(text: string, bytes: number): string {
  let most = text.length
  while (most > 0 && costOf(text.slice(0, most)) > bytes) {
    most = Math.min(most - 1, Math.floor((most * bytes) / costOf(text.slice(0, most))))
  }
  return cutText(text, Math.max(0, most)).text
}
