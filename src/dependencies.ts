import type { Clock } from './core/clock.ts'
import type { Store } from './store/store.ts'
import { createAccess, type KeyAccess } from './accounts/access.ts'
import { createNotes, type Notes } from './events/activation.ts'
import { randomBase62 } from './core/base62.ts'
import { type CallLog, createCallLog } from './accounts/call-log.ts'
import { createRequestLog, type RequestLog } from './http/request-log.ts'
import { createEventRecorder, type EventRecorder } from './events/events.ts'
import { createFeed, type Feed } from './events/feed.ts'
import { createAbuseLimits, type AbuseLimits } from './http/abuse-limits.ts'
import { createLimits, type Limits } from './accounts/limits.ts'
import { createSharedLimits } from './accounts/shared-limits.ts'
import { createTakeHook, type TakeHook } from './mail/hooks.ts'
import type { FetchText } from './mail/sns.ts'
import type { Mailer } from './messages/mailer.ts'
import { createWeeklySummaries, type WeeklySummaries } from './monitoring/weekly-summary.ts'
import { createMonitor, type Monitor, type MonitorDependencies } from './monitoring/monitor.ts'
import { giveFirstMessages } from './accounts/first-messages.ts'
import type { Simulations } from './deliveries/simulation/index.ts'
import { createSignInNotes, type NoteSecurity, type SignInNotes } from './accounts/sign-in-notes.ts'
import type { TemplateWorker } from './messages/template-worker.ts'
import { createSnippetLimits, restoreSnippetLimits, type SnippetLimits } from './visits/snippet-limits.ts'
import { restoreLimits } from './accounts/write-limits.ts'

export type Dependencies = {
  store: Store
  clock: Clock
  access: KeyAccess
  limits: Limits
  recordEvent: EventRecorder
  abuseLimits: AbuseLimits
  snippetLimits: SnippetLimits
  notes: Notes
  simulations: Simulations
  feed: Feed
  calls: CallLog
  requests: RequestLog
  signInNotes: SignInNotes
  noteSecurity: NoteSecurity
  baseUrl: string
  /** hashes addresses in bucket names */
  addressKey: string
  unsubscribeKey: string
  /** proves that a message was previewed, which settings a form showed, and who knows a URL for webhooks */
  previewKey: string
  mailer: Mailer
  takeHook: TakeHook
  templates: TemplateWorker
  monitor: Monitor
  weeklySummaries: WeeklySummaries
}

/** `fetchSns`: replaced in tests. */
type Given = Pick<
  Dependencies,
  'store' | 'clock' | 'baseUrl' | 'unsubscribeKey' | 'mailer' | 'simulations' | 'templates' | 'noteSecurity'
> & {
  fetchSns?: FetchText
  monitoring: Pick<MonitorDependencies, 'location' | 'server' | 'callWebhook' | 'listErrors'>
}

export async function createDependencies({ fetchSns, monitoring, ...given }: Given): Promise<Dependencies> {
  const { store, clock } = given
  const feed = createFeed({ store })
  const addressKey = await keepSecret(store, 'address_key')
  const previewKey = await keepSecret(store, 'preview_key')
  const limits = store.onLimitUse === null ? createLimits({ clock }) : createSharedLimits({ clock, store })
  const access = createAccess({ store, clock })
  const notes = createNotes({ store, clock, onNote: feed.notify })
  const monitor = createMonitor({ ...given, ...monitoring, note: given.noteSecurity })
  const dependencies: Dependencies = {
    ...given,
    addressKey,
    previewKey,
    takeHook: createTakeHook({ store, clock, topicKey: previewKey, fetchSns }),
    access,
    limits,
    recordEvent: createEventRecorder({ store, clock, limits, notes, access }),
    abuseLimits: createAbuseLimits({ clock }),
    snippetLimits: createSnippetLimits({ clock, ...(limits.isShared ? { shared: { limits, addressKey } } : {}) }),
    notes,
    feed,
    calls: createCallLog({ store }),
    requests: createRequestLog({ store, clock, access }),
    signInNotes: createSignInNotes({ ...given, addressKey }),
    monitor,
    weeklySummaries: createWeeklySummaries({ ...given, monitor, note: given.noteSecurity }),
  }
  await giveFirstMessages(store, clock.now())
  await restoreLimits(dependencies)
  await restoreSnippetLimits(dependencies.snippetLimits, dependencies)
  return dependencies
}

const SECRET_CHARACTERS = 43

/** 256 bits, created at the first start. */
export async function keepSecret(store: Store, name: string): Promise<string> {
  const known = await store.installValue(name)
  if (known !== null) return known
  await store.keepInstallValue({ name, value: randomBase62(SECRET_CHARACTERS) })
  return (await store.installValue(name)) ?? ''
}
