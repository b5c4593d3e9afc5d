/** Merges a write into a person, within the limits of tags and fields per person. */
import { MAX_CUSTOM_FIELDS, MAX_CUSTOM_FIELDS_BYTES, MAX_STORED_TAGS } from '../core/field-limits.ts'
import type { ContactRow, ContactWrite, FieldValue, Refused } from '../store/types.ts'

type Stored = Pick<ContactRow, 'firstName' | 'lastName' | 'tags' | 'fields'>
type Change = Pick<ContactWrite, 'firstName' | 'lastName' | 'tags' | 'removeTags' | 'fields'>
type Merged = Pick<ContactRow, 'firstName' | 'lastName'> & { tags: string[]; fields: Record<string, FieldValue> }

/** Refuses additions beyond a limit (tags_full, fields_full). Removing always works. */
export function mergeContact(old: Stored, change: Change): Merged | Refused {
  const next = {
    firstName: change.firstName === undefined ? old.firstName : change.firstName,
    lastName: change.lastName === undefined ? old.lastName : change.lastName,
    tags: mergeTags(old.tags ?? [], change),
    fields: mergeFields(old.fields ?? {}, change.fields ?? {}),
  }
  return findOverfull(old, next) ?? next
}

const mergeTags = (old: string[], { tags, removeTags }: Change): string[] =>
  [...new Set([...old, ...tags])].filter((tag) => !removeTags.includes(tag))

/** null removes. Entries, not assignment: a field may be called `__proto__`. */
function mergeFields(old: Record<string, FieldValue>, changes: Record<string, FieldValue | null>) {
  const merged = new Map<string, FieldValue | null>([...Object.entries(old), ...Object.entries(changes)])
  const entries = Array.from(merged).filter((entry): entry is [string, FieldValue] => entry[1] !== null)
  return Object.fromEntries(entries)
}

function findOverfull(old: Stored, next: Merged): Refused | null {
  const [tagsBefore, tags] = [old.tags?.length ?? 0, next.tags.length]
  if (tags > MAX_STORED_TAGS && tags > tagsBefore) return { refusal: 'tags_full' }
  const [before, after] = [sizeOf(old.fields), sizeOf(next.fields)]
  if (after.keys > MAX_CUSTOM_FIELDS && after.keys > before.keys) return { refusal: 'fields_full' }
  return after.bytes > MAX_CUSTOM_FIELDS_BYTES && after.bytes > before.bytes ? { refusal: 'fields_full' } : null
}

const sizeOf = (fields: Stored['fields']) => ({
  keys: Object.keys(fields ?? {}).length,
  bytes: Buffer.byteLength(JSON.stringify(fields ?? {})),
})
