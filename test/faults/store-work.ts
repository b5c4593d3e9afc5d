/**
 * A process of its own that works on a data folder until it is killed: it opens the folder (which migrates and
 * checkpoints it), records events, closes it, and prints the number of each person as soon as their event is saved.
 */
import { writeSync } from 'node:fs'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openStore } from '../../src/store/store.ts'
import { eventWrite } from '../store/samples.ts'

const AT_ONCE = 16

const [folder = '', events = '0', bytes = '0', end] = process.argv.slice(2)
const store = await openStore(folder, { threads: true, rules: STORE_RULES })
const properties = JSON.stringify({ text: 'x'.repeat(Number(bytes)) })

async function record(): Promise<void> {
  const email = `${crypto.randomUUID()}@example.com`
  const recorded = await store.recordEvent(eventWrite({ email, properties, at: Date.now() }))
  if ('refusal' in recorded) throw new Error(recorded.refusal)
  writeSync(1, `${recorded.contactId}\n`)
}

for (let count = 0; count < Number(events); count += AT_ONCE) {
  await Promise.all(Array.from({ length: AT_ONCE }, record))
}
// a killed process leaves its log behind
if (end === 'killed') process.kill(process.pid, 'SIGKILL')
await store.close()
