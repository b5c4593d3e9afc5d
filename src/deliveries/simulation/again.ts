import type { Again } from '../../store/message-types.ts'
import type { Triggered } from './triggers.ts'

const HOUR_MS = 3_600_000

type Key = Pick<Triggered, 'contactId' | 'onceValue'>
type Arrival = Key & Pick<Triggered, 'id' | 'at'>

/** `byId`: of what stopped it, where something did. */
type Ending = { at: number; byId?: number; isSent: boolean }

/** "Once" as the queue has it: what is on its way or was sent uses it up, what was skipped gives it back. Times are ms UTC. */
type Once = {
  isFree(arrival: Arrival, dueAt: number): boolean
  use(key: Key, ending: Ending): void
}

export const createAgain = (again: Again | undefined): Once =>
  again && 'everyHours' in again ? createEvery(again.everyHours * HOUR_MS) : createOnce()

/**
 * What came in the millisecond in which it is decided came before that; what stops it gives "once" back there and then,
 * also to what it triggers itself.
 */
function createOnce(): Once {
  const [freeAt, stoppedBy] = [createTimes(), createTimes()]
  return {
    isFree(arrival) {
      const endedAt = freeAt.get(arrival)
      if (endedAt !== arrival.at) return endedAt === undefined || endedAt < arrival.at
      return arrival.id >= (stoppedBy.get(arrival) ?? Number.POSITIVE_INFINITY)
    },
    use(key, { at, byId = Number.POSITIVE_INFINITY, isSent }) {
      freeAt.set(key, isSent ? Number.POSITIVE_INFINITY : at)
      // remembered of the few that were stopped
      if (Number.isFinite(byId) || stoppedBy.get(key) !== undefined) stoppedBy.set(key, byId)
    },
  }
}

function createEvery(everyMs: number): Once {
  const [waiting, sentAt] = [createOnce(), createTimes()]
  return {
    isFree: (arrival, dueAt) => waiting.isFree(arrival, dueAt) && dueAt >= (sentAt.get(arrival) ?? -everyMs) + everyMs,
    use(key, { isSent, ...ending }) {
      waiting.use(key, { ...ending, isSent: false })
      if (isSent) sentAt.set(key, ending.at)
    },
  }
}

/** Of one value: the person who had it first, and all others who did. */
type Slot = { contactId: number; time: number; others: Map<number, number> | null }

/**
 * A time, or an id, for each person, or for each person and value. Most values are of one person alone, and are found by
 * themselves in half the time that a key made of both takes (measured with a million).
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
