/** Adds the addresses of an email provider's own list to the suppressions of an app, when a member asks for it. */
import { type Clock, HOUR_MS } from '../core/clock.ts'
import { readEmail } from '../core/email.ts'
import type { Store } from '../store/store.ts'
import type { SuppressionReason } from '../store/message-types.ts'
import type { SuppressionSync } from '../store/suppressions.ts'
import type { AppRow } from '../store/types.ts'
import { listParts, mergeReasons } from './suppressions.ts'

export type { SuppressionSync }

/** `text`: the provider's words for the reason. */
export type ListedAddress = { email: string; reason: SuppressionReason; text: string }

/** `fault`: a code. `retryAfterMs`: the provider asks for a pause. */
type ListPage = { rows: ListedAddress[]; next: string | null } | { fault: string; retryAfterMs?: number }

/** `provider`: its ID (accounts/mail-providers.ts). `cursor` null: the first page. */
export type ProviderList = { provider: string; readPage: (cursor: string | null) => Promise<ListPage> }

/** Further entries are left out: a list that long is imported as a file. */
export const MOST_LISTED = 100_000

/** A list that goes on after either is taken as endless. The shortest pages of a provider have 100 entries. */
export const MOST_PAGES = 2_000
const LONGEST_MS = HOUR_MS

/** In a row. */
const MOST_PAUSES = 10
const LONGEST_PAUSE_MS = 60_000

/** Codes of our own, beside those of the provider (mail/suppression-lists.ts). */
export const TOO_LONG = 'too_long'
export const ENDLESS = 'endless'
export const UNSAVED = 'unsaved'

export type SyncProgress = Pick<SuppressionSync, 'provider' | 'added' | 'known' | 'unread'>

type Given = { store: Store; clock: Clock; sleep?: (ms: number) => Promise<unknown> }

export type SuppressionSyncs = ReturnType<typeof createSuppressionSyncs>

export function createSuppressionSyncs({ store, clock, sleep = Bun.sleep }: Given) {
  const running = new Map<number, SyncProgress>()

  /** @returns a code of what went wrong, or null */
  const add = async (appId: number, rows: readonly ListedAddress[], progress: SyncProgress): Promise<string | null> => {
    const found = rows.flatMap((row) => {
      const address = readEmail(row.email)
      return address ? [{ ...row, email: address.email }] : []
    })
    progress.unread += rows.length - found.length
    const all = mergeReasons(found)
    for (const some of listParts(store, all)) {
      const listed = some.map(({ text, ...row }) => ({
        ...row,
        cause: { by: 'list', provider: progress.provider, text } as const,
      }))
      const outcome = await store.suppressMany({ appId, rows: listed, at: clock.now(), noted: null })
      if ('refusal' in outcome) return UNSAVED
      progress.added += outcome.added
      progress.known += some.length - outcome.added
    }
    return null
  }

  const read = async (appId: number, { readPage }: ProviderList, progress: SyncProgress): Promise<string | null> => {
    // hashes, because a cursor can be as long as a page
    const [seen, endsAt] = [new Set<number | bigint>(), clock.now() + LONGEST_MS]
    let [cursor, pauses, left]: [string | null, number, number] = [null, 0, MOST_LISTED]
    while (seen.size < MOST_PAGES && clock.now() < endsAt) {
      const page = await readPage(cursor)
      if ('fault' in page) {
        const { fault, retryAfterMs } = page
        if (retryAfterMs === undefined || retryAfterMs > LONGEST_PAUSE_MS || ++pauses > MOST_PAUSES) return fault
        await sleep(retryAfterMs)
        continue
      }
      pauses = 0
      const fault = await add(appId, page.rows.slice(0, left), progress)
      if (fault !== null) return fault
      if (page.rows.length > left) return TOO_LONG
      left -= page.rows.length
      if (page.next === null) return null
      cursor = page.next
      const hash = Bun.hash(cursor)
      if (seen.has(hash)) return ENDLESS
      seen.add(hash)
    }
    return ENDLESS
  }

  const run = async ({ id: appId, accountId }: AppRow, list: ProviderList, actor: string): Promise<void> => {
    const progress = { provider: list.provider, added: 0, known: 0, unread: 0 }
    running.set(appId, progress)
    try {
      const fault = await read(appId, list, progress)
      await store.saveSuppressionSync({ appId, accountId, actor, at: clock.now(), sync: { ...progress, fault } })
    } finally {
      running.delete(appId)
    }
  }

  return {
    /** null: none is running. */
    findProgress: (appId: number): SyncProgress | null => running.get(appId) ?? null,
    /** Resolves at its end. One at a time per app; repeatable. */
    start: (app: AppRow, list: ProviderList, actor: string): Promise<void> =>
      running.has(app.id) ? Promise.resolve() : run(app, list, actor),
  }
}
