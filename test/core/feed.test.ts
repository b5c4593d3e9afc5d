import { expect, test } from 'bun:test'
import { createFeed, MOST_WATCHERS } from '../../src/core/feed.ts'

/** What a store tells of its commits and of those of others. */
function createNews() {
  const commits: ((commit: { rows: number; ms: number }) => void)[] = []
  const foreign: (() => void)[] = []
  return {
    store: {
      onCommit: (listener: (commit: { rows: number; ms: number }) => void) => void commits.push(listener),
      onForeignWrite: (listener: () => void) => void foreign.push(listener),
    },
    commit: () => commits.forEach((listener) => listener({ rows: 1, ms: 1 })),
    foreignWrite: () => foreign.forEach((listener) => listener()),
  }
}

function openFeed() {
  const news = createNews()
  const feed = createFeed(news)
  let looks = 0
  let ends = 0
  const watcher = { onChange: () => void (looks += 1), onEnd: () => void (ends += 1) }
  return { ...news, feed, watcher, looks: () => looks, ends: () => ends }
}

const REST_MS = 250

test('a watcher looks when it begins, at a commit, at a write of another process, and when it is told', async () => {
  const { feed, watcher, looks, commit, foreignWrite } = openFeed()
  commit()
  feed.watch(watcher)
  expect(looks()).toBe(1)
  for (const [index, change] of [commit, foreignWrite, feed.tell].entries()) {
    await Bun.sleep(REST_MS + 50)
    change()
    expect(looks()).toBe(index + 2)
  }
})

test('many changes are one look after a rest, and none comes while the last one runs', async () => {
  const { feed, commit } = openFeed()
  const running = Promise.withResolvers<void>()
  let looks = 0
  const onChange = () => ((looks += 1), running.promise)
  feed.watch({ onChange, onEnd: () => {} })
  for (let i = 0; i < 1_000; i++) commit()
  await Bun.sleep(2 * REST_MS)
  expect(looks).toBe(1)
  running.resolve()
  await Bun.sleep(2 * REST_MS)
  expect(looks).toBe(2)
})

test('a watcher looks again when it asked to, though nothing changes', async () => {
  const { feed } = openFeed()
  let looks = 0
  feed.watch({ onChange: () => ((looks += 1) < 3 ? 10 : undefined), onEnd: () => {} })
  await Bun.sleep(4 * REST_MS)
  expect(looks).toBe(3)
})

test('who has left is not told, not even of what was due', async () => {
  const { feed, watcher, looks, commit } = openFeed()
  const stop = feed.watch(watcher)
  commit()
  stop?.()
  await Bun.sleep(2 * REST_MS)
  commit()
  expect(looks()).toBe(1)
})

test('all are ended when the service stops, and nobody begins after that', () => {
  const { feed, watcher, looks, ends, commit } = openFeed()
  feed.watch(watcher)
  feed.end()
  commit()
  expect([looks(), ends(), feed.watch(watcher)]).toEqual([1, 1, null])
})

test(`there are at most ${MOST_WATCHERS} at once`, () => {
  const { feed } = openFeed()
  const stops = Array.from({ length: MOST_WATCHERS }, () => feed.watch({ onChange: () => {}, onEnd: () => {} }))
  const one = { onChange: () => {}, onEnd: () => {} }
  expect([stops.includes(null), feed.watch(one)]).toEqual([false, null])
  stops[0]?.()
  expect(feed.watch(one)).not.toBe(null)
})
