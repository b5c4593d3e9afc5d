import { cutText } from '../core/visible-text.ts'

/** How large answers may be: models pay for what they read. */

/** Of a tool's whole result. */
export const RESULT_BYTES = 25 * 1024
export const TOOL_LIST_BYTES = 16 * 1024

/** For what stands around the items of a page: the sentence about untrusted text twice, the cursor, the protocol. */
const AROUND_BYTES = 1_024
export const PAGE_BYTES = RESULT_BYTES - AROUND_BYTES
/** So that a page holds several people, and one person alone is shown as whole as can be. */
export const LISTED_CONTACT_BYTES = 4 * 1024
export const CONTACT_BYTES = PAGE_BYTES - 1_024

/** What a value costs: it stands in a result as it is, and again in the text. */
export function costOf(value: unknown): number {
  const json = JSON.stringify(value)
  return Buffer.byteLength(json) + Buffer.byteLength(JSON.stringify(json))
}

/** The first items that fit together. */
export function takeFitting<T>(items: readonly T[], bytes: number): T[] {
  let left = bytes
  const end = items.findIndex((item) => (left -= costOf(item) + 3) < 0)
  return end < 0 ? [...items] : items.slice(0, end)
}

type Contact = { tags: string[]; fields: Record<string, unknown> }
type Omitted = { omitted?: { tags: number; fields: number } }

/** A person with as many tags and fields as fit; `omitted` says how many are left out, and is absent when none are. */
export function fitContact<T extends Contact>(contact: T, bytes: number): T & Omitted {
  if (costOf(contact) <= bytes) return contact
  const rest = bytes - costOf({ ...contact, tags: [], fields: {}, omitted: { tags: 999, fields: 999 } })
  const tags = takeFitting(contact.tags, rest / 4)
  const entries = Object.entries(contact.fields)
  const fields = takeFitting(entries, rest - costOf(tags))
  const omitted = { tags: contact.tags.length - tags.length, fields: entries.length - fields.length }
  return { ...contact, tags, fields: Object.fromEntries(fields), omitted }
}

type Written = { onlyIf?: unknown; trigger: object; mail: { body: string } }

/**
 * A message with as much of its text as fits: first the end of the body goes, then the rules. `omitted` names what is
 * not whole, and is absent where all is.
 */
export function fitMessage<T extends Written>(message: T, bytes: number): { message: T; omitted?: string[] } {
  if (costOf(message) <= bytes) return { message }
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

/** The beginning of a text that fits, never half a character. */
export function fitText(text: string, bytes: number): string {
  let most = text.length
  while (most > 0 && costOf(text.slice(0, most)) > bytes) {
    most = Math.min(most - 1, Math.floor((most * bytes) / costOf(text.slice(0, most))))
  }
  return cutText(text, Math.max(0, most)).text
}
