/** Emails that were handed over, or are just being, and that their mail server has not answered yet. */
import type { HandedAbout } from '../core/ended.ts'

export type Handed = ReturnType<typeof createHanded>

type Ids = { appId: number; messageId: number; contactId: number }

export function createHanded() {
  const open = new Map<Promise<void>, Ids>()

  return {
    /** From just before the hand-over is saved until `answered`, which must not reject. */
    add(ids: Ids, answered: Promise<void>): void {
      open.set(answered, ids)
      void answered.then(() => open.delete(answered))
    },
    count: (): number => open.size,
    /** Waits, for so long at most, until those that are open now have their answer. @returns how many have none yet */
    async settle(about: HandedAbout, ms: number): Promise<number> {
      const asked = Object.entries(about)
      const waited = Array.from(open)
        .filter(([, ids]) => asked.every(([name, id]) => ids[name as keyof Ids] === id))
        .map(([answered]) => answered)
      if (waited.length === 0) return 0
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, ms)
      await Promise.race([Promise.all(waited), late.promise])
      clearTimeout(timer)
      return waited.filter((answered) => open.has(answered)).length
    },
  }
}
