import { describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../../src/accounts/first-messages.ts'
import { describeSimulated } from '../../../src/dashboard/overview/answer.ts'
import { describeResults } from '../../../src/deliveries/describe-results.ts'
import type { Recent } from '../../../src/deliveries/simulation/recent.ts'
import type { MessageContent } from '../../../src/messages/messages.ts'

const shipped = FIRST_MESSAGES[0] ?? { name: '', content: {} as MessageContent }
const found = (emailed: number, triggered = emailed, hasMore = false, waiting = 0, unseen = 0): Recent => ({
  result: {
    people: { triggered, emailed, unseen, waiting, heldBack: 0 },
    tooOld: 0,
    hasMore,
    from: 0,
    at: 0,
    lines: [],
  },
  state: 'ready',
})
const sentenceOf = (message: { name: string; content: MessageContent }, recent: Recent, hasViews = true) =>
  describeSimulated({ message, found: recent, hasViews })

describe('before a message is live', () => {
  test.each([
    [58, '58 people left before their results were ready last week. Nobody emailed them.'],
    [1, '1 person left before their results were ready last week. Nobody emailed them.'],
    [12_345, '12,345 people left before their results were ready last week. Nobody emailed them.'],
  ])('%d people', (count, sentence) => {
    expect(sentenceOf(shipped, found(count))).toBe(sentence)
  })

  test.each([
    [
      30,
      15,
      '30 people would have got “Results ready, they left” last week. Nobody emailed them; for 15 of them, no page views had arrived when the email was due.',
    ],
    [
      30,
      1,
      '30 people would have got “Results ready, they left” last week. Nobody emailed them; for 1 of them, no page views had arrived when the email was due.',
    ],
    [
      30,
      30,
      '30 people would have got “Results ready, they left” last week. Nobody emailed them; no page views of theirs had arrived when the email was due.',
    ],
    [
      1,
      1,
      '1 person would have got “Results ready, they left” last week. Nobody emailed them; no page views of theirs had arrived when the email was due.',
    ],
  ])('%d people, %d of them without page views, are not said to have left', (emailed, unseen, sentence) => {
    expect(sentenceOf(shipped, found(emailed, emailed, false, 0, unseen))).toBe(sentence)
  })

  test.each([
    [30, 'none of them have page views.'],
    [1, 'they have no page views.'],
  ])('%d people of an app without any page view', (emailed, end) => {
    expect(sentenceOf(shipped, found(emailed, emailed, false, 0, emailed), false)).toEndWith(` emailed them; ${end}`)
  })

  test('says when nobody left, and when no event arrived', () => {
    expect(sentenceOf(shipped, found(0, 3))).toBe('Nobody left before their results were ready last week.')
    expect(sentenceOf(shipped, found(0))).toBe('Nothing triggered “Results ready, they left” last week.')
  })

  test('says who is still waiting before anybody would have got it', () => {
    const waiting = (content: MessageContent, count: number) =>
      sentenceOf({ name: 'X', content }, found(0, 3, false, count))
    expect(waiting(shipped.content, 1)).toBe(
      "So far, nobody has left before their results were ready. It's too early to tell for 1 person: “X” waits 10 minutes.",
    )
    expect(waiting(shipped.content, 2)).toEndWith("ready. It's too early to tell for 2 people: “X” waits 10 minutes.")
    expect(waiting({ ...shipped.content, wait: { minutes: 60 } }, 2)).toEndWith(
      "ready. It's too early to tell for 2 people: “X” waits 1 hour.",
    )
    expect(waiting({ ...shipped.content, onlyIf: [], wait: { until: '09:00' } }, 1)).toBe(
      "Nobody would have got “X” yet. It's too early to tell for 1 person, who would still be waiting for an email.",
    )
  })

  test('says when only the newest were looked at', () => {
    expect(sentenceOf(shipped, found(4, 9, true))).toStartWith('At least 4 people left')
  })

  test('says while it counts, and when it could not', () => {
    const none = (state: Recent['state']) => sentenceOf(shipped, { result: null, state })
    expect(none('running')).toBe('Counting people who left before their results were ready last week.')
    expect(none('failed')).toBe("Couldn't count people who left before their results were ready last week.")
  })

  test('names any other message', () => {
    const other = { name: 'Welcome', content: { ...shipped.content, trigger: { event: 'signed_up' } } }
    expect(sentenceOf(other, found(2))).toBe('2 people would have got “Welcome” last week. Nobody emailed them.')
    expect(sentenceOf(other, found(0, 1))).toBe('Nobody would have got “Welcome” last week.')
    const always = { name: 'Always', content: { ...shipped.content, onlyIf: [] } }
    expect(sentenceOf(always, found(1))).toStartWith('1 person would have got “Always”')
  })
})

describe('results', () => {
  const compared = { people: 380, extra: { estimate: 24.2, margin: 8.9 } }
  const waitingOf = new Map<number, number>()
  const results = { emailed: 380, cameBack: 131, ofEarlier: 0, compared, alreadySeen: 97, captured: 0, waitingOf }

  test('in one sentence', () => {
    expect(describeResults(results, true)).toBe(
      '380 people emailed, 131 came back, 24 ± 9 more than without; 97 not emailed because they had already opened the result.',
    )
  })

  test('name the people who are compared, if not all are', () => {
    expect(describeResults({ ...results, emailed: 1_100, cameBack: 330, ofEarlier: 0, alreadySeen: 0 }, true)).toBe(
      '1100 people emailed, 330 came back, 24 ± 9 more than without, among the 380 compared.',
    )
  })

  test('without a holdback have no comparison', () => {
    expect(describeResults({ ...results, compared: null }, false)).toBe(
      '380 people emailed, 131 came back; 97 not emailed because they had already opened the result.',
    )
  })

  test('say with a holdback that too few people tell nothing', () => {
    expect(describeResults({ ...results, compared: null, alreadySeen: 0 }, true)).toBe(
      '380 people emailed, 131 came back, too few people to tell whether the emails made a difference.',
    )
  })

  test('say that emails are waiting while nobody was emailed', () => {
    const none = { ...results, emailed: 0, cameBack: 0, ofEarlier: 0, compared: null, alreadySeen: 0 }
    const waiting = {
      ...none,
      waitingOf: new Map([
        [1, 50],
        [2, 5],
      ]),
    }
    expect(describeResults(waiting, false)).toBe('Nobody has been emailed yet: 55 emails are waiting.')
    expect(describeResults({ ...waiting, alreadySeen: 1 }, false)).toBe(
      'Nobody has been emailed yet: 55 emails are waiting; 1 not emailed because they had already opened the result.',
    )
    expect(describeResults({ ...none, waitingOf: new Map([[1, 1]]) }, false)).toBe(
      'Nobody has been emailed yet: 1 email is waiting.',
    )
  })

  test.each([
    [22, 0, 0, '22 emails were captured, none sent.'],
    [1, 0, 0, '1 email was captured, none sent.'],
    [22, 2, 0, '22 emails were captured, none sent; 2 not emailed because they had already opened the result.'],
    [22, 0, 5, '22 emails were captured, none sent; 5 emails are waiting.'],
    [
      1_200,
      1,
      1,
      '1200 emails were captured, none sent; 1 email is waiting; 1 not emailed because they had already opened the result.',
    ],
  ])('say that %d emails were captured, with %d seen and %d waiting', (captured, alreadySeen, waiting, sentence) => {
    const none = { ...results, emailed: 0, cameBack: 0, compared: null, waitingOf: new Map([[1, waiting]]) }
    expect(describeResults({ ...none, captured, alreadySeen }, false)).toBe(sentence)
  })

  test('say that emails were captured beside who came back', () => {
    const none = { ...results, emailed: 0, cameBack: 2, ofEarlier: 2, compared: null, alreadySeen: 0 }
    expect(describeResults({ ...none, captured: 22 }, false)).toBe(
      '22 emails were captured, none sent; 2 came back after earlier emails.',
    )
  })

  test('say if fewer came back', () => {
    const fewer = { ...compared, extra: { estimate: -5.4, margin: 11 } }
    expect(describeResults({ ...results, compared: fewer, alreadySeen: 0 }, true)).toBe(
      '380 people emailed, 131 came back, 5 ± 11 fewer than without.',
    )
  })

  test.each([
    [0, 0, 0, 'Nobody has been emailed yet.'],
    [0, 0, 1, 'Nobody was emailed; 1 not emailed because they had already opened the result.'],
    [0, 2, 0, 'Nobody was emailed, but 2 came back after earlier emails.'],
    [
      0,
      2,
      1,
      'Nobody was emailed, but 2 came back after earlier emails; 1 not emailed because they had already opened the result.',
    ],
    [1, 0, 0, '1 person emailed, nobody came back.'],
    [1, 1, 0, '1 person emailed, 1 came back.'],
    [
      12_000,
      0,
      10_001,
      '12,000 people emailed, nobody came back; 10,001 not emailed because they had already opened the result.',
    ],
  ])('%d emailed, %d back, %d seen', (emailed, cameBack, alreadySeen, sentence) => {
    expect(describeResults({ ...results, emailed, cameBack, alreadySeen, compared: null }, false)).toBe(sentence)
  })

  test.each([
    [5, '8 people emailed, nobody came back; 5 came back after earlier emails.'],
    [2, '8 people emailed, 3 came back; 2 came back after earlier emails.'],
  ])('%d of 5 who came back were emailed before', (ofEarlier, sentence) => {
    const measured = { ...results, emailed: 8, cameBack: 5, ofEarlier, alreadySeen: 0, compared: null }
    expect(describeResults(measured, false)).toBe(sentence)
  })
})
