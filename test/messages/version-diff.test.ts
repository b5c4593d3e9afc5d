import { expect, test } from 'bun:test'
import { diffLines } from '../../src/messages/message-versions.ts'
import { BEST_OF_FIVE } from '../waiting.ts'

const SIGNS = { same: ' ', added: '+', removed: '-', moved: '↕' }
const diff = (before: string, after: string): string =>
  diffLines([...before], [...after])
    .map(({ kind, text }) => `${SIGNS[kind]}${text}`)
    .join('')

test.each([
  ['', '', ''],
  ['abc', 'abc', ' a b c'],
  ['', 'ab', '+a+b'],
  ['ab', '', '-a-b'],
  ['abc', 'axc', ' a-b+x c'],
  ['abc', 'ac', ' a-b c'],
  ['ac', 'abc', ' a+b c'],
  ['abab', 'ab', ' a b-a-b'],
  ['aXbYc', 'aZbWc', ' a-X+Z b-Y+W c'],
])('from %p to %p', (before, after, expected) => expect(diff(before, after)).toBe(expected))

test('contains both texts, whatever they are', () => {
  for (let seed = 1; seed < 200; seed++) {
    const text = (salt: number) =>
      Array.from({ length: (seed * salt) % 12 }, (_, index) => String((index * seed * salt) % 4))
    const [before, after] = [text(7), text(11)]
    const lines = diffLines(before, after)
    const without = (kind: string) => lines.filter((line) => line.kind !== kind).map((line) => line.text)
    expect([without('added'), without('removed')]).toEqual([before, after])
  }
})

test(
  'two long, different texts are compared quickly',
  () => {
    const many = (name: string) => Array.from({ length: 20_000 }, (_, index) => `${name} ${index}`)
    // CPU time, which other tests use too
    const before = process.cpuUsage()
    expect(diffLines(many('a'), many('b'))).toHaveLength(40_000)
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000)
  },
  BEST_OF_FIVE,
)
