import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { RecordedEvent, Refused } from '../store/types.ts'
import type { AppRow } from '../accounts/access.ts'

/** Customers can't send names with `$`, so no message starts with it. */
const TEST_EVENT = '$test'

/** Records an event about a member, who is added as a person. Refusals: plan_limit_reached, unavailable. */
export async function sendTestEvent(
  { store, clock }: { store: Store; clock: Clock },
  app: AppRow,
  member: { email: string },
): Promise<RecordedEvent | Refused> {
  const account = await store.findAccount(app.accountId)
  return store.recordEvent({
    accountId: app.accountId,
    appId: app.id,
    email: member.email,
    shownEmail: null,
    newPeoplePerMonth: account?.plan.newPeoplePerMonth ?? null,
    createContact: true,
    firstName: null,
    lastName: null,
    type: 'event',
    name: TEST_EVENT,
    properties: null,
    path: null,
    via: 'api',
    at: clock.now(),
    occurredAt: null,
    buckets: [],
    idempotency: null,
  })
}
