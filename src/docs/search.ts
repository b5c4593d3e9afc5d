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

const WEIGHTS = { heading: 12, page: 6, body: 1 }

const WORD = /[\p{L}\p{N}]+/gu

/** They say little about what somebody looks for. */
const COMMON = new Set(
  'a an and are at be by can did do does for from get how i if in is it my not of on or so the this to was we what when where which who why will with you your'.split(
    ' ',
  ),
)

const LEAST_CHARACTERS = 4
/** Characters at the end of a word that may be wrong. */
const MOST_WRONG = 3

const wordsOf = (text: string): string[] => text.toLowerCase().match(WORD) ?? []

type Part = keyof typeof WEIGHTS
type Use = { place: number; part: Part; count: number }

export type Search = (query: string) => Found[]

/**
 * A word of a text matches if it begins with a word of the query, or with as much of it as any text has. A section that several pages have is found once.
 * `pause`: awaited after each section.
 */
export async function createSearch(all: readonly Section[], pause: () => Promise<void>): Promise<Search> {
  const sections = [...Map.groupBy(all, ({ heading, body }) => `${heading}\n${body}`).values()].flatMap(
    ([first]) => first ?? [],
  )
  const vocabulary: Vocabulary = new Map()
  const texts: string[] = []
  for (const [place, section] of sections.entries()) {
    countWords(vocabulary, section, place)
    texts.push(wordsOf(`${section.heading} ${section.body}`).join(' '))
    await pause()
  }

  return (query) => {
    const asked = [...new Set(wordsOf(query.slice(0, MOST_QUERY_CHARACTERS)))]
    const telling = asked.filter((word) => !COMMON.has(word))
    const wanted = (telling.length > 0 ? telling : asked).slice(0, MOST_WORDS)
    const words = [...new Set(wanted.map((word) => beginningOf(vocabulary, word)))]
    const scores = sections.map((section, place) => ({ section, place, score: 0, matched: 0 }))
    for (const word of words) {
      for (const [place, score] of scoreWord(vocabulary, word)) {
        const scored = scores[place]
        if (!scored) continue
        scored.score += score
        // one whose end is unknown may be another word
        if (wanted.includes(word)) scored.matched += 1
      }
    }
    const phrase = words.join(' ')
    for (const scored of scores) {
      if (words.length > 1 && texts[scored.place]?.includes(phrase)) scored.score *= 2
    }
    // sections with all words; if there are none, those with most of them
    const most = Math.max(...scores.map(({ matched }) => matched))
    return scores
      .filter(({ matched, score }) => matched === most && score > 0)
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

/** Where and how often each word is. */
type Vocabulary = Map<string, Use[]>

function countWords(vocabulary: Vocabulary, section: Section, place: number): void {
  for (const part of ['heading', 'page', 'body'] as const) {
    for (const [word, found] of Map.groupBy(wordsOf(section[part]), (one) => one)) {
      const uses = vocabulary.get(word) ?? []
      uses.push({ place, part, count: found.length })
      vocabulary.set(word, uses)
    }
  }
}

/** As much of a word as is known, so that its end can be misspelled. */
function beginningOf(vocabulary: Vocabulary, word: string): string {
  const isKnown = (beginning: string): boolean => vocabulary.keys().some((known) => known.startsWith(beginning))
  for (let length = word.length; length >= Math.max(LEAST_CHARACTERS, word.length - MOST_WRONG); length -= 1) {
    const beginning = word.slice(0, length)
    if (isKnown(beginning)) return beginning
  }
  return word
}

/** By place of the section. Further occurrences count less and less. */
function scoreWord(vocabulary: Vocabulary, word: string): Map<number, number> {
  const counts = new Map<number, Record<Part, number>>()
  for (const [known, uses] of vocabulary) {
    if (!known.startsWith(word)) continue
    for (const { place, part, count } of uses) {
      const all = counts.get(place) ?? { heading: 0, page: 0, body: 0 }
      all[part] += count
      counts.set(place, all)
    }
  }
  const weigh = (count: number, part: Part): number => WEIGHTS[part] * Math.log2(1 + count)
  return new Map(
    Array.from(counts, ([place, { heading, page, body }]) => [
      place,
      weigh(heading, 'heading') + weigh(page, 'page') + weigh(body, 'body'),
    ]),
  )
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
