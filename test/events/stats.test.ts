import { expect, test } from 'bun:test'
import { listEventNames, readStats } from '../../src/events/stats.ts'
import { createTestServer, DAY, EVENTS } from '../helper.ts'

test('counts arrivals by UTC day', async () => {
  const server = await createTestServer()
  const { appId: app } = server.first
  const access = await server.parts().access.find(server.first.apiKey)
  const [row] = access?.apps ?? []
  if (!access || !row) throw new Error('no app')
  const send = (event: string, body = {}) =>
    server.call('POST', EVENTS, { body: { app, email: 'ada@example.com', event, createContact: true, ...body } })
  await send('before')
  server.clock.tick(DAY)
  await send('now')
  await send('now', { occurredAt: '2026-05-15T12:00:00Z' })
  await server.parts().store.recordVisitReport({
    accountId: row.accountId,
    appId: row.id,
    email: 'ada@example.com',
    shownEmail: null,
    newPeoplePerMonth: null,
    limits: [],
    createContact: false,
    at: server.clock.now(),
    reportId: '1.1',
    items: [{ type: 'page', name: null, path: '/', occurredAt: server.clock.now() }],
  })
  expect(await readStats(server.parts(), { access, app: row, days: 2 })).toEqual({
    byDay: [
      { day: '2026-05-15', events: 1, pageViews: 0 },
      { day: '2026-05-16', events: 2, pageViews: 1 },
    ],
    byName: [
      { event: 'now', count: 2 },
      { event: 'before', count: 1 },
    ],
    newPeople: { month: '2026-05', count: 1, limit: null },
  })
  expect((await readStats(server.parts(), { access, app: row, days: 1 })).byName).toEqual([{ event: 'now', count: 2 }])
  expect((await listEventNames(server.parts(), row, { after: null, limit: 9 })).map(({ name }) => name)).toEqual([
    'before',
    'now',
  ])
  await server.close()
})
