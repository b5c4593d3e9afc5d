export type LineChange = { kind: 'same' | 'added' | 'removed'; text: string }

/** Beyond so many pairs of lines to compare, what lies between the ends counts as replaced: nobody reads it line by line. */
const MOST_PAIRS = 1_000_000

/** What became of the lines of a text, in the order in which both have them; removed ones before those in their place. */
export function diffLines(before: readonly string[], after: readonly string[]): LineChange[] {
  const start = countSame(before, after)
  const end = countSame(before.slice(start).reverse(), after.slice(start).reverse())
  const same = (lines: readonly string[]): LineChange[] => lines.map((text) => ({ kind: 'same', text }))
  return [
    ...same(before.slice(0, start)),
    ...diffMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ]
}

/** How many lines both begin with. */
function countSame(before: readonly string[], after: readonly string[]): number {
  const differs = before.findIndex((line, index) => line !== after[index])
  return differs === -1 ? before.length : differs
}

function diffMiddle(before: readonly string[], after: readonly string[]): LineChange[] {
  const removed = before.map((text): LineChange => ({ kind: 'removed', text }))
  const added = after.map((text): LineChange => ({ kind: 'added', text }))
  if (before.length * after.length > MOST_PAIRS) return [...removed, ...added]
  const longest = measureCommon(before, after)
  const at = (i: number, j: number): number => longest[i]?.[j] ?? 0
  const changes: LineChange[] = []
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length) {
    const [left, right] = [before[i], after[j]]
    if (left !== undefined && left === right) {
      changes.push({ kind: 'same', text: left })
      i++
      j++
    } else if (left !== undefined && (right === undefined || at(i + 1, j) >= at(i, j + 1))) {
      changes.push({ kind: 'removed', text: left })
      i++
    } else {
      changes.push({ kind: 'added', text: right ?? '' })
      j++
    }
  }
  return changes
}

/** For every pair of places, how many lines both have in common from there on. */
function measureCommon(before: readonly string[], after: readonly string[]): Uint16Array[] {
  const rows = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1))
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const [down, right] = [rows[i + 1]?.[j] ?? 0, rows[i]?.[j + 1] ?? 0]
      const row = rows[i]
      if (row) row[j] = before[i] === after[j] ? (rows[i + 1]?.[j + 1] ?? 0) + 1 : Math.max(down, right)
    }
  }
  return rows
}
