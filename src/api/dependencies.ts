import type { KeyAccess } from '../accounts/access.ts'
import type { Limits } from '../accounts/limits.ts'
import type { Clock } from '../core/clock.ts'
import type { Notes } from '../events/activation.ts'
import type { EventRecorder } from '../events/events.ts'
import type { AbuseLimits } from '../http/abuse-limits.ts'
import type { TakeHook } from '../mail/hooks.ts'
import type { Mailer } from '../messages/mailer.ts'
import type { Simulations } from '../deliveries/simulation/index.ts'
import type { TemplateWorker } from '../messages/template-worker.ts'
import type { Store } from '../store/store.ts'

/**
 * Of the endpoints below /api/v1. `addressKey`: hashes visitor addresses in the names of limits. `previewKey`: proves that
 * a message was previewed.
 */
export type ApiDependencies = {
  store: Store
  clock: Clock
  access: KeyAccess
  limits: Limits
  recordEvent: EventRecorder
  abuseLimits: AbuseLimits
  notes: Notes
  mailer: Mailer
  templates: TemplateWorker
  simulations: Simulations
  previewKey: string
  addressKey: string
  takeHook: TakeHook
}
