/** One person a place: whoever comes to a taken one has it, and the other is looked up again. A power of two. */
const PLACES = 32_768
/** Every place has this room; whoever's email is longer is looked up each time. */
const EMAIL_BYTES = 40

/**
 * A number for each of those who came last, by app and email in its identity form, which is ASCII. It takes 1.9 MB that
 * no collection walks: the same for 30,000 in a Map of texts took 10 MB (measured).
 */
export function createPersonCache() {
  const values = new Float64Array(PLACES)
  const apps = new Float64Array(PLACES)
  const lengths = new Uint8Array(PLACES)
  const emails = new Uint8Array(PLACES * EMAIL_BYTES)

  const placeOf = (appId: number, email: string): number => Bun.hash.xxHash32(email, appId) & (PLACES - 1)

  const isAt = (place: number, appId: number, email: string): boolean => {
    if (apps[place] !== appId || lengths[place] !== email.length) return false
    const start = place * EMAIL_BYTES
    for (let index = 0; index < email.length; index += 1) {
      if (emails[start + index] !== email.charCodeAt(index)) return false
    }
    return true
  }

  return {
    get(appId: number, email: string): number | undefined {
      const place = placeOf(appId, email)
      return isAt(place, appId, email) ? values[place] : undefined
    },
    set(appId: number, email: string, value: number): void {
      if (email.length > EMAIL_BYTES) return
      const place = placeOf(appId, email)
      const start = place * EMAIL_BYTES
      for (let index = 0; index < email.length; index += 1) emails[start + index] = email.charCodeAt(index)
      values[place] = value
      apps[place] = appId
      lengths[place] = email.length
    },
    delete(appId: number, email: string): void {
      lengths[placeOf(appId, email)] = 0
    },
    clear: (): void => void lengths.fill(0),
  }
}
