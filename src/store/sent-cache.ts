/** So many people and messages are remembered: 2 MB, and beyond that all are looked up again. */
const REMEMBERED = 50_000

/**
 * Whom a message that is sent once per person is on its way to, or was sent. Most events of a busy app come from such
 * people, and to find that in the index takes a quarter of the time of the event itself (measured: 4.5 microseconds a
 * message). Only a memory: the key in the database decides, and what gives "once" back must be told here.
 */
export type SentCache = ReturnType<typeof createSentCache>

export function createSentCache() {
  const people = new Map<number, Set<number>>()
  let count = 0
  /** of the transaction that is open */
  let added: [messageId: number, contactId: number][] = []

  const clear = (): void => {
    people.clear()
    count = 0
  }
  const keep = (messageId: number, contactId: number): void => {
    if (count >= REMEMBERED) clear()
    const known = people.get(messageId)
    if (known) known.add(contactId)
    else people.set(messageId, new Set([contactId]))
    count += 1
  }
  return {
    has: (messageId: number, contactId: number): boolean => people.get(messageId)?.has(contactId) ?? false,
    /** From the commit on. */
    add: (messageId: number, contactId: number): void => void added.push([messageId, contactId]),
    /** A delivery was skipped or failed. */
    release(messageId: number, contactId: number): void {
      people.get(messageId)?.delete(contactId)
      added = added.filter(([message, contact]) => message !== messageId || contact !== contactId)
    },
    /** After the commit. */
    settle(): void {
      for (const [messageId, contactId] of added) keep(messageId, contactId)
      added = []
    },
    /** After a rollback. */
    undo: (): void => void (added = []),
    forget(): void {
      clear()
      added = []
    },
  }
}
