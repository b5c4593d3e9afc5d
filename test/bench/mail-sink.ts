/** A mail server in a process of its own that takes everything, and says how much and for how long: one line a second. */
import { startMailServer } from '../mail/mail-server.ts'

const server = await startMailServer()
console.log(`listening on ${server.url}`)

const print = (): void => {
  const [first, last] = [server.received[0], server.received.at(-1)]
  const people = server.counts().size
  const ms = first && last ? last.at - first.at : 0
  console.log(`took ${server.received.length} for ${people} people in ${ms} ms`)
}
process.on('SIGTERM', () => {
  print()
  process.exit(0)
})
setInterval(print, 250)
