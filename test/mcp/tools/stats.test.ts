import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestServer, DAY, type TestServer } from '../../helper.ts'
import { callTool } from '../client.ts'

let server: TestServer
let app: string
beforeAll(async () => {
  server = await createTestServer()
  app = server.first.appId
  await server.setPlan({ newPeoplePerMonth: 100 })
  const send = (event: string, account = server.first) =>
    callTool(
      server,
      'send_event',
      { app: account.appId, email: `${event}@example.com`, event, createContact: true },
      { key: account.apiKey },
    )
  for (const event of ['old', 'old']) await send(event)
  server.clock.tick(10 * DAY)
  for (const event of ['new', 'new', 'rare', 'old']) await send(event)
  await send('theirs', server.second)
  await send('new', server.second)
})
afterAll(() => server.close())

const get = async (tool: string, args: object = {}) => (await callTool(server, tool, { app, ...args })).data

test('list_event_names: alphabetical, counted, paged, for this app only', async () => {
  const all = [
    { event: 'new', count: 2 },
    { event: 'old', count: 3 },
    { event: 'rare', count: 1 },
  ]
  expect(await get('list_event_names')).toMatchObject({ data: all, nextCursor: null })
  const first = await get('list_event_names', { limit: 2 })
  expect(first).toMatchObject({ data: all.slice(0, 2), nextCursor: 'old' })
  expect(await get('list_event_names', { cursor: first.nextCursor })).toMatchObject({
    data: all.slice(2),
    nextCursor: null,
  })
})

test('list_event_names: without built-in names and names older than 30 days', async () => {
  const { appId } = server.second
  const names = async () =>
    (await callTool(server, 'list_event_names', { app: appId }, { key: server.second.apiKey })).data
  expect((await names()).data?.map(({ event }) => event)).toEqual(['new', 'theirs'])
  server.clock.tick(31 * DAY)
  expect((await names()).data).toEqual([])
  server.clock.tick(-31 * DAY)
})

test('get_stats: by name and day, with new people of the account', async () => {
  const { byDay, byName, newPeople, emails } = await get('get_stats')
  expect(byName).toEqual([
    { event: 'new', count: 2 },
    { event: 'old', count: 1 },
    { event: 'rare', count: 1 },
  ])
  expect(byDay).toEqual(
    [19, 20, 21, 22, 23, 24, 25].map((day) => ({ day: `2026-05-${day}`, events: day === 25 ? 4 : 0, pageViews: 0 })),
  )
  expect(newPeople).toEqual({ month: '2026-05', count: 3, limit: 100 })
  expect(emails).toEqual({ emailed: 0, cameBack: 0, alreadySeen: 0, compared: null })
  expect(await get('get_stats', { days: 30 })).toMatchObject({ byName: [{ event: 'old', count: 3 }, {}, {}] })
})

test.each([
  ['get_stats', { days: 0 }, 'days'],
  ['get_stats', { days: 31 }, 'days'],
  ['get_stats', { days: 'many' }, 'days'],
  ['get_stats', { weeks: 1 }, 'weeks'],
  ['list_event_names', { limit: 0 }, 'limit'],
  ['list_event_names', { cursor: 'no name' }, 'cursor'],
])('%s refuses %p', async (tool, args, field) => {
  expect(await get(tool, args)).toMatchObject({ error: 'invalid_field', field })
})
