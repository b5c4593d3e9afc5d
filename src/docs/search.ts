/** Finds sections of the documentation by their words. */

export type Section = { path: string; page: string; heading: string; body: string }

/** `isMatch` pieces are shown highlighted. */
export type Piece = { text: string; isMatch: boolean }

export type Found = { path: string; page: string; heading: Piece[]; excerpt: Piece[] }

const MOST_FOUND = 20
const MOST_WORDS = 8
const MOST_QUERY_CHARACTERS = 100
const EXCERPT_CHARACTERS = 200

const WEIGHTS = { heading: 12, page: 6, body: 1 }

const WORD = /[\p{L}\p{N}]+/gu

const wordsOf = (text: string): string[] => text.toLowerCase().match(WORD) ?? []

type Indexed = { section: Section; heading: string[]; page: string[]; body: string[] }

/** A word of a text matches if it begins with a word of the query. */
export function createSearch(sections: readonly Section[]): (query: string) => Found[] {
  const indexed: Indexed[] = sections.map((section) => ({
    section,
    heading: wordsOf(section.heading),
    page: wordsOf(section.page),
    body: wordsOf(section.body),
  }))

  return (query) => {
    const words = [...new Set(wordsOf(query.slice(0, MOST_QUERY_CHARACTERS)))].slice(0, MOST_WORDS)
    const scored = indexed.map((one) => ({ section: one.section, ...scoreOf(one, words) }))
    // sections with all words; if there are none, those with most of them
    const most = Math.max(1, ...scored.map(({ matched }) => matched))
    return scored
      .filter(({ matched }) => matched === most)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, MOST_FOUND)
      .map(({ section: { path, page, heading, body } }) => ({
        path,
        page,
        heading: highlight(heading || page, words),
        excerpt: highlight(excerptOf(body, words), words),
      }))
  }
}

function scoreOf(texts: Indexed, words: string[]): { score: number; matched: number } {
  let [score, matched] = [0, 0]
  for (const word of words) {
    const own =
      weigh(texts.heading, word, WEIGHTS.heading) +
      weigh(texts.page, word, WEIGHTS.page) +
      weigh(texts.body, word, WEIGHTS.body)
    if (own > 0) matched += 1
    score += own
  }
  const isPhrase =
    words.length > 1 && [texts.heading, texts.body].some((text) => text.join(' ').includes(words.join(' ')))
  return { score: isPhrase ? score * 2 : score, matched }
}

/** Further occurrences count less and less. */
const weigh = (text: string[], word: string, weight: number): number =>
  weight * Math.log2(1 + text.filter((one) => one.startsWith(word)).length)

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
