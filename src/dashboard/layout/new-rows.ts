/** Which rows of a list a live page lacks. Other instances store rows late, below newer ones. */
import type { Store } from '../../store/store.ts'

type Given = {
  store: Pick<Store, 'isShared'>
  /** the newest row on the page; 0: none */
  newest: number
  /** how far the id of a row may be below one that was stored before it */
  lateIds: number
  /** ids above it are of an instance whose clock is ahead, so rows below them may be new */
  newestNow?: () => number
}

export function createNewRows({ store, newest, lateIds, newestNow }: Given) {
  const late = store.isShared ? lateIds : 0
  const most = (): number => (store.isShared && newestNow ? newestNow() : Infinity)
  let sent = new Set<number>()
  let after = Math.min(newest, most())
  return {
    /** Rows up to this id are not new. The page itself drops what it has. */
    after: (): number => Math.max(0, after - late),
    newest: (): number => after,
    take<Row extends { id: number }>(rows: readonly Row[]): Row[] {
      const found = rows.filter(({ id }) => !sent.has(id))
      const upTo = most()
      after = Math.max(after, rows.find(({ id }) => id <= upTo)?.id ?? 0)
      const kept = [...sent, ...found.map(({ id }) => id)]
      sent = new Set(kept.filter((id) => id > after - late))
      return found
    },
  }
}
