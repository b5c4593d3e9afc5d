/** Which rows of a list a live page lacks. Other instances store rows late, below newer ones. */
import type { Store } from '../../store/store.ts'

type Given = {
  store: Pick<Store, 'isShared'>
  /** the newest row on the page; 0: none */
  newest: number
  /** how far the id of a row may be below one that was stored before it */
  lateIds: number
  /** ids above it are of an instance whose clock is ahead: they come when it is their time */
  newestNow?: () => number
}

export function createNewRows({ store, newest, lateIds, newestNow }: Given) {
  const late = store.isShared ? lateIds : 0
  const most = (): number | null => (store.isShared && newestNow ? newestNow() : null)
  let sent = new Set<number>()
  let after = Math.min(newest, most() ?? Infinity)
  return {
    /** Rows up to this id are not new. The page itself drops what it has. */
    after: (): number => Math.max(0, after - late),
    /** Rows from this id on are of later; null: there are none. */
    before(): number | null {
      const last = most()
      return last === null ? null : last + 1
    },
    newest: (): number => after,
    /** Of the rows between `after` and `before`, newest first. */
    take<Row extends { id: number }>(rows: readonly Row[]): Row[] {
      const found = rows.filter(({ id }) => !sent.has(id))
      after = Math.max(after, rows[0]?.id ?? 0)
      const kept = [...sent, ...found.map(({ id }) => id)]
      sent = new Set(kept.filter((id) => id > after - late))
      return found
    },
  }
}
