/** What a write would do. It is planned like a real one, but neither saved nor counted. */
import type { AppRow } from '../accounts/access.ts'
import { type ContactWriteName, type LimitDependencies, peekForContact, peekForKey } from '../accounts/write-limits.ts'
import { type Refusal, refuse, type Warning } from '../core/refusals.ts'
import { readEventText } from '../events/event-input.ts'
import type { UnreadEvent } from '../events/events.ts'
import type { ContactFields } from '../people/contact-input.ts'
import { type ContactContext, contactWrite } from '../people/contacts.ts'
import type { DeliveryChange, PlannedOutcome } from '../store/plan-types.ts'
import type { DryRunWrite } from '../store/planned-writes.ts'
import type { Store } from '../store/store.ts'
import type { ContactWrite, EventWrite, RecordedEvent, Refused, SavedContact } from '../store/types.ts'
import { listWouldNotStart, type Unstarted } from './message-explanations.ts'
import { listScheduled, nameMessages, type QueuedMessage } from './queued-messages.ts'

type Dependencies = LimitDependencies & { store: Store }

/** `contactId` null: the person would be created. `unstarted`: messages that match but would start nothing. */
export type DryRunEvent = Pick<RecordedEvent, 'created' | 'keptNames'> & {
  contactId: number | null
  queued: QueuedMessage[]
  unstarted: Unstarted[]
}

/** `contactId` null: the person would be created; `contact` then has no ID of its own. */
export type DryRunContact = Pick<SavedContact, 'created' | 'contact' | 'wrongDates'> & {
  contactId: number | null
  queued: QueuedMessage[]
}

/** Refusals: those of an event that is recorded. */
export async function dryRunEvent(
  deps: Dependencies,
  app: AppRow | undefined,
  { access, ...event }: UnreadEvent,
): Promise<(DryRunEvent & { warnings: Warning[] }) | Refusal> {
  const reading = readEventText({ ...event, sender: access.sender, at: deps.clock.now() })
  if ('refused' in reading) return reading.refused
  const { refused } = peekForKey(deps, 'events', access)
  if (refused || !app) return refused ?? refuse('app_not_found')
  const tried = await tryEvent(deps.store, app, reading.write)
  return 'refusal' in tried ? tried : { ...tried, warnings: reading.warnings }
}

export async function tryEvent(store: Store, app: AppRow, input: EventWrite): Promise<DryRunEvent | Refused> {
  const { outcome, deliveries } = await plan<RecordedEvent>(store, { name: 'recordEvent', input })
  if ('refusal' in outcome) return outcome
  const { created, eventId, keptNames } = outcome
  const contactId = created ? null : outcome.contactId
  const { email, type, name, properties, path, via, at } = input
  const row = { id: eventId, contactId: outcome.contactId, email, type, name, properties, path, via }
  const event = { ...row, receivedAt: at, occurredAt: input.occurredAt ?? at }
  const unstarted = await listWouldNotStart(store, { appId: app.id, contactId }, { event, deliveries })
  return { contactId, created, keptNames, queued: await listQueued(store, app, deliveries), unstarted }
}

/** POST or PATCH /contacts. Refusals: those of addContact and updateContact, and rate_limited. */
export async function dryRunContact(
  deps: Dependencies,
  context: ContactContext,
  { write, fields }: { write: ContactWriteName; fields: ContactFields },
): Promise<DryRunContact | Refusal> {
  const { access, app } = context
  const refused = peekForContact(deps, { access, app, input: fields }, write)
  return refused ?? tryContact(deps.store, app, { write, input: contactWrite(deps, context, fields) })
}

export async function tryContact(
  store: Store,
  app: AppRow,
  { write, input }: { write: ContactWriteName; input: ContactWrite },
): Promise<DryRunContact | Refused> {
  const name = write === 'contactAdds' ? 'addContact' : 'updateContact'
  const { outcome, deliveries } = await plan<SavedContact>(store, { name, input })
  if ('refusal' in outcome) return outcome
  const { created, contact, wrongDates } = outcome
  const contactId = created ? null : outcome.contactId
  const scheduled = await listScheduled(store, app, { contact, fields: input.fields })
  const queued = [...(await listQueued(store, app, deliveries)), ...scheduled]
  return { contactId, created, contact, ...(wrongDates ? { wrongDates } : {}), queued }
}

async function plan<Outcome extends PlannedOutcome>(store: Store, write: DryRunWrite) {
  const { outcomes, deliveries } = await store.planDryRun(write)
  return { outcome: outcomes[0] as Outcome | Refused, deliveries }
}

/** The newest first. What starts a message may also cancel it, such as an added tag. */
function listQueued(store: Store, app: AppRow, deliveries: readonly DeliveryChange[]): Promise<QueuedMessage[]> {
  const started = deliveries.filter((one) => 'messageId' in one)
  const cancelled = new Set(deliveries.flatMap((one) => (one.change === 'cancel' ? one.id : [])))
  const own = started.map(({ id, change, messageId, dueAt }) => {
    const state = change === 'join' ? ('joined' as const) : ('waiting' as const)
    return { messageId, deliveryId: null, state: cancelled.has(id) ? ('skipped' as const) : state, dueAt }
  })
  return nameMessages(store, app, own.reverse())
}
