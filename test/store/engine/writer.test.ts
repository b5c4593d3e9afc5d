import { beforeEach, describe, expect, test } from 'bun:test'
import type { Job, Outcome } from '../../../src/store/writes.ts'
import { createWriter } from '../../../src/store/engine/writer.ts'
import type { RecordedEvent } from '../../../src/store/types.ts'
import { eventWrite } from '../samples.ts'

type Sent = { jobs: Job[]; answer: (outcomes: Outcome[]) => void; fail: () => void }

let now = 0
let sent: Sent[] = []
let commits: number[] = []
let answered = 0

function openWriter(gatherMs = 0) {
  return createWriter({
    gatherMs,
    commit: (jobs) =>
      new Promise((resolve, reject) => sent.push({ jobs, answer: resolve, fail: () => reject(new Error('broken')) })),
    monotonicMs: () => now,
    onCommit: ({ rows }) => commits.push(rows),
  })
}

beforeEach(() => {
  now = 0
  answered = 0
  sent = []
  commits = []
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const outcome = (number: number): RecordedEvent => ({ contactId: number, eventId: number, created: true })
const answerAll = async (): Promise<void> => {
  sent.at(-1)?.answer(sent.at(-1)?.jobs.map((_, index) => outcome(index)) ?? [])
  await turn()
}
/** Answers the batch that was sent first of those not answered yet. */
const answerNext = async (): Promise<void> => {
  const batch = sent[answered]
  answered += 1
  batch?.answer(batch.jobs.map((_, index) => outcome(index)))
  await turn()
}
const emails = (batch: Sent | undefined): string[] =>
  batch?.jobs.map((job) => (job.input as { email: string }).email) ?? []

describe('createWriter', () => {
  const submit = (writer: ReturnType<typeof openWriter>, email = 'a@example.com', appId = 1) =>
    writer.submit('recordEvent', eventWrite({ email, appId }))

  test('keeps the order of writes of all kinds', async () => {
    const writer = openWriter()
    void submit(writer, 'first@example.com')
    await turn()
    const sender = { apps: [], newPeoplePerMonth: null, limits: [] }
    for (const email of ['z@example.com', 'a@example.com']) {
      void submit(writer, email)
      void writer.submit('recordEventText', { text: `text after ${email}`, sender, via: 'api', at: 0 })
    }
    await answerAll()
    const order = sent[1]?.jobs.map(({ input }) => ('text' in input ? input.text : (input as { email: string }).email))
    expect(order).toEqual(['z@example.com', 'text after z@example.com', 'a@example.com', 'text after a@example.com'])
  })

  describe('where groups are gathered', () => {
    const submitMany = (writer: ReturnType<typeof openWriter>, count: number): void => {
      for (let index = 0; index < count; index += 1) void submit(writer)
    }

    test('what was answered may come back before the next group is sent', async () => {
      const writer = openWriter(60_000)
      submitMany(writer, 10)
      await turn()
      submitMany(writer, 3)
      await answerNext()
      expect(sent.map(({ jobs }) => jobs.length)).toEqual([10])
      submitMany(writer, 9)
      expect(sent.map(({ jobs }) => jobs.length)).toEqual([10])
      submitMany(writer, 1)
      expect(sent.map(({ jobs }) => jobs.length)).toEqual([10, 13])
    })

    test('the next group is sent after a moment with whatever came', async () => {
      const writer = openWriter(1)
      submitMany(writer, 10)
      await turn()
      submitMany(writer, 3)
      await answerNext()
      while (sent.length === 1) await turn()
      expect(sent.map(({ jobs }) => jobs.length)).toEqual([10, 3])
    })

    test('more rows than a group that is sent early has wait for nothing', async () => {
      const writer = openWriter(60_000)
      submitMany(writer, 20)
      await turn()
      submitMany(writer, 13)
      await answerNext()
      expect(sent.map(({ jobs }) => jobs.length)).toEqual([20, 13])
    })

    test('after a small group, the next one is sent at once', async () => {
      const writer = openWriter(60_000)
      submitMany(writer, 7)
      await turn()
      submitMany(writer, 1)
      await answerNext()
      expect(sent.map(({ jobs }) => jobs.length)).toEqual([7, 1])
    })

    test('nothing waits where nothing is waiting', async () => {
      const writer = openWriter(1)
      submitMany(writer, 10)
      await turn()
      await answerNext()
      await writer.stop()
      expect(sent).toHaveLength(1)
    })
  })

  test('reports written rows, and no commit if everything was refused', async () => {
    const writer = openWriter()
    const sender = { apps: [], newPeoplePerMonth: null, limits: [] }
    const wrong: Outcome = { refused: { refusal: 'invalid_json' } }
    for (const outcomes of [[wrong, outcome(1)], [wrong]]) {
      for (const _ of outcomes) void writer.submit('recordEventText', { text: '', sender, via: 'api', at: 0 })
      await turn()
      sent.at(-1)?.answer(outcomes)
      await turn()
    }
    expect([sent.length, commits]).toEqual([2, [1]])
  })

  test('collects up to 256 writes during a commit', async () => {
    const writer = openWriter()
    const first = submit(writer, 'z@example.com')
    await turn()
    const later = Array.from({ length: 300 }, (_, index) =>
      submit(writer, `p${299 - index}@example.com`, 2 - (index % 2)),
    )
    await turn()
    // three batches are sent ahead, each as large as what is on its way; the rest waits for the first outcome
    expect(sent.map((batch) => batch.jobs.length)).toEqual([1, 32, 33, 66])
    await answerNext()
    expect(await first).toEqual(outcome(0))
    expect(sent.map((batch) => batch.jobs.length)).toEqual([1, 32, 33, 66, 169])
    const order = sent.slice(1).flatMap((batch) => emails(batch))
    expect(order).toEqual(Array.from({ length: 300 }, (_, index) => `p${299 - index}@example.com`))
    for (let batch = 0; batch < 4; batch += 1) await answerNext()
    expect((await Promise.all(later)).every((one) => 'created' in one)).toBe(true)
    expect([commits, writer.waiting()]).toEqual([[1, 32, 33, 66, 169], 0])
  })

  test('a commit group has at most 256 writes, also when more wait', async () => {
    const writer = openWriter()
    const writes = Array.from({ length: 600 }, (_, index) => submit(writer, `p${index}@example.com`))
    await turn()
    while (writer.waiting() > 0) await answerNext()
    expect((await Promise.all(writes)).every((one) => 'created' in one)).toBe(true)
    expect(commits).toEqual([32, 32, 64, 128, 256, 88])
  })

  test('each write gets its own outcome, and writes of a person keep their order', async () => {
    const writer = openWriter()
    const writes = ['b', 'a', 'c', 'a'].map((name) => submit(writer, name))
    await turn()
    expect(emails(sent[0])).toEqual(['b', 'a', 'c', 'a'])
    await answerAll()
    expect(await Promise.all(writes)).toEqual([0, 1, 2, 3].map(outcome))
  })

  test('refuses writes when the oldest has waited for over a second', async () => {
    const writer = openWriter()
    void submit(writer)
    await turn()
    const waits = submit(writer)
    now = 1_000
    const alsoWaits = submit(writer)
    now = 1_001
    expect(await submit(writer)).toEqual({ refusal: 'unavailable' })
    await answerAll()
    await answerAll()
    expect([await waits, await alsoWaits]).toEqual([outcome(0), outcome(1)])
    expect(writer.waiting()).toBe(0)
  })

  test('after 8 seconds, waiting writes are refused and pending ones unconfirmed', async () => {
    const writer = openWriter()
    const onItsWay = submit(writer)
    await turn()
    const waits = submit(writer)
    now = 8_000
    writer.answerOverdue()
    expect(writer.waiting()).toBe(2)
    now = 8_001
    writer.answerOverdue()
    expect([await onItsWay, await waits]).toEqual([{ refusal: 'commit_unconfirmed' }, { refusal: 'unavailable' }])
    expect(writer.waiting()).toBe(1)
    await answerAll()
    expect([sent.length, writer.waiting()]).toEqual([1, 0])
  })

  test('a broken commit leaves its writes unconfirmed, and the next one is tried', async () => {
    const writer = openWriter()
    const first = submit(writer)
    await turn()
    const second = submit(writer)
    sent[0]?.fail()
    await turn()
    expect(await first).toEqual({ refusal: 'commit_unconfirmed' })
    await answerAll()
    expect(await second).toEqual(outcome(0))
    expect(writer.waiting()).toBe(0)
  })

  test('closing waits for accepted writes and accepts no more', async () => {
    const writer = openWriter()
    const first = submit(writer)
    await turn()
    const second = submit(writer)
    let isStopped = false
    const stopped = writer.stop().then(() => (isStopped = true))
    expect(await submit(writer)).toEqual({ refusal: 'unavailable' })
    await answerAll()
    expect([await first, isStopped]).toEqual([outcome(0), false])
    await answerAll()
    await stopped
    expect(await second).toEqual(outcome(0))
    await writer.stop()
  })
})
