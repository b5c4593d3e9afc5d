/** The most similar name, at most two edits away, and fewer for short words. */
export function findNearest(word: string, names: readonly string[]): string | undefined {
  const most = Math.min(2, Math.floor(word.length / 3))
  const found = names.map((name) => ({ name, distance: distanceOf(name, word) }))
  return found.filter(({ distance }) => distance <= most).sort((a, b) => a.distance - b.distance)[0]?.name
}

function distanceOf(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [row, letter] of [...one].entries()) {
    const line = [row + 1]
    for (let column = 0; column < other.length; column += 1) {
      const replaced = (above[column] ?? 0) + Number(other[column] !== letter)
      line.push(Math.min(replaced, (above[column + 1] ?? 0) + 1, (line[column] ?? 0) + 1))
    }
    above = line
  }
  return above.at(-1) ?? 0
}
