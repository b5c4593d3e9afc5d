import type { Again } from '../store/message-types.ts'
import type { Triggered } from './rehearsal-triggers.ts'

const HOUR_MS = 3_600_000

type Key = Pick<Triggered, 'contactId' | 'onceValue'>

/** "Once" as the queue has it: what is on its way or was sent uses it up, what was skipped gives it back. Times are ms UTC. */
type Once = {
  isFree(key: Key, at: number, dueAt: number): boolean
  use(key: Key, dueAt: number, isSent: boolean): void
}

export const createAgain = (again: Again | undefined): Once =>
  again && 'everyHours' in again ? createEvery(again.everyHours * HOUR_MS) : createOnce()

function createOnce(): Once {
  const freeAt = createTimes()
  return {
    isFree: (key, at) => (freeAt.get(key) ?? at) <= at,
    use: (key, dueAt, isSent) => freeAt.set(key, isSent ? Number.POSITIVE_INFINITY : dueAt),
  }
}

function createEvery(everyMs: number): Once {
  const [waiting, sentAt] = [createOnce(), createTimes()]
  return {
    isFree: (key, at, dueAt) => waiting.isFree(key, at, dueAt) && dueAt >= (sentAt.get(key) ?? -everyMs) + everyMs,
    use(key, dueAt, isSent) {
      waiting.use(key, dueAt, false)
      if (isSent) sentAt.set(key, dueAt)
    },
  }
}

/** Of one value: the person who had it first, and all others who did. */
type Slot = { contactId: number; time: number; others: Map<number, number> | null }

/**
 * A time for each person, or for each person and value. Most values are of one person alone, and are found by themselves in
 * half the time that a key made of both takes (measured with a million).
 */
function createTimes() {
  const byPerson = new Map<number, number>()
  const byValue = new Map<string, Slot>()
  return {
    get({ contactId, onceValue }: Key): number | undefined {
      if (onceValue === null) return byPerson.get(contactId)
      const slot = byValue.get(onceValue)
      return slot?.contactId === contactId ? slot.time : slot?.others?.get(contactId)
    },
    set({ contactId, onceValue }: Key, time: number): void {
      if (onceValue === null) return void byPerson.set(contactId, time)
      const slot = byValue.get(onceValue)
      if (slot === undefined) byValue.set(onceValue, { contactId, time, others: null })
      else if (slot.contactId === contactId) slot.time = time
      else (slot.others ??= new Map()).set(contactId, time)
    },
  }
}
