import type { Store } from '../store/store.ts'

export type AuditEntry = Awaited<ReturnType<Store['listAudit']>>[number]

export const AUDIT_KINDS = ['all', 'sign_ins', 'changes'] as const
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
  { kind, before, limit }: { kind: AuditKind; before: Cursor | null; limit: number },
): Promise<{ entries: AuditEntry[]; older: string | null }> {
  const found = await store.listAudit({ accountId, kind, before, limit: limit + 1 })
  const entries = found.slice(0, limit)
  const last = entries.at(-1)
  return { entries, older: found.length > limit && last ? `${last.createdAt}-${last.id}` : null }
}
