import { describe, expect, test } from 'bun:test'
import { createFeed, MOST_WATCHERS, type WatchEnd, type Watcher } from '../../src/events/feed.ts'
import { comesTrue } from '../waiting.ts'

/** What a store tells of its commits and of those of others. */
function createNews({ isShared = false } = {}) {
  const commits: ((commit: { rows: number; ms: number }) => void)[] = []
  const foreign: (() => void)[] = []
  return {
    store: {
      isShared,
      onCommit: (listener: (commit: { rows: number; ms: number }) => void) => void commits.push(listener),
      onForeignWrite: (listener: () => void) => void foreign.push(listener),
    },
    commit: () => commits.forEach((listener) => listener({ rows: 1, ms: 1 })),
    foreignWrite: () => foreign.forEach((listener) => listener()),
  }
}

const ADA = { memberId: 'mem_ada', accountId: 'acc_1' }

function openFeed({ isShared = false } = {}) {
  const news = createNews({ isShared })
  const feed = createFeed(news)
  let looks = 0
  let ends = 0
  const watcher = { ...ADA, onChange: () => void (looks += 1), onEnd: () => void (ends += 1) }
  return { ...news, feed, watcher, looks: () => looks, ends: () => ends }
}

const REST_MS = 250

test('a watcher checks at its start, at commits, at foreign writes and when notified', async () => {
  const { feed, watcher, looks, commit, foreignWrite } = openFeed()
  commit()
  feed.watch(watcher)
  expect(looks()).toBe(1)
  for (const [index, change] of [commit, foreignWrite, feed.notify].entries()) {
    await Bun.sleep(REST_MS + 50)
    change()
    expect(looks()).toBe(index + 2)
  }
})

test('where other instances commit, a watcher checks every second', async () => {
  const { feed } = openFeed({ isShared: true })
  const lookedAgain = Promise.withResolvers<void>()
  let looks = 0
  feed.watch({ ...ADA, onChange: () => ((looks += 1) === 2 ? lookedAgain.resolve() : undefined), onEnd: () => {} })
  await lookedAgain.promise
  feed.end()
})

test('many changes cause one check after a pause, never two at once', async () => {
  const { feed, commit } = openFeed()
  const running = Promise.withResolvers<void>()
  let looks = 0
  const onChange = () => ((looks += 1), running.promise)
  feed.watch({ ...ADA, onChange, onEnd: () => {} })
  for (let i = 0; i < 1_000; i++) commit()
  await Bun.sleep(2 * REST_MS)
  expect(looks).toBe(1)
  running.resolve()
  await Bun.sleep(2 * REST_MS)
  expect(looks).toBe(2)
})

test('a watcher checks again when it asked to, without changes', async () => {
  const { feed } = openFeed()
  let looks = 0
  feed.watch({ ...ADA, onChange: () => ((looks += 1) < 3 ? 10 : undefined), onEnd: () => {} })
  expect(await comesTrue(() => looks === 3)).toBe(true)
  await Bun.sleep(2 * REST_MS)
  expect(looks).toBe(3)
})

test('a watcher may ask for more time between checks', async () => {
  const { feed, watcher, looks, commit } = openFeed()
  const [startedAt, restMs] = [performance.now(), 4 * REST_MS]
  feed.watch({ ...watcher, restMs })
  for (let i = 0; i < 5; i++) commit()
  expect(await comesTrue(() => looks() > 1)).toBe(true)
  expect(performance.now() - startedAt).toBeGreaterThan(restMs - 5)
  await Bun.sleep(REST_MS)
  expect(looks()).toBe(2)
})

test('a watcher that left is not notified', async () => {
  const { feed, watcher, looks, commit } = openFeed()
  const stop = feed.watch(watcher)
  commit()
  stop?.()
  await Bun.sleep(2 * REST_MS)
  commit()
  expect(looks()).toBe(1)
})

test('all end when the service stops, and none starts after', () => {
  const { feed, watcher, looks, ends, commit } = openFeed()
  feed.watch(watcher)
  feed.end()
  commit()
  expect([looks(), ends(), feed.watch(watcher)]).toEqual([1, 1, null])
})

describe('at a limit the oldest watch ends, with the reason', () => {
  /** Watches that note how they ended. */
  const open = () => {
    const { feed } = openFeed()
    const ended: [string, WatchEnd][] = []
    const add = (name: string, memberId: string, accountId: string) => {
      const watcher: Watcher = {
        memberId,
        accountId,
        onChange: () => {},
        onEnd: (reason) => ended.push([name, reason]),
      }
      return feed.watch(watcher)
    }
    return { ended, add, feed }
  }
  const { member, account, all } = MOST_WATCHERS

  test('of a member, in whichever accounts', () => {
    const { ended, add } = open()
    add('of another member', 'mem_eve', 'acc_1')
    for (let i = 0; i < member; i++) add(`ada ${i}`, 'mem_ada', `acc_${i}`)
    expect(ended).toEqual([])
    expect(add('newest', 'mem_ada', 'acc_1')).not.toBeNull()
    expect(ended).toEqual([['ada 0', 'replaced']])
  })

  test('of an account, in which one member has no more than the limit of a member', () => {
    const { ended, add } = open()
    add('of another account', 'mem_eve', 'acc_2')
    for (let i = 0; i < account; i++) add(`member ${i}`, `mem_${i}`, 'acc_1')
    expect(ended).toEqual([])
    add('newest', 'mem_new', 'acc_1')
    expect(ended).toEqual([['member 0', 'replaced']])
  })

  test('in total, in the account with the most, so that one viewer blocks no one', () => {
    const { ended, add } = open()
    add('lone', 'mem_lone', 'acc_lone')
    for (let i = 1; i < all; i++) add(`watch ${i}`, `mem_${i}`, `acc_${Math.floor(i / account)}`)
    expect(ended).toEqual([])
    for (let i = 0; i < 3 * member; i++) expect(add(`viewer ${i}`, 'mem_viewer', 'acc_viewer')).not.toBeNull()
    expect(ended.some(([name]) => name === 'lone')).toBe(false)
    expect(ended[0]).toEqual([`watch ${account}`, 'replaced'])
    // from its own limit on, the viewer ends nobody's watches but their own
    expect(ended.filter(([name]) => name.startsWith('watch'))).toHaveLength(member)
  })

  test('an ended watch is counted once', () => {
    const { ended, add, feed } = open()
    const leave = add('first', 'mem_ada', 'acc_1')
    for (let i = 0; i < member; i++) add(`ada ${i}`, 'mem_ada', 'acc_1')
    leave?.()
    feed.end()
    expect(ended.filter(([, reason]) => reason === 'stopped')).toHaveLength(member)
  })
})

test('a check that fails after the watcher has left is no fault: the store may be closed by then', async () => {
  const { feed, watcher, ends } = openFeed()
  const reading = Promise.withResolvers<void>()
  const stop = feed.watch({ ...watcher, onChange: () => reading.promise })
  stop?.()
  reading.reject(new Error('closed'))
  // an error that nobody catches would fail this test
  await Bun.sleep(1)
  expect(ends()).toBe(0)
})
