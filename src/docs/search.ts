/** Finds sections of the documentation by their words. */

/** `isMinor`: below all others. */
export type Section = { path: string; page: string; heading: string; body: string; isMinor?: boolean }

/** `isMatch` pieces are shown highlighted. */
export type Piece = { text: string; isMatch: boolean }

export type Found = { path: string; page: string; heading: Piece[]; excerpt: Piece[] }

const MOST_FOUND = 20
const MOST_WORDS = 8
const MOST_QUERY_CHARACTERS = 100
const EXCERPT_CHARACTERS = 200

/** Added to the score of a word, which is up to 2.2 for its uses in the text. */
const WEIGHTS = { heading: 3, page: 2 }
/** Parameters of BM25: how soon further uses stop counting, and how much less a use in a long section counts. */
const [SATURATION, LENGTH_WEIGHT] = [1.2, 0.5]
/** A section is listed only if its share exceeds this fraction of the best one's. */
const LEAST_SHARE = 0.5

const WORD = /[\p{L}\p{N}]+/gu

/** They say little about what somebody looks for. */
const COMMON = new Set(
  'a an and are at be by can did do does for from get how i if in is it my not of on or so the this to was we what when where which who will with you your'.split(
    ' ',
  ),
)

const wordsOf = (text: string): string[] => text.toLowerCase().match(WORD) ?? []

/** After at least four letters. */
const ENDING = /(?<=.{4})(?:ing|ed|s)$/

export type Search = (query: string) => Found[]

/**
 * A word of the query, without `ing`, `ed` or `s`, matches all words that begin with it. If there are none, the nearest
 * spellings match.
 * A section that several pages have is found once. `pause`: awaited after each section.
 */
export async function createSearch(all: readonly Section[], pause: () => Promise<void>): Promise<Search> {
  const sections = [...Map.groupBy(all, ({ heading, body }) => `${heading}\n${body}`).values()].flatMap(
    ([first]) => first ?? [],
  )
  const vocabulary: Vocabulary = new Map()
  const lengths: number[] = []
  for (const [place, section] of sections.entries()) {
    lengths.push(addWords(vocabulary, section, place))
    await pause()
  }
  const averageLength = lengths.reduce((sum, length) => sum + length, 0) / lengths.length

  return (query) => {
    const asked = [...new Set(wordsOf(query.slice(0, MOST_QUERY_CHARACTERS)))]
    const telling = asked.filter((word) => !COMMON.has(word))
    const wanted = (telling.length > 0 ? telling : asked).slice(0, MOST_WORDS)
    const terms = wanted.map((word) => findTerm(vocabulary, word, sections.length)).filter(({ uses }) => uses.size > 0)
    const words = terms.flatMap(({ beginnings }) => beginnings)
    const scores = sections.map((section, place) => {
      const relativeLength = (lengths[place] ?? 0) / averageLength
      return { section, ...scoreSection(terms, place, relativeLength) }
    })
    const most = Math.max(...scores.map(({ share }) => share))
    return scores
      .filter(({ share }) => share > most * LEAST_SHARE)
      .toSorted((a, b) => Number(a.section.isMinor ?? false) - Number(b.section.isMinor ?? false) || b.score - a.score)
      .slice(0, MOST_FOUND)
      .map(({ section: { path, page, heading, body } }) => ({
        path,
        page,
        heading: highlight(heading || page, words),
        excerpt: highlight(excerptOf(body, words), words),
      }))
  }
}

/** Of a word in a section. `places`: in its heading and text. */
type Use = { isInHeading: boolean; isInPage: boolean; places: number[] }
/** The uses of each word, by section. */
type Vocabulary = Map<string, Map<number, Use>>

/** Returns the number of words. */
function addWords(vocabulary: Vocabulary, section: Section, place: number): number {
  const useOf = (word: string): Use => {
    const uses = vocabulary.get(word) ?? new Map<number, Use>()
    const use = uses.get(place) ?? { isInHeading: false, isInPage: false, places: [] }
    vocabulary.set(word, uses.set(place, use))
    return use
  }
  const heading = wordsOf(section.heading)
  const text = [...heading, ...wordsOf(section.body)]
  for (const word of wordsOf(section.page)) useOf(word).isInPage = true
  for (const word of heading) useOf(word).isInHeading = true
  for (const [at, word] of text.entries()) useOf(word).places.push(at)
  return text.length
}

/** A word of the query. `beginnings`: of the words that match it. */
type Term = { beginnings: string[]; rarity: number; uses: Map<number, Use> }

function findTerm(vocabulary: Vocabulary, word: string, sections: number): Term {
  const beginning = word.replace(ENDING, '')
  const isKnown = vocabulary.keys().some((known) => known.startsWith(beginning))
  const beginnings = isKnown ? [beginning] : nearestWords(vocabulary, word)
  const uses = new Map<number, Use>()
  for (const [known, found] of vocabulary) {
    if (!beginnings.some((one) => known.startsWith(one))) continue
    for (const [place, use] of found) {
      const all = uses.get(place) ?? { isInHeading: false, isInPage: false, places: [] }
      all.isInHeading ||= use.isInHeading
      all.isInPage ||= use.isInPage
      all.places.push(...use.places)
      uses.set(place, all)
    }
  }
  // a corrected spelling counts half
  return { beginnings, rarity: Math.log2(1 + sections / uses.size) * (isKnown ? 1 : 0.5), uses }
}

/** Known words within one edit of a misspelled word, or two if it is long. */
function nearestWords(vocabulary: Vocabulary, word: string): string[] {
  const most = word.length >= 9 ? 2 : word.length >= 5 ? 1 : 0
  for (let edits = 1; edits <= most; edits += 1) {
    const nearest = vocabulary
      .keys()
      .filter((known) => isNear(word, known, edits))
      .toArray()
    if (nearest.length > 0) return nearest
  }
  return []
}

/** Edits: missing, extra, wrong and swapped letters. */
function isNear(a: string, b: string, edits: number): boolean {
  if (Math.abs(a.length - b.length) > edits) return false
  let same = 0
  while (same < a.length && a[same] === b[same]) same += 1
  const [x, y] = [a.slice(same), b.slice(same)]
  if (x === y) return true
  if (edits === 0) return false
  return (
    isNear(x.slice(1), y, edits - 1) ||
    isNear(x, y.slice(1), edits - 1) ||
    isNear(x.slice(1), y.slice(1), edits - 1) ||
    (x[0] === y[1] && x[1] === y[0] && isNear(x.slice(2), y.slice(2), edits - 1))
  )
}

/** `share`: the rarity of the query's words that the section has. Its cube ranks sections with more of them higher. */
function scoreSection(terms: Term[], place: number, relativeLength: number): { score: number; share: number } {
  const found = terms.flatMap(({ rarity, uses }) => {
    const use = uses.get(place)
    return use ? { rarity, ...use } : []
  })
  const share = found.reduce((sum, { rarity }) => sum + rarity, 0)
  const words = found.reduce((sum, { rarity, isInHeading, isInPage, places: { length: count } }) => {
    const text =
      (count * (SATURATION + 1)) / (count + SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * relativeLength))
    const titles = (isInHeading ? WEIGHTS.heading : 0) + (isInPage ? WEIGHTS.page : 0)
    return sum + rarity * (text + titles)
  }, 0)
  return { share, score: words * share ** 3 * (1 + nearness(found.map(({ places }) => places))) }
}

/** 1 if the words are adjacent; less, the longer the shortest passage that has all of them. */
function nearness(all: number[][]): number {
  const words = all.filter(({ length }) => length > 0)
  if (words.length < 2) return 0
  const uses = words.flatMap((places, word) => places.map((place) => ({ place, word })))
  const last = new Map<number, number>()
  let shortest = Infinity
  for (const { place, word } of uses.toSorted((a, b) => a.place - b.place)) {
    last.set(word, place)
    if (last.size === words.length) shortest = Math.min(shortest, place - Math.min(...last.values()) + 1)
  }
  return words.length / Math.max(words.length, shortest)
}

/** Places of the words that match. */
const matchesIn = (text: string, words: string[]): { index: number; word: string }[] =>
  Array.from(text.matchAll(WORD), ({ index, 0: word }) => ({ index, word })).filter(({ word }) =>
    words.some((one) => word.toLowerCase().startsWith(one)),
  )

function highlight(text: string, words: string[]): Piece[] {
  const pieces: Piece[] = []
  let end = 0
  for (const { index, word } of matchesIn(text, words)) {
    if (index > end) pieces.push({ text: text.slice(end, index), isMatch: false })
    pieces.push({ text: word, isMatch: true })
    end = index + word.length
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isMatch: false })
  return pieces
}

/** The part of a text around the first match, in whole words. */
function excerptOf(text: string, words: string[]): string {
  const first = matchesIn(text, words)[0]?.index ?? 0
  const from = first < EXCERPT_CHARACTERS / 2 ? 0 : text.indexOf(' ', first - EXCERPT_CHARACTERS / 3) + 1
  const cut = text.slice(from, from + EXCERPT_CHARACTERS)
  const isEnd = from + EXCERPT_CHARACTERS >= text.length
  const whole = isEnd ? cut : `${cut.slice(0, cut.lastIndexOf(' '))} …`
  return from > 0 ? `… ${whole}` : whole
}
