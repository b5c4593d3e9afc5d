/** What pages say after data was deleted because of its age, and that it sends nothing again. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { findAppSettings } from '../../../src/accounts/app-settings.ts'
import { publicId } from '../../../src/core/ids.ts'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { type AccountPages, appOf, openAccount } from '../browser.ts'
import { recordEvent } from '../events/recording.ts'
import { MAIL, putMessage, sendDue, sendEvent } from '../messages/mailing.ts'
import { DAY, textOf } from '../pages.ts'

const BOB = 'bob@example.com'

let pages: AccountPages
let app: AppRow
beforeEach(async () => {
  pages = await openAccount()
  app = await appOf(pages)
})
afterEach(() => pages.close())

async function expire(days: number): Promise<void> {
  const basedOn = await findAppSettings(pages.store, app)
  const retention = { ...basedOn.retention, eventDays: 7, pageViewDays: 7, capturedDays: 7 }
  const change = { accountId: app.accountId, actor: 'test', at: pages.clock.ms, appId: app.id }
  await pages.store.updateApp({ ...change, settings: { ...basedOn, retention } })
  pages.clock.ms += days * DAY
  for (let isMore = true; isMore;) {
    const outcome = await pages.store.expire({ at: pages.clock.ms })
    isMore = 'isMore' in outcome && outcome.isMore
  }
}

const deliveriesOf = (contactId: number) =>
  pages.store.listDeliveries({ appId: app.id, contactId, messageId: null, states: null, before: null, limit: 10 })
const read = async (path: string) =>
  (await textOf((await (await pages.signedIn()).get(pages.at(path))).html, 'main')).join()

const ONCE: [string, MessageContent['again']][] = [
  ['person', { once: 'person' }],
  ['property', { once: 'property', property: 'job' }],
]
test.each(ONCE)('an email that is sent once per %s is not sent again', async (_, again) => {
  const messageId = await putMessage(pages, { app, content: { ...MAIL, again } })
  const happened = { app, email: BOB, properties: { headline: 'Ready', job: 7 } }
  await sendEvent(pages, happened)
  await sendDue(pages)
  await expire(30)
  const person = await pages.store.findContact(app.id, BOB)
  expect(
    (await pages.store.listEvents({ appId: app.id, contactId: null, name: null, before: null, limit: 9 })).rows,
  ).toEqual([])
  await sendEvent(pages, happened)
  await sendDue(pages)
  const sent = await deliveriesOf(person?.id ?? 0)
  expect(sent.map(({ state, eventId }) => [state, eventId === null])).toEqual([['kept', false]])

  const delivery = publicId('dlv', sent[0]?.id ?? 0)
  const text = await read(`deliveries/${delivery}`)
  expect(text).toContain('Deleted because of its age')
  expect(text).toContain("It can't be shown any more, because its event was deleted.")
  const by = { accountId: app.accountId, actor: 'test' }
  const resent = await pages.store.resendDelivery({ appId: app.id, id: sent[0]?.id ?? 0, at: pages.clock.ms, by })
  expect(resent).toEqual({ refusal: 'event_deleted' })
  expect(await read(`messages/${publicId('msg', messageId)}/results?range=90`)).toContain(
    "Events up to 3 May 2026 were deleted because of their age. Results aren't affected. Data retention",
  )
})

test('the timeline says up to when, only where something of the person may be missing', async () => {
  await recordEvent(pages, app, { email: BOB })
  await recordEvent(pages, app, { email: BOB, path: '/start' })
  await expire(30)
  await recordEvent(pages, app, { email: 'new@example.com' })
  const pageOf = async (email: string) =>
    `people/${publicId('con', (await pages.store.findContact(app.id, email))?.id ?? 0)}`
  expect(await read('events')).toContain('were deleted because of their age.')
  const NOTE = 'Events and page views up to 3 May 2026 were deleted because of their age.'
  expect(await read(await pageOf(BOB))).toContain(NOTE)
  expect(await read(await pageOf('new@example.com'))).not.toContain('deleted')
})
