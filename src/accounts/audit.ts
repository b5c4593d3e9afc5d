import { upperFirst } from '../core/text.ts'
import type { Store } from '../store/store.ts'
import type { KeyRow } from './accounts.ts'
import type { MemberEntry } from './members.ts'

export type AuditEntry = Awaited<ReturnType<Store['listAudit']>>[number]

export const AUDIT_KINDS = ['all', 'sign_ins', 'people', 'changes'] as const
export type AuditKind = (typeof AUDIT_KINDS)[number]

export const isAuditKind = (text: string): text is AuditKind => (AUDIT_KINDS as readonly string[]).includes(text)

const CURSOR = /^(\d{1,15})-(aud_\w{1,40})$/

type Cursor = { at: number; id: string }

export function readAuditCursor(text: string): Cursor | null {
  const [, at, id] = CURSOR.exec(text) ?? []
  return at !== undefined && id !== undefined ? { at: Number(at), id } : null
}

export async function listAudit(
  store: Store,
  accountId: string,
  { limit, ...query }: { kind: AuditKind; action?: string; before: Cursor | null; limit: number },
): Promise<{ entries: AuditEntry[]; older: string | null }> {
  const found = await store.listAudit({ ...query, accountId, limit: limit + 1 })
  const entries = found.slice(0, limit)
  const last = entries.at(-1)
  return { entries, older: found.length > limit && last ? `${last.createdAt}-${last.id}` : null }
}

const COMMAND_LINE = 'the command line'

const ACTORS = new Map([
  ['cli', COMMAND_LINE],
  ['setup', 'setup'],
  ['link', 'the holder of a link'],
  ['stranger', 'someone'],
  ['eventpost', 'Eventpost'],
])

export type ActorNames = { members: readonly MemberEntry[]; keys: readonly KeyRow[] }

/** Completes "saved": "by ada@example.com", "with the command line". */
export const creditActor = (actor: string): string => `${actor === COMMAND_LINE ? 'with' : 'by'} ${actor}`

/** At the start of a sentence. Emails keep their case. */
export const writeActorFirst = (actor: string): string => (actor.includes('@') ? actor : upperFirst(actor))

export function describeActor({ actor }: Pick<AuditEntry, 'actor'>, { members, keys }: ActorNames): string {
  const known = ACTORS.get(actor)
  if (known !== undefined) return known
  const key = actor.startsWith('key_') ? keys.find(({ id }) => id === actor) : undefined
  if (actor.startsWith('key_')) return `API key ${key?.name ?? actor}`
  const member = members.find(({ personId }) => personId === actor)
  // person ids are shared between accounts, so they are never shown
  return member?.email ?? (actor.startsWith('mem_') ? 'a former member' : actor)
}
