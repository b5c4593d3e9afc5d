import type { Parts } from '../core/parts.ts'
import type { Log } from './log.ts'

/** api.md, Keys: `lastUsedAt` is written at most this often. */
const SAVE_USES_MS = 30_000
const CLEAN_UP_MS = 60_000

export type Chores = { stop(): void }

/** What has to be done now and then. A chore that fails is logged and tried again next time. */
export function startChores({ access, limits, flood, snippetLimits, notes, store, clock }: Parts, log: Log): Chores {
  const every = (ms: number, name: string, work: () => Promise<void>) =>
    setInterval(() => {
      work().catch((error: unknown) => log.write('error', 'a chore failed', { chore: name, reason: String(error) }))
    }, ms)
  const timers = [
    every(SAVE_USES_MS, 'save key uses', access.saveUses),
    every(SAVE_USES_MS, 'save notes', notes.save),
    every(CLEAN_UP_MS, 'clean up', async () => {
      limits.forgetIdle()
      flood.forgetIdle()
      snippetLimits.forgetIdle()
      let deleted = 1
      while (deleted > 0) {
        const outcome = await store.cleanUp({ at: clock.now() })
        deleted = 'deleted' in outcome ? outcome.deleted : 0
      }
    }),
  ]
  return { stop: () => timers.forEach(clearInterval) }
}
