/** Finds what JSON.parse hides: duplicate keys, and numbers that JavaScript can't hold exactly. */

export type KeyPath = readonly (string | number)[]

/** The tree down to the inexact numbers, which are empty maps. */
export type LostNumbers = ReadonlyMap<string | number, LostNumbers>

/** From here on integers may have been rounded: 2^53 + 1 parses as 2^53. */
export const WHOLE_NUMBERS_END = 2 ** 53

const LOST_NUMBER: LostNumbers = new Map()
const PATH_STEPS = 4
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const [QUOTE, COMMA, MINUS, NINE, COLON, BACKSLASH] = [34, 44, 45, 57, 58, 92]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125]

/** `keys` is null for arrays. `step` is the current key or index. */
type Level = { keys: Set<string> | null; step: string | number; lost?: Map<string | number, LostNumbers> }

/** Walks a valid JSON text without recursion. Of a duplicate key the last value counts. */
export function scanJson(text: string): { repeated: KeyPath[]; lost: LostNumbers } {
  const repeated: KeyPath[] = []
  const root: Level = { keys: null, step: '' }
  const levels = [root]
  for (let index = 0; index < text.length; index += 1) {
    const level = levels.at(-1) ?? root
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      const end = findStringEnd(text, index)
      if (level.keys && isKey(text, end) && !readKey(level, level.keys, text.slice(index, end + 1)))
        repeated.push(levels.slice(1, 1 + PATH_STEPS).map(({ step }) => step))
      index = end
    } else if (code === OPEN_OBJECT) levels.push({ keys: new Set(), step: '' })
    else if (code === OPEN_LIST) levels.push({ keys: null, step: 0 })
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      levels.pop()
      if (level.lost?.size) addLost(levels.at(-1) ?? root, level.lost)
    } else if (code === COMMA) {
      if (typeof level.step === 'number') level.step += 1
    } else if (code === MINUS || isDigit(code)) {
      const source = readNumber(text, index)
      if (!isExact(source)) addLost(level, LOST_NUMBER)
      index += source.length - 1
    }
  }
  return { repeated, lost: root.lost?.get('') ?? LOST_NUMBER }
}

/** `from`, `to`: where its brackets are. */
type CutList = { items: string[]; from: number; to: number }

/** The items of the list under `name` in the text of a valid object, as they are written. null: no list. */
export function cutList(text: string, name: string): CutList | null {
  let list: CutList | null = null
  let [depth, isNamed, start] = [0, false, -1]
  const add = (to: number): void => {
    const item = text.slice(start, to)
    if (list && (list.items.length > 0 || item.trim() !== '')) list.items.push(item)
    start = to + 1
  }
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      const end = findStringEnd(text, index)
      if (depth === 1 && isKey(text, end)) {
        isNamed = JSON.parse(text.slice(index, end + 1)) === name
        // of a duplicate key the last value counts
        if (isNamed) list = null
      }
      index = end
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      depth += 1
      if (depth !== 2 || !isNamed || code !== OPEN_LIST) continue
      list = { items: [], from: index, to: -1 }
      start = index + 1
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      depth -= 1
      if (depth !== 1 || !list || list.to >= 0) continue
      add(index)
      list.to = index + 1
    } else if (code === COMMA && depth === 2 && list && list.to < 0) add(index)
  }
  return list
}

/** When more than were parsed, there are duplicates. */
export function countWrittenKeys(text: string): number {
  let keys = 0
  for (let open = text.indexOf('"'); open >= 0;) {
    const end = findStringEnd(text, open)
    if (isKey(text, end)) keys += 1
    open = text.indexOf('"', end + 1)
  }
  return keys
}

function addLost(level: Level, lost: LostNumbers): void {
  level.lost ??= new Map()
  level.lost.set(level.step, lost)
}

function readKey(level: Level, keys: Set<string>, source: string): boolean {
  const key = JSON.parse(source) as string
  level.step = key
  level.lost?.delete(key)
  return keys.size < keys.add(key).size
}

/** A string before a colon is a key; `end` is its closing quote. */
function isKey(text: string, end: number): boolean {
  let next = end + 1
  while (isSpace(text.charCodeAt(next))) next += 1
  return text.charCodeAt(next) === COLON
}

function findStringEnd(text: string, open: number): number {
  let end = text.indexOf('"', open + 1)
  while (text.charCodeAt(end - 1) === BACKSLASH && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end
}

function isEscaped(text: string, quote: number): boolean {
  let before = quote - 1
  while (text.charCodeAt(before) === BACKSLASH) before -= 1
  return (quote - before) % 2 === 0
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

const isDigit = (code: number): boolean => code >= 48 && code <= NINE

function readNumber(text: string, index: number): string {
  NUMBER.lastIndex = index
  return NUMBER.exec(text)?.[0] ?? '-'
}

const MOST_DIGITS = 100

/** A fraction below 2^53 is always approximate. */
function isExact(source: string): boolean {
  const value = Number(source)
  if (Math.abs(value) < WHOLE_NUMBERS_END) return true
  if (!Number.isFinite(value)) return false
  if (!/[.eE]/.test(source)) return source.replace('-', '') === String(WHOLE_NUMBERS_END)
  // a fraction means an approximate number
  if (/\.\d*[1-9]\d*$/.test(source)) return true
  // an exponent hides digits: 1e300 is exact as written, 9007199254740993e0 is not
  const written = digitsOf(source)
  return written.length <= MOST_DIGITS && digitsOf(value.toPrecision(written.length)) === written
}

const digitsOf = (text: string): string => (/^[^eE]*/.exec(text)?.[0] ?? '').replaceAll(/\D/g, '').replace(/^0+/, '')
