/** Apps that must wait because the mail server they use, or their login there, is left alone or has enough to do. */
import type { DeliveryWork } from '../deliveries/deliveries.ts'
import { ownPlaceOf } from '../messages/mailer.ts'
import type { DeliverParts } from './marks.ts'

/** How often the settings of an app that waits are read: a thousand of them at one server cost a hundredth of the time. */
const READ_MS = 1_000
/** Of the places of an app its server and its login there; the third is its own (routes.ts). */
const SHARED = [0, 1]

/** `isCrowded`: whether enough waits for a login already. `isBusy`: whether mails of an app are claimed. */
type HeldParts = Pick<DeliverParts, 'store' | 'clock' | 'routes' | 'breaker'> & {
  isCrowded: (login: string) => boolean
  isBusy: (appId: number) => boolean
}

/** `login`: `nowhere` where no mail leaves. */
type Known = { login: string; places: string[]; readAt: number }

export function createHeldApps({ store, clock, routes, breaker, isCrowded, isBusy }: HeldParts) {
  const apps = new Map<number, Known>()

  const note = (appId: number, settings: DeliveryWork['settings']): Known => {
    const way = routes.findWay(settings)
    const login = way.login ?? 'nowhere'
    const known = { login, places: [...way.places, ownPlaceOf(login, appId, way.from)], readAt: clock.monotonicMs() }
    apps.set(appId, known)
    return known
  }

  const isHeld = ({ login, places }: Known): boolean =>
    isCrowded(login) || places.some((place) => breaker.isHeld(place))

  const isOld = ({ readAt }: Known): boolean => clock.monotonicMs() - readAt >= READ_MS

  const read = async (appId: number): Promise<Known> => {
    const known = apps.get(appId)
    return known && !(isHeld(known) && isOld(known)) ? known : note(appId, await store.mailSettings(appId))
  }

  const goesTo = (appId: number, place: string): boolean => apps.get(appId)?.places.includes(place) ?? false

  /**
   * Where a pause is over, all but the one whose turn it is wait on, and that one too while mails of it are on their way:
   * of servers first, then of logins there. A place of one app alone knows no turns.
   */
  const letOneTry = (free: Map<number, Known>): void => {
    for (const index of SHARED) {
      for (const [place, waiting] of Map.groupBy(free.keys(), (appId) => free.get(appId)?.places[index])) {
        if (place === undefined) continue
        const next = breaker.nextToTry(place, waiting, (appId) => isBusy(appId) && goesTo(appId, place))
        if (next !== null) for (const appId of waiting) if (appId !== next || isBusy(appId)) free.delete(appId)
      }
    }
  }

  return {
    /** What a claim has told of an app. */
    note,
    /** Those that wait, as they are set up now: whoever has left a server that fails does not wait for it. */
    async list(due: readonly number[]): Promise<number[]> {
      const free = new Map<number, Known>()
      for (const appId of due.toSorted((a, b) => a - b)) {
        const known = await read(appId)
        if (!isHeld(known)) free.set(appId, known)
      }
      if (breaker.isAnyPaused()) letOneTry(free)
      return due.filter((appId) => !free.has(appId))
    },
  }
}
