import { expect, test } from 'bun:test'
import { AT, BY, contactWrite, eventWrite, type Fresh } from '../samples.ts'

export function testPlan(store: Fresh): void {
  const add = (accountId: string, email: string, { limit, at = AT }: { limit: number | null; at?: number }) =>
    store().recordEvent(eventWrite({ accountId, email, newPeoplePerMonth: limit, at }))

  test('counts exactly under concurrent events and additions', async () => {
    const writes = Array.from({ length: 60 }, (_, index) => {
      const changes = { accountId: 'acc_many', email: `many${index}@example.com`, newPeoplePerMonth: 7 }
      return index % 2 ? store().addContact(contactWrite(changes)) : store().recordEvent(eventWrite(changes))
    })
    const outcomes = await Promise.all(writes)
    expect(outcomes.filter((outcome) => 'created' in outcome && outcome.created)).toHaveLength(7)
    expect(outcomes.filter((outcome) => 'refusal' in outcome && outcome.refusal === 'plan_limit_reached')).toHaveLength(
      53,
    )
  })

  test('known people are accepted when the plan is used up', async () => {
    await add('acc_known', 'known@example.com', { limit: 1 })
    expect(await add('acc_known', 'late@example.com', { limit: 1 })).toEqual({ refusal: 'plan_limit_reached' })
    expect(await store().findContact(1, 'late@example.com')).toBeNull()
    expect(await add('acc_known', 'known@example.com', { limit: 1 })).toMatchObject({ created: false })
    expect(await add('acc_known', 'late@example.com', { limit: 2 })).toMatchObject({ created: true })
    expect(await add('acc_known', 'later@example.com', { limit: null })).toMatchObject({ created: true })
    expect(await add('acc_known', 'last@example.com', { limit: 3 })).toEqual({ refusal: 'plan_limit_reached' })
  })

  test('a new month begins at 00:00 UTC', async () => {
    const june = Date.UTC(2026, 5, 1)
    expect(await add('acc_month', 'may@example.com', { limit: 1, at: june - 1 })).toMatchObject({ created: true })
    expect(await add('acc_month', 'may2@example.com', { limit: 1, at: june - 1 })).toHaveProperty('refusal')
    expect(await add('acc_month', 'june@example.com', { limit: 1, at: june })).toMatchObject({ created: true })
    expect(await add('acc_month', 'june2@example.com', { limit: 1, at: june })).toHaveProperty('refusal')
    expect(await add('acc_month', 'may2@example.com', { limit: 1, at: june - 1 })).toHaveProperty('refusal')
  })

  test('counts each account separately', async () => {
    for (const account of ['acc_a', 'acc_b']) {
      expect(await add(account, `first-${account}@example.com`, { limit: 1 })).toMatchObject({ created: true })
      expect(await add(account, `second-${account}@example.com`, { limit: 1 })).toHaveProperty('refusal')
    }
  })

  test('erasing a person does not lower the count', async () => {
    await add('acc_erase', 'gone@example.com', { limit: 1 })
    await store().eraseContact({ ...BY, appId: 1, email: 'gone@example.com' })
    expect(await add('acc_erase', 'next@example.com', { limit: 1 })).toEqual({ refusal: 'plan_limit_reached' })
  })

  test('counts survive a restart', async () => {
    await add('acc_stop', 'stop@example.com', { limit: 1 })
    await store.reopen()
    expect(await add('acc_stop', 'stop2@example.com', { limit: 1 })).toEqual({ refusal: 'plan_limit_reached' })
  })
}
