import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { PRESENCE_MS, type Presence, presenceAt, readPresence } from '../../src/visits/presence.ts'
import { readPublicId } from '../../src/core/ids.ts'
import { addPerson, appOf, here as back, leave, page, report, send, track } from '../api/reports.ts'
import { createTestServer, DAY, NOW, type TestServer } from '../helper.ts'

let server: TestServer
let contactId = 0
let count = 0
beforeEach(async () => {
  server = await createTestServer()
  await server.setPlan({ snippetLimits: false })
  contactId = readPublicId('con', await addPerson(server)) ?? 0
})
afterEach(() => server.close())

const sendAs = async (id: string, ...events: object[]): Promise<void> => {
  expect((await send(server, report(server.first, { id, events }))).status).toBe(202)
}
/** One request of a page load. */
const from = (load: string, ...events: object[]): Promise<void> => {
  count += 1
  return sendAs(load === '' ? `${count}` : `${load}.${count}`, ...events)
}
const read = async (quietMs?: number): Promise<Presence> => {
  const { id: appId } = await appOf(server)
  return readPresence(server.parts(), { appId, contactId }, quietMs)
}
const here = (...paths: string[]) => expect.objectContaining({ isHere: true, paths })
const away = (leftAgo: number | null) =>
  expect.objectContaining({
    isHere: false,
    paths: [],
    lastLeftAt: leftAgo === null ? null : server.clock.now() - leftAgo,
  })

describe('one tab', () => {
  test('never seen, here, gone, back', async () => {
    expect(await read()).toEqual({ isHere: false, paths: [], pages: [], lastReportAt: null, lastLeftAt: null })
    await from('a', page('/results/1'))
    expect(await read()).toEqual({
      isHere: true,
      paths: ['/results/1'],
      pages: [{ path: '/results/1', heardAt: NOW }],
      lastReportAt: NOW,
      lastLeftAt: null,
    })
    server.clock.tick(60_000)
    await from('a', leave('/results/1'))
    server.clock.tick(1_000)
    expect(await read()).toEqual({
      isHere: false,
      paths: [],
      pages: [],
      lastReportAt: NOW + 60_000,
      lastLeftAt: NOW + 60_000,
    })
    await from('a', page('/results/1'))
    expect(await read()).toEqual(here('/results/1'))
  })

  test('hidden and shown again is here again, on the page that was open', async () => {
    await from('a', page('/results/1'))
    server.clock.tick(60_000)
    await from('a', leave('/results/1'))
    server.clock.tick(60_000)
    await from('a', back('/results/1'))
    expect(await read()).toEqual(here('/results/1'))
    server.clock.tick(60_000)
    await from('a', leave('/results/1'))
    expect(await read()).toEqual(away(0))
  })

  test('back and gone again within one request: gone now, there in between', async () => {
    await from('a', page('/one'))
    server.clock.tick(60_000)
    await from('a', leave('/one'))
    server.clock.tick(600_000)
    await from('a', back('/one', 300_000), leave('/one', 1_000))
    expect(await read()).toEqual(away(1_000))
    const { id: appId } = await appOf(server)
    const reports = await server.parts().store.listReports(appId, contactId, 0)
    const now = server.clock.now()
    expect(presenceAt(reports, now - 300_001).isHere).toBe(false)
    expect(presenceAt(reports, now - 300_000).paths).toEqual(['/one'])
    expect(presenceAt(reports, now - 1_000).isHere).toBe(false)
  })

  test('back and gone again in one millisecond is gone', async () => {
    await from('a', page('/one'))
    server.clock.tick(1)
    await from('a', back('/one'), leave('/one'))
    expect(await read()).toEqual(away(0))
    await from('a', leave('/one'), back('/one'))
    expect(await read()).toEqual(here('/one'))
  })

  test('waits twenty minutes on the page and is still here; after thirty without a sign it is taken to be gone', async () => {
    await from('a', page('/wait'))
    server.clock.tick(PRESENCE_MS - 1)
    expect(await read()).toEqual(here('/wait'))
    server.clock.tick(1)
    expect(await read()).toEqual(away(null))
    expect(await read(PRESENCE_MS + 1)).toEqual(here('/wait'))
  })

  test('goes from page to page without leaving: on the last one only', async () => {
    await from('a', page('/one', 20), page('/two', 10))
    server.clock.tick(5)
    await from('a', page('/three'))
    expect(await read()).toEqual(here('/three'))
    server.clock.tick(1)
    await from('a', leave('/three'))
    expect(await read()).toEqual(away(0))
  })

  test('in one request the order decides where the milliseconds are the same', async () => {
    await from('a', page('/one'), leave('/one'))
    expect(await read()).toEqual(away(0))
    server.clock.tick(1)
    await from('a', leave('/one'), page('/two'))
    expect(await read()).toEqual(here('/two'))
  })

  test('an action says nothing about presence', async () => {
    await from('a', page('/one'))
    server.clock.tick(1_000)
    await from('a', leave('/one'))
    server.clock.tick(1_000)
    await from('a', track('background.job', '/one'))
    expect(await read()).toEqual(away(1_000))
  })
})

describe('two tabs', () => {
  test('here in one of them is here', async () => {
    await from('a', page('/one', 10))
    await from('b', page('/two'))
    expect(await read()).toEqual(here('/two', '/one'))
    server.clock.tick(1_000)
    await from('b', leave('/two'))
    expect(await read()).toEqual(here('/one'))
    server.clock.tick(1_000)
    await from('a', leave('/one'))
    expect(await read()).toEqual(away(0))
  })

  test('on the same path count once, and are left one by one', async () => {
    await from('a', page('/same'))
    await from('b', page('/same'))
    server.clock.tick(1)
    await from('a', leave('/same'))
    expect(await read()).toEqual(here('/same'))
    await from('b', leave('/same'))
    expect(await read()).toEqual(away(0))
  })

  test('whose requests name no page load: the last report counts, and one tab left for another is here', async () => {
    await from('', leave('/one'))
    await from('', page('/two'))
    expect(await read()).toEqual(here('/two'))
    server.clock.tick(1)
    await from('', leave('/two'))
    expect(await read()).toEqual(away(0))
  })
})

describe('in the same millisecond', () => {
  const reportOf = (path: string, pageLoad: number | null, receivedAt = NOW) => {
    return { pageLoad, batchNumber: null, receivedAt, reportedAt: NOW, path, isHere: true, isReturn: false }
  }

  test.each([
    ['two tabs: the one whose report came last', [reportOf('/one', 2, NOW + 5), reportOf('/two', 1)], ['/one', '/two']],
    ['two tabs, which reported at once: always the same', [reportOf('/one', 2), reportOf('/two', 1)], ['/two', '/one']],
    ['one tab: the page whose report came last', [reportOf('/one', 1, NOW + 5), reportOf('/two', 1)], ['/one']],
    ['one tab, which reported at once: always the same', [reportOf('/one', null), reportOf('/two', null)], ['/two']],
  ])('%s is named first, in whatever order they are read', (_, reports, paths) => {
    expect([reports, reports.toReversed()].map((read) => presenceAt(read, NOW).paths)).toEqual([paths, paths])
  })
})

describe('what comes late', () => {
  test('a page view that was retried does not bring back who left after it', async () => {
    await sendAs('a.2', leave('/one', 5_000))
    await sendAs('a.1', page('/one', 60_000))
    expect(await read()).toEqual(away(5_000))
  })

  test('a leave that was retried does not send away who came back', async () => {
    await sendAs('a.3', page('/one', 1_000))
    await sendAs('a.2', leave('/one', 20_000))
    expect(await read()).toEqual(here('/one'))
  })

  test('a page view whose request took so long that it seems to come after its leave does not either', async () => {
    await sendAs('a.2', leave('/one', 5))
    server.clock.tick(3_000)
    // its age was computed when it was sent
    await sendAs('a.1', page('/one', 1))
    expect(await read()).toEqual(away(3_005))
    await sendAs('a.10', page('/one'))
    expect(await read()).toEqual(here('/one'))
  })

  test('ids that do not count their batches are put in order by time', async () => {
    await sendAs('a.x', leave('/one', 5_000))
    await sendAs('a.w', page('/one', 60_000))
    expect(await read()).toEqual(away(5_000))
  })

  test('the same request again changes nothing, although its ages are older by then', async () => {
    const body = report(server.first, { id: 'a.same', events: [page('/one')] })
    await send(server, body)
    server.clock.tick(60_000)
    await from('a', leave('/one'))
    server.clock.tick(60_000)
    await send(server, body)
    expect(await read()).toEqual(away(60_000))
  })
})

test('is on disk, is of the app, and goes with the person', async () => {
  await from('a', page('/one'))
  await server.restart()
  expect(await read()).toEqual(here('/one'))
  const other = await appOf(server, server.second)
  expect(await readPresence(server.parts(), { appId: other.id, contactId })).toMatchObject({ lastReportAt: null })
  await server.call('DELETE', '/api/v1/contacts', {
    body: { newsletter: server.first.appId, email: 'ada@example.com' },
  })
  expect(await read()).toMatchObject({ lastReportAt: null })
})

test('is forgotten after 48 hours', async () => {
  await from('a', leave('/one'))
  server.clock.tick(2 * DAY - 1)
  expect((await read()).lastLeftAt).toBe(NOW)
  server.clock.tick(1)
  expect((await read()).lastLeftAt).toBeNull()
})
