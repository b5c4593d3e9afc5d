import { expect, test } from 'bun:test'
import type { CallRow } from '../../../src/store/mcp-calls.ts'
import { AT, DAY, type Fresh } from '../samples.ts'

const call = (changes: Partial<CallRow> = {}): CallRow => ({
  accountId: 'acc_1',
  keyId: 'key_1',
  tool: 'get_contact',
  outcome: 'ok',
  ms: 3,
  client: 'claude-code/2.1.3',
  calledAt: AT,
  ...changes,
})

/** The audit list of MCP. */
export function testCalls(store: Fresh): void {
  test('an account sees its own calls, newest first, in order of arrival within a millisecond', async () => {
    const calls = [
      call({ tool: 'first' }),
      call({ accountId: 'acc_2', tool: 'theirs' }),
      call({ tool: 'later', calledAt: AT + 1 }),
      call({ tool: 'second', outcome: 'contact_not_found', client: null, ms: 0 }),
    ]
    expect(await store().addCalls(calls)).toEqual({ done: true })
    expect(await store().listCalls('acc_1', 9)).toEqual([
      call({ tool: 'later', calledAt: AT + 1 }),
      call({ tool: 'second', outcome: 'contact_not_found', client: null, ms: 0 }),
      call({ tool: 'first' }),
    ])
    expect(await store().listCalls('acc_2', 9)).toEqual([call({ accountId: 'acc_2', tool: 'theirs' })])
    expect(await store().listCalls('acc_3', 9)).toEqual([])
  })

  test('returns the requested number of calls', async () => {
    expect((await store().listCalls('acc_1', 2)).map(({ tool }) => tool)).toEqual(['later', 'second'])
  })

  test('writing an empty list works', async () => {
    expect(await store().addCalls([])).toEqual({ done: true })
  })

  test('calls stay for 90 days, also across restarts', async () => {
    await store().addCalls([call({ accountId: 'acc_old', tool: 'old' })])
    await store.reopen()
    await store().cleanUp({ at: AT + 90 * DAY - 1 })
    expect(await store().listCalls('acc_old', 9)).toHaveLength(1)
    await store().cleanUp({ at: AT + 90 * DAY })
    expect(await store().listCalls('acc_old', 9)).toEqual([])
  })
}
