import { afterAll, beforeAll, describe } from 'bun:test'
import type { Store } from '../../src/store/store.ts'
import { testAccounts } from './conformance/accounts.ts'
import { testBatches } from './conformance/batches.ts'
import { testBrowserBatches, testSites } from './conformance/visit-reports.ts'
import { testCalls } from './conformance/mcp-calls.ts'
import { testClaims } from './conformance/claims.ts'
import { testContacts } from './conformance/contacts.ts'
import { testCounts } from './conformance/counters.ts'
import { testDeliveries } from './conformance/deliveries.ts'
import { testEvents } from './conformance/events.ts'
import { testIdempotency } from './conformance/idempotency.ts'
import { testLastEvents } from './conformance/last-events.ts'
import { testLists } from './conformance/lists.ts'
import { testMembers } from './conformance/members.ts'
import { testMemberships, testOnlyAccount } from './conformance/memberships.ts'
import { testPlan } from './conformance/plan.ts'
import { testRequests } from './conformance/requests.ts'
import { testSuppressions } from './conformance/suppressions.ts'
import { testTwoSteps } from './conformance/two-step.ts'
import type { Fresh, Opened, OpenStore } from './samples.ts'

const GROUPS: Record<string, (store: Fresh) => void> = {
  'events of people': testEvents,
  'people written by name': testContacts,
  'the plan': testPlan,
  'idempotency keys': testIdempotency,
  batches: testBatches,
  'batches of browsers': testBrowserBatches,
  'sites and their signs': testSites,
  lists: testLists,
  'the time of the last event': testLastEvents,
  'accounts and what they own': testAccounts,
  'members and where they are signed in': testMembers,
  'people in several accounts': testMemberships,
  'people of the only account': testOnlyAccount,
  'the second step of signing in': testTwoSteps,
  'deliveries and their claims': testClaims,
  'what becomes of deliveries': testDeliveries,
  'lists of suppressed addresses': testSuppressions,
  'calls over MCP': testCalls,
  'the log of requests': testRequests,
  'what is counted by the hour': testCounts,
}

/** What every store must do, whatever it keeps its rows in. Each group has a store of its own, each test people of its own. */
export function describeStore(name: string, open: OpenStore, groups = Object.keys(GROUPS)): void {
  describe(name, () => {
    for (const [group, defineTests] of Object.entries(GROUPS).filter(([group]) => groups.includes(group))) {
      describe(group, () => {
        let opened: Opened
        let store: Store
        beforeAll(async () => {
          opened = await open()
          store = opened.store
        })
        afterAll(async () => {
          await store.close()
          await opened.drop()
        })
        const reopen = async (): Promise<void> => {
          store = await opened.reopen()
        }
        defineTests(Object.assign(() => store, { reopen }))
      })
    }
  })
}
