/** Counts what a sink takes, and prints it four times a second and at the end. */
export function createSinkCount() {
  const people = new Set<string>()
  let [mails, firstAt, lastAt] = [0, 0, 0]

  const printTaken = (): void => console.log(`took ${mails} for ${people.size} people in ${lastAt - firstAt} ms`)
  process.on('SIGTERM', () => {
    printTaken()
    process.exit(0)
  })
  setInterval(printTaken, 250)

  return {
    take(to: string): void {
      lastAt = performance.now()
      if (mails === 0) firstAt = lastAt
      mails += 1
      people.add(to)
    },
  }
}
