import { beforeEach, describe, expect, test } from 'bun:test'
import { PRESENCE_MS, type Presence, presenceAt } from '../../src/visits/presence.ts'
import { readPublicId } from '../../src/core/ids.ts'
import { addPerson, appOf, here as back, leave, page, readPresence, report, send, track } from '../api/reports.ts'
import { DAY, NOW, type TestServer, useSharedServer } from '../helper.ts'

const openServer = useSharedServer()
let server: TestServer
let contactId = 0
let count = 0
beforeEach(async () => {
  server = await openServer()
  await server.setPlan({ snippetLimits: false })
  contactId = readPublicId('con', await addPerson(server)) ?? 0
})

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
    const begunAt = server.clock.now()
    expect(await read()).toEqual({ isHere: false, paths: [], pages: [], lastReportAt: null, lastLeftAt: null })
    await from('a', page('/results/1'))
    expect(await read()).toEqual({
      isHere: true,
      paths: ['/results/1'],
      pages: [{ path: '/results/1', heardAt: begunAt }],
      lastReportAt: begunAt,
      lastLeftAt: null,
    })
    server.clock.tick(60_000)
    await from('a', leave('/results/1'))
    server.clock.tick(1_000)
    expect(await read()).toEqual({
      isHere: false,
      paths: [],
      pages: [],
      lastReportAt: begunAt + 60_000,
      lastLeftAt: begunAt + 60_000,
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

  test('back and gone within one request: gone now, present in between', async () => {
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

  test('back and gone within a millisecond is gone', async () => {
    await from('a', page('/one'))
    server.clock.tick(1)
    await from('a', back('/one'), leave('/one'))
    expect(await read()).toEqual(away(0))
    await from('a', leave('/one'), back('/one'))
    expect(await read()).toEqual(here('/one'))
  })

  test('is present after twenty silent minutes and gone after thirty', async () => {
    await from('a', page('/wait'))
    server.clock.tick(PRESENCE_MS - 1)
    expect(await read()).toEqual(here('/wait'))
    server.clock.tick(1)
    expect(await read()).toEqual(away(null))
    expect(await read(PRESENCE_MS + 1)).toEqual(here('/wait'))
  })

  test('moves from page to page without leaving: present on the last page only', async () => {
    await from('a', page('/one', 20), page('/two', 10))
    server.clock.tick(5)
    await from('a', page('/three'))
    expect(await read()).toEqual(here('/three'))
    server.clock.tick(1)
    await from('a', leave('/three'))
    expect(await read()).toEqual(away(0))
  })

  test('the order in a request decides within a millisecond', async () => {
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
  test('one open tab means present', async () => {
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

  test('the same path counts once, and tabs close one by one', async () => {
    await from('a', page('/same'))
    await from('b', page('/same'))
    server.clock.tick(1)
    await from('a', leave('/same'))
    expect(await read()).toEqual(here('/same'))
    await from('b', leave('/same'))
    expect(await read()).toEqual(away(0))
  })

  test('without page loads the last report counts, also after switching tabs', async () => {
    await from('', leave('/one'))
    await from('', page('/two'))
    expect(await read()).toEqual(here('/two'))
    server.clock.tick(1)
    await from('', leave('/two'))
    expect(await read()).toEqual(away(0))
  })
})

describe('within a millisecond', () => {
  const reportOf = (path: string, pageLoad: number | null, receivedAt = NOW) => {
    return { pageLoad, reportNumber: null, receivedAt, reportedAt: NOW, path, isHere: true, isReturn: false }
  }

  test.each([
    ['two tabs: the tab that reported last', [reportOf('/one', 2, NOW + 5), reportOf('/two', 1)], ['/one', '/two']],
    ['two tabs that reported together: always the same', [reportOf('/one', 2), reportOf('/two', 1)], ['/two', '/one']],
    ['one tab: the page reported last', [reportOf('/one', 1, NOW + 5), reportOf('/two', 1)], ['/one']],
    ['one tab that reported together: always the same', [reportOf('/one', null), reportOf('/two', null)], ['/two']],
  ])('%s comes first, in any reading order', (_, reports, paths) => {
    expect([reports, reports.toReversed()].map((read) => presenceAt(read, NOW).paths)).toEqual([paths, paths])
  })
})

describe('late reports', () => {
  test('a retried page view does not undo a later leave', async () => {
    await sendAs('a.2', leave('/one', 5_000))
    await sendAs('a.1', page('/one', 60_000))
    expect(await read()).toEqual(away(5_000))
  })

  test('a retried leave does not undo a later return', async () => {
    await sendAs('a.3', page('/one', 1_000))
    await sendAs('a.2', leave('/one', 20_000))
    expect(await read()).toEqual(here('/one'))
  })

  test('a slow page view that arrives after its leave does not undo it', async () => {
    await sendAs('a.2', leave('/one', 5))
    server.clock.tick(3_000)
    // its age was computed when it was sent
    await sendAs('a.1', page('/one', 1))
    expect(await read()).toEqual(away(3_005))
    await sendAs('a.10', page('/one'))
    expect(await read()).toEqual(here('/one'))
  })

  test('IDs without batch numbers are ordered by time', async () => {
    await sendAs('a.x', leave('/one', 5_000))
    await sendAs('a.w', page('/one', 60_000))
    expect(await read()).toEqual(away(5_000))
  })

  test('repeating a request changes nothing, although its ages are older', async () => {
    const body = report(server.first, { id: 'a.same', events: [page('/one')] })
    await send(server, body)
    server.clock.tick(60_000)
    await from('a', leave('/one'))
    server.clock.tick(60_000)
    await send(server, body)
    expect(await read()).toEqual(away(60_000))
  })
})

test('is stored, belongs to the app, and is deleted with the person', async () => {
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

test('is deleted after 48 hours', async () => {
  const leftAt = server.clock.now()
  await from('a', leave('/one'))
  server.clock.tick(2 * DAY - 1)
  expect((await read()).lastLeftAt).toBe(leftAt)
  server.clock.tick(1)
  expect((await read()).lastLeftAt).toBeNull()
})
