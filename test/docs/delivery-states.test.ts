import { afterAll, beforeAll, expect, test } from 'bun:test'
import { DELIVERY_STATES, labelOf, STATE_LABELS } from '../../src/deliveries/delivery-lists.ts'
import { lastDays, readResults } from '../../src/deliveries/results.ts'
import { type AccountPages, appOf, openAccount } from '../dashboard/browser.ts'
import { addDeliveries } from '../dashboard/messages/result-rows.ts'

let pages: AccountPages
beforeAll(async () => {
  pages = await openAccount()
})
afterAll(() => pages.close())

test('the documentation has each state with its label in the dashboard, also of emails that only wait', async () => {
  const text = await Bun.file(`${import.meta.dir}/../../src/docs/states.md`).text()
  const rows = [...text.matchAll(/^\| `([a-z]+)` +\| ([^|]+?) +\|/gm)]
    .slice(1)
    .map(([, state, label]) => [state, label])
  const held = { state: 'deferred', reason: 'window' } as const
  const expected = [...DELIVERY_STATES.map((state) => [state, STATE_LABELS[state]]), [held.state, labelOf(held)]]
  expect(rows.toSorted()).toEqual(expected.toSorted())
})

test('the documentation names the states that results count as sent', async () => {
  const text = await Bun.file(`${import.meta.dir}/../../src/docs/results.md`).text()
  const [, line = ''] = /^- \*\*Sent\*\*: (.+)$/m.exec(text) ?? []
  const named = Array.from(line.matchAll(/`([a-z]+)`/g), ([, state]) => state)
  const { id: appId } = await appOf(pages)
  const [messageId = 0, at] = [(await pages.store.listMessages(appId))[0]?.id, pages.clock.now()]
  const readSent = async () => (await readResults(pages.store, messageId, lastDays(1, at))).funnel.sent
  const counted: string[] = []
  for (const state of DELIVERY_STATES) {
    const before = await readSent()
    await addDeliveries(pages.folder, { appId, messageId, at, count: 1 }, { state })
    if ((await readSent()) > before) counted.push(state)
  }
  expect(named.toSorted()).toEqual(counted.toSorted())
})
