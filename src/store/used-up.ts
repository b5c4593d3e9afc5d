/** So many people and messages are remembered: 2 MB, and beyond that all are looked up again. */
const REMEMBERED = 50_000

/**
 * Whom a message that is sent once per person is on its way to, or was sent. Most events of a busy app come from such
 * people, and to find that in the index takes a quarter of the time of the event itself (measured: 4.5 microseconds a
 * message). Only a memory: the key in the database decides, and what gives "once" back must be told here.
 */
export type UsedUp = ReturnType<typeof createUsedUp>

export function createUsedUp() {
  const people = new Map<number, Set<number>>()
  let count = 0

  const forget = (): void => {
    people.clear()
    count = 0
  }
  return {
    has: (messageId: number, contactId: number): boolean => people.get(messageId)?.has(contactId) ?? false,
    add(messageId: number, contactId: number): void {
      if (count >= REMEMBERED) forget()
      const known = people.get(messageId)
      if (known) known.add(contactId)
      else people.set(messageId, new Set([contactId]))
      count += 1
    },
    /** A delivery was skipped or failed. */
    release: (messageId: number, contactId: number): void => void people.get(messageId)?.delete(contactId),
    forget,
  }
}
