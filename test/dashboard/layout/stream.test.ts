import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type AccountPages, openAccount } from '../browser.ts'
import { type Send, streamChanges, streamEvents, type Stream } from '../../../src/dashboard/layout/stream.ts'
import { MOST_WATCHERS } from '../../../src/events/feed.ts'
import { createSessions } from '../../../src/accounts/sessions.ts'
import { createSignIns } from '../../../src/accounts/sign-ins.ts'
import { findViewer } from '../../../src/dashboard/layout/viewer.ts'

let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

/** Reads a stream until it contains a text, or ends. */
function readerOf(response: Response) {
  const reader = response.body?.getReader()
  let text = ''
  return {
    async until(wanted: string): Promise<string> {
      while (!text.includes(wanted)) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
        if (done) return `${text}[end]`
        text += new TextDecoder().decode(value)
      }
      return text
    },
    leave: () => reader?.cancel(),
  }
}

describe('a stream', () => {
  const open = () => {
    let stream: Stream | null = null
    let isStopped = false
    const leaver = new AbortController()
    const response = streamEvents(new Request('http://localhost/', { signal: leaver.signal }), (opened) => {
      stream = opened
      return () => void (isStopped = true)
    })
    return { response, stream: stream as unknown as Stream, leaver, isStopped: () => isStopped }
  }

  test('sends messages with name, cursor and a line of JSON', async () => {
    const { response, stream } = open()
    stream.send({ name: 'rows', data: { html: 'a\nb' }, id: 'evt_1' })
    stream.send({ name: 'state', data: null })
    stream.end()
    expect(await response.text()).toBe(
      'retry: 1000\n\nid: evt_1\nevent: rows\ndata: {"html":"a\\nb"}\n\nevent: state\ndata: null\n\n',
    )
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('stops when its reader leaves', async () => {
    const [first, second] = [open(), open()]
    await first.response.body?.cancel()
    second.leaver.abort()
    await Bun.sleep(0)
    expect([first.isStopped(), second.isStopped()]).toEqual([true, true])
    first.stream.send({ name: 'late', data: 1 })
  })

  test('closes for readers that do not read', async () => {
    const { stream, isStopped } = open()
    const data = 'x'.repeat(10_000)
    for (let i = 0; i < 20; i++) stream.send({ name: 'rows', data })
    await Bun.sleep(0)
    expect(isStopped()).toBe(false)
    for (let i = 0; i < 20; i++) stream.send({ name: 'rows', data })
    await Bun.sleep(0)
    expect(isStopped()).toBe(true)
  })

  // the service checks idle connections every four seconds
  test('stays open while nothing happens', async () => {
    let stream: Stream | undefined
    const http = Bun.serve({
      port: 0,
      idleTimeout: 10,
      fetch: (request) => streamEvents(request, (opened) => ((stream = opened), () => {})),
    })
    const reader = readerOf(await fetch(http.url))
    // over ten seconds later
    await reader.until(':\n\n:\n\n')
    stream?.send({ name: 'late', data: 1 })
    expect(await reader.until('event: late')).toMatch(/^retry: 1000\n\n(:\n\n){2,}event: late\ndata: 1\n\n$/)
    await reader.leave()
    await http.stop(true)
  })

  test('503 at the limit', () => {
    const response = streamEvents(new Request('http://localhost/'), () => null)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
  })
})

describe('a stream of changes', () => {
  const follow = async (look: (send: Send) => Promise<void>) => {
    const browser = await pages.signedIn()
    const { parts, clock } = pages
    const sessions = createSessions(parts)
    const request = new Request(`${pages.baseUrl}/`, {
      headers: { Cookie: `eventpost_session_8080=${browser.cookies.get('eventpost_session_8080')}` },
    })
    const pageParts = { ...parts, sessions, signIns: createSignIns(parts) }
    const member = await pages.store.findMember('ada@example.com')
    const viewer = member && (await findViewer(parts, member, pages.begun.appId, []))
    if (!viewer) throw new Error('no viewer')
    const open = () => readerOf(streamChanges(pageParts, request, viewer, look))
    return { browser, clock, open, reader: open() }
  }
  const count = () => {
    let looks = 0
    return async (send: Send) => send({ name: 'look', data: ++looks })
  }

  test('checks at once and after each commit', async () => {
    const { browser, reader } = await follow(count())
    expect(await reader.until('data: 1\n')).not.toContain('[end]')
    await browser.post(`${pages.at('activation')}/test`)
    expect(await reader.until('data: 2\n')).not.toContain('[end]')
    await reader.leave()
  })

  test('ends when the member is removed', async () => {
    const other = await pages.addAccount('eve@example.com', 'Other')
    await pages.addMember('ada@example.com', 'viewer', other.accountId)
    await pages.addMember('zoe@example.com', 'owner')
    const { browser, reader } = await follow(count())
    await reader.until('data: 1\n')
    const { accountId } = pages.begun
    const membershipId = (await pages.store.listMembers(accountId)).at(0)?.id ?? ''
    await pages.store.removeMember({ accountId, actor: 'test', at: pages.clock.now(), membershipId })
    const zoe = await pages.signedIn('zoe@example.com')
    await zoe.post(`${pages.at('activation')}/test`)
    expect(await reader.until('data: 2\n')).toEndWith('[end]')
    expect((await browser.get(`/apps/${other.appId}/events`)).status).toBe(200)
  })

  test('ends with the session, at the next beat or change', async () => {
    const { browser, reader } = await follow(count())
    await reader.until('data: 1\n')
    await browser.post('/sign-out')
    expect(await reader.until('data: 2\n')).toEndWith('[end]')
  })

  test('is not a use of the session', async () => {
    const { browser, clock, reader } = await follow(count())
    await reader.until('data: 1\n')
    clock.ms += 12 * 3_600_000
    pages.feed.notify()
    expect(await reader.until('data: 2\n')).toEndWith('[end]')
    expect((await browser.get(pages.at('you'))).status).toBe(303)
  })

  test('closes for newer ones of the same member, and says so', async () => {
    const { reader, open } = await follow(count())
    await reader.until('data: ')
    const newer = Array.from({ length: MOST_WATCHERS.member }, open)
    const text = await reader.until('[nothing]')
    expect(text).toEndWith(
      'event: ended\ndata: "Too many live pages are open (at most 10 per member, 100 per account). Close some, then reload."\n\n[end]',
    )
    for (const one of newer) expect(await one.until('data: ')).not.toContain('[end]')
    await Promise.all(newer.map((one) => one.leave()))
  })

  test('ends when the service stops', async () => {
    const { reader } = await follow(count())
    await reader.until('data: 1\n')
    pages.feed.end()
    expect(await reader.until('data: 2\n')).toEndWith('[end]')
  })
})
