/** The results of an app count people: each once, whatever number of emails and messages they had. */
import { expect, test } from 'bun:test'
import { type AppResults, lastDays, readAppResults } from '../../src/deliveries/results.ts'
import type { EmailFilter } from '../../src/store/search/contact-search.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import { page, report, send } from '../api/reports.ts'
import { DAY, MINUTE } from '../durations.ts'
import { useSharedServer } from '../helper.ts'
import { createMessaging, messageOf, RESULT } from '../messaging.ts'

const openServer = useSharedServer()

async function start() {
  const server = await openServer()
  await server.setPlan({ snippetLimits: false })
  const messaging = await createMessaging(server)
  await messaging.set({ perPersonDay: null })
  /** In the list of people. */
  const count = async (result: EmailFilter['result'], fromDay: number): Promise<number> => {
    const email = { result, messageId: null, since: fromDay * DAY }
    const filter = { search: null, tag: null, status: null, field: null, event: null, seen: null, email }
    const query = { appId: messaging.app.id, filter, sort: 'newest', after: null, limit: 1, isCounted: true } as const
    return (await messaging.store().findPeople(query)).count.people
  }
  return {
    ...messaging,
    server,
    emailOf: (name: string) => `${name}@example.com`,
    /** A message that may be sent again each hour. */
    add: (name: string, changes: Partial<MessageContent> = {}) =>
      messaging.put(messageOf({ name, again: { everyHours: 1 }, ...changes })),
    sendTo: (name: string) => messaging.event({ email: `${name}@example.com`, properties: RESULT }),
    visit: (name: string, path = '/results/1') =>
      send(server, report(server.first, { email: `${name}@example.com`, events: [page(path)] })),
    async count(days = 30): Promise<Pick<AppResults, 'emailed' | 'cameBack' | 'ofEarlier' | 'alreadySeen'>> {
      const range = lastDays(days, server.clock.now())
      const { emailed, cameBack, ofEarlier, alreadySeen } = await readAppResults(
        messaging.store(),
        messaging.app.id,
        range,
      )
      expect([await count('emailed', range.from), await count('cameBack', range.from)]).toEqual([emailed, cameBack])
      return { emailed, cameBack, ofEarlier, alreadySeen }
    },
  }
}

test('who is emailed often, by several messages, and comes back after each', async () => {
  const app = await start()
  await app.add('A')
  await app.add('B')
  for (let day = 0; day < 3; day += 1) {
    for (const name of ['ada', 'bob']) await app.sendTo(name)
    expect(await app.decide()).toHaveLength(4)
    app.server.clock.tick(MINUTE)
    await app.visit('ada')
    app.server.clock.tick(DAY)
  }
  expect(await app.count()).toEqual({ emailed: 2, cameBack: 1, ofEarlier: 0, alreadySeen: 0 })
})

test('a range has those whose last email lies in it, and an email that brought nobody back hides no return', async () => {
  const app = await start()
  await app.add('A')
  for (const name of ['ada', 'bob']) await app.sendTo(name)
  await app.decide()
  app.server.clock.tick(MINUTE)
  for (const name of ['ada', 'bob']) await app.visit(name)
  app.server.clock.tick(8 * DAY)
  await app.sendTo('ada')
  await app.decide()
  expect(await app.count()).toEqual({ emailed: 2, cameBack: 2, ofEarlier: 0, alreadySeen: 0 })
  expect(await app.count(7)).toEqual({ emailed: 1, cameBack: 0, ofEarlier: 0, alreadySeen: 0 })
  app.server.clock.tick(MINUTE)
  await app.visit('ada')
  expect(await app.count(7)).toEqual({ emailed: 1, cameBack: 1, ofEarlier: 0, alreadySeen: 0 })
  expect(await app.count()).toEqual({ emailed: 2, cameBack: 2, ofEarlier: 0, alreadySeen: 0 })
})

test('who came back before an email with an unknown outcome was sent again', async () => {
  const app = await start()
  await app.add('A', { ifUnconfirmed: 'leave' })
  await app.sendTo('ada')
  const [store, at] = [app.store(), app.server.clock.now()]
  const { delivery } = await app.claimOne()
  const claim = { id: delivery.id, claimedBy: 'test', attempt: 1, at }
  await store.markHanded({ ...claim, record: JSON.stringify({ at, verdicts: [] }) })
  await store.markUnknown({ ...claim, reason: 'etimedout' })
  app.server.clock.tick(MINUTE)
  await app.visit('ada')
  expect(await app.count(7)).toEqual({ emailed: 1, cameBack: 1, ofEarlier: 0, alreadySeen: 0 })
  app.server.clock.tick(19 * DAY)
  expect(await store.resendDelivery({ appId: app.app.id, id: claim.id, at: app.server.clock.now() })).toEqual({
    done: true,
  })
  expect((await app.decide()).map(({ verdict }) => verdict)).toEqual(['send'])
  expect(await app.count(7)).toEqual({ emailed: 1, cameBack: 0, ofEarlier: 0, alreadySeen: 0 })
  expect(await app.count(30)).toEqual({ emailed: 1, cameBack: 1, ofEarlier: 0, alreadySeen: 0 })
})

test('a return counts on its day, also after an email from before the range', async () => {
  const app = await start()
  await app.add('A')
  for (const name of ['ada', 'bob']) await app.sendTo(name)
  await app.decide()
  app.server.clock.tick(5 * DAY)
  await app.visit('ada')
  app.server.clock.tick(4 * DAY)
  expect(await app.count(7)).toEqual({ emailed: 0, cameBack: 1, ofEarlier: 1, alreadySeen: 0 })
  app.server.clock.tick(DAY)
  await app.visit('bob')
  expect(await app.count()).toEqual({ emailed: 2, cameBack: 1, ofEarlier: 0, alreadySeen: 0 })
})

test('who had seen it already, and who was erased', async () => {
  const app = await start()
  await app.add('A', { wait: { minutes: 10 }, onlyIf: [{ rule: 'notSeen', ifUnknown: 'send' }] })
  for (const name of ['ada', 'bob', 'carol']) await app.sendTo(name)
  app.server.clock.tick(MINUTE)
  for (const name of ['ada', 'bob']) await app.visit(name)
  app.server.clock.tick(10 * MINUTE)
  await app.decide()
  app.server.clock.tick(MINUTE)
  await app.visit('carol')
  expect(await app.count()).toEqual({ emailed: 1, cameBack: 1, ofEarlier: 0, alreadySeen: 2 })
  for (const name of ['ada', 'carol']) await app.store().eraseContact({ ...app.by, email: app.emailOf(name) })
  expect(await app.count()).toEqual({ emailed: 0, cameBack: 0, ofEarlier: 0, alreadySeen: 1 })
})

test('who is compared in several messages, in the first', async () => {
  const app = await start()
  await app.set({ perSecond: 400 })
  await app.add('A', { holdback: 50 })
  await app.add('B', { holdback: 50 })
  for (let index = 0; index < 200; index += 1) await app.sendTo(`p${index}`)
  await app.decide()
  const range = lastDays(30, app.server.clock.now())
  const { compared } = await app.store().readAppResults(app.app.id, range)
  expect(compared.reduce((sum, { people }) => sum + people, 0)).toBe(200)
}, 180_000)
