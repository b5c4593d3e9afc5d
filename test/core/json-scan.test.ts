import { expect, test } from 'bun:test'
import { type LostNumbers, scanJson } from '../../src/core/json-scan.ts'
import { createRandom } from '../random.ts'

const EXACT = [
  '0',
  '-1',
  '0.5',
  '-3e-7',
  '1e300',
  '9007199254740992',
  '-9007199254740992',
  '9007199254740994.0',
] as const
const LOST = ['9007199254740993', '-9007199254740993.0', '9007199254740994', '1e999', '9.007199254740993E15'] as const

const pathsOf = (lost: LostNumbers): string[] =>
  Array.from(lost, ([step, inner]) =>
    inner.size === 0 ? [`/${step}`] : pathsOf(inner).map((path) => `/${step}${path}`),
  ).flat()

function pathsIn(value: unknown): string[] {
  if (value === 'lost') return ['']
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([step, inner]) => pathsIn(inner).map((path) => `/${step}${path}`))
}

test.each<[string, string[]]>([
  ['9007199254740993', []],
  ['[1,[2,9007199254740993],"9007199254740993"]', ['/1/1']],
  ['{"a":{"b":[{},9007199254740993]},"c":-9007199254740993}', ['/a/b/1', '/c']],
  ['{"a":[9007199254740993],"a":[1]}', []],
  ['{"a":{"b":9007199254740993,"b":1},"c":0}', []],
])('%s', (text, paths) => expect(pathsOf(scanJson(text).lost)).toEqual(paths))

test('finds inexact numbers in any JSON, except replaced ones', () => {
  const { below, pick } = createRandom(3)
  const space = () => pick(['', '', ' ', '\n', '\t'])
  let found = 0
  const write = (depth: number): string => {
    const kind = depth === 0 ? below(4) : below(9)
    if (kind < 2) return pick(EXACT)
    if (kind === 2) return pick(LOST)
    if (kind === 3) return pick(['null', 'true', '"9007199254740993"', '"\\"[{,"', '"\\\\"'])
    const inner = Array.from({ length: below(4) }, () => space() + write(depth - 1) + space())
    if (kind < 6) return `[${inner.join()}]`
    return `{${inner.map((value) => `${JSON.stringify(pick(['a', 'b', '0', ',', '__proto__']))}${space()}:${value}`).join()}}`
  }
  const mark = (_key: string, value: unknown, context?: { source?: string }): unknown =>
    (LOST as readonly string[]).includes(context?.source ?? '') ? 'lost' : value
  for (let round = 0; round < 5_000; round++) {
    const text = `[${write(4)}]`
    const paths = pathsOf(scanJson(text).lost)
    expect([text, paths.toSorted()]).toEqual([text, pathsIn(JSON.parse(text, mark)).toSorted()])
    found += paths.length
  }
  expect(found).toBeGreaterThan(1_000)
})
