import { expect, test } from 'bun:test'
import { DELIVERY_STATES, labelOf, STATE_LABELS } from '../../src/deliveries/delivery-lists.ts'

test('the documentation has each state with its label in the dashboard, also of emails that only wait', async () => {
  const text = await Bun.file(`${import.meta.dir}/../../src/docs/states.md`).text()
  const rows = [...text.matchAll(/^\| `([a-z]+)` +\| ([^|]+?) +\|/gm)]
    .slice(1)
    .map(([, state, label]) => [state, label])
  const held = { state: 'deferred', reason: 'window' } as const
  const expected = [...DELIVERY_STATES.map((state) => [state, STATE_LABELS[state]]), [held.state, labelOf(held)]]
  expect(rows.toSorted()).toEqual(expected.toSorted())
})
