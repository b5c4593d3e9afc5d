/** How large answers may be (mcp.md, Tools): models pay for what they read. */

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
