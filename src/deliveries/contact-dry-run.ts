import type { Clock } from '../core/clock.ts'
import type { Limits } from '../accounts/limits.ts'
import type { Store } from '../store/store.ts'
import { mergeContact } from '../people/merging.ts'
import type { ContactRow } from '../store/types.ts'
import type { AppRow } from '../accounts/access.ts'
import type { ContactFields } from '../people/contact-input.ts'
import { findContact } from '../people/contacts.ts'
import { peekForContact, type ContactWriteName, type WriteContext } from '../accounts/write-limits.ts'
import { listWouldQueueByContact, type QueuedMessage } from './queued-messages.ts'
import { isRefusal, type Refusal, refuse } from '../core/refusals.ts'
import { isPlanUsedUp } from '../events/stats.ts'

type Dependencies = { store: Store; clock: Clock; limits: Limits; addressKey: string }

/** `contactId` null: the person would be created; `contact` then has no ID of its own. */
export type DryRunContact = { contactId: number | null; contact: ContactRow; queued: QueuedMessage[] }
type Wanted = Pick<WriteContext, 'access' | 'app'> & { write: ContactWriteName; input: ContactFields }

/** POST or PATCH /contacts. Refusals: those of addContact and updateContact, and rate_limited. */
export async function dryRunContact(deps: Dependencies, wanted: Wanted): Promise<DryRunContact | Refusal> {
  const { access, app, write, input } = wanted
  const limited = peekForContact(deps, wanted, write)
  if (limited) return limited
  const known = await findContact(deps, app, input.email)
  if (!known && write === 'contactUpdates') return refuse('contact_not_found')
  if (!known && (await isPlanUsedUp(deps, access))) return refuse('plan_limit_reached')
  const at = deps.clock.now()
  const old = known ?? makeNobody(app, input.email, at)
  const merged = mergeContact(old, input)
  if (isRefusal(merged)) return merged
  const keepsSource = known && (write === 'contactAdds' || input.source === null)
  const contact = { ...old, ...merged, source: keepsSource ? known.source : input.source }
  const addedTags = merged.tags.filter((tag) => !old.tags?.includes(tag))
  const contactId = known?.id ?? null
  return { contactId, contact, queued: await listWouldQueueByContact(deps.store, app, { contactId, addedTags, at }) }
}

const makeNobody = (app: AppRow, email: string, at: number): ContactRow => ({
  id: 0,
  appId: app.id,
  email,
  shownEmail: null,
  firstName: null,
  lastName: null,
  source: null,
  status: 'subscribed',
  tags: null,
  fields: null,
  createdAt: at,
  updatedAt: at,
  firstSeenAt: null,
  lastSeenAt: null,
  lastEventAt: null,
})
