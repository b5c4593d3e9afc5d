/** Deliveries that are in the air, by the person they are for. */
export function createFlights() {
  const flights = new Set<Promise<void>>()
  const byContact = new Map<number, Set<Promise<void>>>()

  return {
    /** Keeps hold of a delivery until it ends. It must not reject. */
    add(contactId: number, flight: Promise<void>): void {
      const own = byContact.get(contactId) ?? new Set()
      byContact.set(contactId, own.add(flight))
      flights.add(flight)
      void flight.then(() => {
        flights.delete(flight)
        own.delete(flight)
        if (own.size === 0) byContact.delete(contactId)
      })
    },
    /** Resolves when all that are in the air now, or all of one person, have ended. */
    async landed(contactId?: number): Promise<void> {
      await Promise.all(contactId === undefined ? flights : (byContact.get(contactId) ?? []))
    },
  }
}
