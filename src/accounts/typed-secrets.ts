/** A typed password or key, carried through a page that asks again, without showing it. */
import { createSealer } from '../store/engine/sealing.ts'

type Sealing = { key: string; appId: string }

/** The secret counts for this host and user only; empty if it wasn't typed again. */
export type TypedSecret = { host: string; user: string; secret: string }

const contextOf = ({ appId }: Sealing, { host, user }: TypedSecret): string =>
  JSON.stringify(['typed mail server', appId, host, user])

/** `sealed`: of an earlier page; empty without one. `typed` null: there is nothing that a secret could count for. */
export const sealTyped = (sealing: Sealing, typed: TypedSecret | null, sealed: string): string =>
  typed === null || typed.secret === ''
    ? sealed
    : createSealer(sealing.key).seal(typed.secret, contextOf(sealing, typed))

/** null for other hosts and users. */
export function unsealTyped(sealing: Sealing, typed: TypedSecret | null, sealed: string): string | null {
  if (typed === null || sealed === '') return null
  try {
    return createSealer(sealing.key).unseal(sealed, contextOf(sealing, typed))
  } catch {
    return null
  }
}
