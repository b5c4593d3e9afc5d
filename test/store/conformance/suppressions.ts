import { expect, test } from 'bun:test'
import type { SuppressionReason } from '../../../src/store/message-types.ts'
import type { Cause } from '../../../src/store/suppression-causes.ts'
import { AT, done, type Fresh, HOUR } from '../samples.ts'
import { createQueue, MINUTE } from './delivery-queue.ts'

type Row = { email: string; reason: SuppressionReason; isUnsubscribed?: boolean; cause?: Cause }

const by = { accountId: 'acc_1', actor: 'mem_1', why: 'x' }
const listedAs = (text: string): Cause => ({ by: 'list', provider: 'p', text })
const known = ['ada', 'bob', 'cy', 'dee']
const strangers = ['eve', 'fay', 'gus']
const emails = [...known, ...strangers].map((name) => `${name}@example.com`)
const rowsOf = (reasons: Record<string, Omit<Row, 'email'>>): Row[] =>
  Object.entries(reasons).map(([name, row]) => ({ email: `${name}@example.com`, ...row }))

/** What is stronger or weaker than what is there, what is repeated, and what people did themselves. */
const LISTS: readonly Row[][] = [
  rowsOf({
    ada: { reason: 'unsubscribed' },
    bob: { reason: 'bounced', cause: listedAs('550') },
    eve: { reason: 'bounced', isUnsubscribed: true, cause: listedAs('551') },
    fay: { reason: 'unsubscribed' },
  }),
  rowsOf({
    ada: { reason: 'complained', cause: listedAs('abuse') },
    bob: { reason: 'unsubscribed' },
    cy: { reason: 'unsubscribed' },
    eve: { reason: 'unsubscribed' },
    fay: { reason: 'bounced' },
    gus: { reason: 'complained' },
  }),
  [
    { email: 'dee@example.com', reason: 'unsubscribed' },
    { email: 'gus@example.com', reason: 'bounced', isUnsubscribed: true },
    { email: 'dee@example.com', reason: 'bounced', cause: listedAs('552') },
    { email: 'ada@example.com', reason: 'bounced' },
    { email: 'dee@example.com', reason: 'bounced', cause: listedAs('553') },
  ],
]

/** A list of addresses does what its addresses do alone. */
export function testSuppressions(store: Fresh): void {
  const { createApp, list, queue } = createQueue(store)

  const fill = async () => {
    const app = await createApp()
    for (const email of emails.slice(0, known.length)) await queue(app, 2, email)
    const contactId = (await store().findContact(app.appId, 'cy@example.com'))?.id ?? 0
    done(await store().unsubscribe({ contactId, at: AT + MINUTE }))
    return app
  }

  const stateOf = async (app: Awaited<ReturnType<typeof fill>>) => {
    const { appId } = app
    const people = await Promise.all(emails.map((email) => store().findContact(appId, email)))
    const suppressed = await Promise.all(emails.map((email) => store().findSuppressed(appId, email)))
    const changes = await Promise.all(people.map((one) => store().listContactChanges(one?.id ?? 0, null, 9)))
    return {
      people: people.map((one) => one && [one.status, one.updatedAt]),
      suppressed: suppressed.map((one) => one && { ...one, contactId: one.contactId !== null, emailHash: '' }),
      changes: changes.map((all) => all.map(({ at, actor, change }) => ({ at, actor, change }))),
      deliveries: (await list(app)).map(({ state, reason, updatedAt }) => [state, reason, updatedAt]),
    }
  }

  test.each([
    ['of a member', by],
    ['of a provider', undefined],
  ])('a list %s changes what its addresses change one by one', async (_, member) => {
    const [together, alone] = [await fill(), await fill()]
    expect(await stateOf(together)).toEqual(await stateOf(alone))
    for (const [index, rows] of LISTS.entries()) {
      const how = { at: AT + (index + 1) * HOUR, ...(member && { by: member }) }
      const before = await Promise.all(emails.map((email) => store().findSuppression(alone.appId, email)))
      const { added } = done(await store().suppressMany({ appId: together.appId, noted: null, rows, ...how }))
      for (const row of rows) done(await store().suppress({ appId: alone.appId, ...row, ...how }))
      const after = await Promise.all(emails.map((email) => store().findSuppression(alone.appId, email)))
      expect(added).toBe(after.filter((reason, at) => reason !== null && before[at] === null).length)
      expect(await stateOf(together)).toEqual(await stateOf(alone))
    }
    const { people, suppressed } = await stateOf(together)
    expect(people.map((one) => one?.[0])).toEqual([
      ...(['complained', 'bounced', 'unsubscribed', 'bounced'] as const),
      ...strangers.map(() => undefined),
    ])
    expect(suppressed.map((one) => one?.reason)).toEqual([
      ...(['complained', 'bounced', 'unsubscribed', 'bounced'] as const),
      ...(['bounced', 'bounced', 'complained'] as const),
    ])
  })

  test('an empty list changes nothing', async () => {
    const app = await createApp()
    const added = await store().suppressMany({ appId: app.appId, at: AT, noted: null, rows: [] })
    expect(added).toEqual({ added: 0 })
  })
}
