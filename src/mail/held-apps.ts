/** Apps that must wait because the mail server they use, or their login there, is left alone. */
import type { DeliveryWork } from '../core/deliveries.ts'
import type { DeliverParts } from './marks.ts'
import { placesOf } from './routes.ts'

/** How often the settings of an app that waits are read: a thousand of them at one server cost a hundredth of the time. */
const READ_MS = 1_000

type HeldParts = Pick<DeliverParts, 'store' | 'clock' | 'routes' | 'breaker'>

export function createHeldApps({ store, clock, routes, breaker }: HeldParts) {
  const apps = new Map<number, { places: string[]; readAt: number }>()

  const note = (appId: number, settings: DeliveryWork['settings']): void =>
    void apps.set(appId, { places: placesOf(routes.findWay(settings)), readAt: clock.monotonicMs() })

  const listHeld = (): number[] =>
    Array.from(apps)
      .filter(([, { places }]) => places.some((place) => breaker.isHeld(place)))
      .map(([appId]) => appId)

  const isOld = (appId: number): boolean => clock.monotonicMs() - (apps.get(appId)?.readAt ?? 0) >= READ_MS

  return {
    /** What a claim has told of an app. */
    note,
    /** Those that wait, as they are set up now: whoever has left a server that fails does not wait for it. */
    async list(): Promise<number[]> {
      for (const appId of listHeld().filter(isOld)) note(appId, await store.mailSettings(appId))
      return listHeld()
    },
  }
}
