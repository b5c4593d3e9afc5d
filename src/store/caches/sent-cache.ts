/** 2 MB; cleared when full. */
const MAX_ENTRIES = 50_000

/**
 * People to whom a once-per-person message was sent or is on its way. Most events of a busy app repeat for such
 * people, and looking that up in the index takes a quarter of the event's time (measured: 4.5 microseconds a
 * message). The database key decides; whatever frees a key must call `release`.
 */
export type SentCache = ReturnType<typeof createSentCache>

export function createSentCache() {
  const people = new Map<number, Set<number>>()
  let count = 0
  let added: [messageId: number, contactId: number][] = []

  const clear = (): void => {
    people.clear()
    count = 0
  }
  const store = (messageId: number, contactId: number): void => {
    if (count >= MAX_ENTRIES) clear()
    const contacts = people.get(messageId)
    if (contacts) contacts.add(contactId)
    else people.set(messageId, new Set([contactId]))
    count += 1
  }
  return {
    has: (messageId: number, contactId: number): boolean => people.get(messageId)?.has(contactId) ?? false,
    add: (messageId: number, contactId: number): void => void added.push([messageId, contactId]),
    release(messageId: number, contactId: number): void {
      people.get(messageId)?.delete(contactId)
      added = added.filter(([message, contact]) => message !== messageId || contact !== contactId)
    },
    settle(): void {
      for (const [messageId, contactId] of added) store(messageId, contactId)
      added = []
    },
    undo: (): void => void (added = []),
    forget(): void {
      clear()
      added = []
    },
  }
}

const nothing = (): void => {}
export const NO_SENT_CACHE: SentCache = {
  has: () => false,
  add: nothing,
  release: nothing,
  settle: nothing,
  undo: nothing,
  forget: nothing,
}
