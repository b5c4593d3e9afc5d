import { describe, expect, test } from 'bun:test'
import { createSearch, type Section } from '../../src/docs/search.ts'

const section = (heading: string, body: string, page = 'Events'): Section => ({
  path: `/docs/${heading.toLowerCase().replaceAll(' ', '-')}`,
  page,
  heading,
  body,
})

const SECTIONS = [
  section('Sending again', 'Use an Idempotency-Key. A limit applies to every key, and the limit is exact.'),
  section('Rate limits', 'Events per hour and contacts per hour.', 'Limits'),
  section(
    'Tags',
    `${'Words before it. '.repeat(30)}The rate limited answer names its limit. ${'Words after it. '.repeat(30)}`,
  ),
  section('', 'Record people.', 'Getting started'),
]
const noPause = async (): Promise<void> => {}
const search = await createSearch(SECTIONS, noPause)
const headingsOf = (query: string): string[] =>
  search(query).map(({ heading }) => heading.map(({ text }) => text).join(''))
const joined = (pieces: { text: string }[]): string => pieces.map(({ text }) => text).join('')

describe('a search of the documentation', () => {
  test('finds sections by the start of a word, in any case, headings first', () => {
    expect(headingsOf('LIMIT')).toEqual(['Rate limits', 'Sending again', 'Tags'])
    expect(headingsOf('idempot')).toEqual(['Sending again'])
    expect(headingsOf('imit')).toEqual([])
  })

  test('prefers sections with all words', () => {
    expect(headingsOf('rate limit')).toEqual(['Rate limits', 'Tags'])
    expect(headingsOf('rate zzz')).toEqual(['Rate limits', 'Tags'])
    expect(headingsOf('key exact')).toEqual(['Sending again'])
  })

  test('ignores words that say little, unless there are no others', () => {
    expect(headingsOf('what is a tag')).toEqual(['Tags'])
    expect(headingsOf('is')).toEqual(['Sending again'])
  })

  test('finds a word with another ending', () => {
    expect(headingsOf('recorded people')).toEqual(['Getting started'])
    expect(headingsOf('tagging limit')).toEqual(['Rate limits', 'Sending again', 'Tags'])
    expect(headingsOf('limiting')).toEqual(['Rate limits', 'Sending again', 'Tags'])
  })

  test.each(['recrd', 'recoord', 'recxrd', 'recrod'])(
    'finds a word of 5 letters or more with one mistake: %s',
    (query) => {
      expect(headingsOf(query)).toEqual(['Getting started'])
    },
  )

  test('takes two mistakes in words of 9 letters or more, and none in short ones', () => {
    expect(headingsOf('idempotenzy')).toEqual(['Sending again'])
    expect(headingsOf('idmpotenzy')).toEqual(['Sending again'])
    expect(headingsOf('idmpxtenzy')).toEqual([])
    expect(headingsOf('rexxrd')).toEqual([])
    expect(headingsOf('kexs')).toEqual([])
  })

  test('prefers words that are spelled as in the text', () => {
    expect(headingsOf('idempotenzy people')).toEqual(['Getting started'])
  })

  test('prefers rare words, short sections, and words beside one another', async () => {
    const filler = 'Something else follows here. '.repeat(10)
    const sections = [
      section('Apart', `A blue text. ${filler} A green car.`),
      section('Beside', `A text. ${filler} A blue car.`),
      section('Long', `A text about a bicycle. ${filler.repeat(3)}`),
      section('Short', `A text about a bicycle. ${filler}`),
    ]
    const found = await createSearch(sections, noPause)
    const pathsOf = (query: string): string[] => found(query).map(({ path }) => path)
    expect(pathsOf('blue car')).toEqual(['/docs/beside', '/docs/apart'])
    expect(pathsOf('bicycle')).toEqual(['/docs/short', '/docs/long'])
    expect(pathsOf('text bicycle car')[0]).toBe('/docs/short')
  })

  test('puts minor sections last', async () => {
    const minor = { ...section('Rate limits of others', 'Rate limits, rate limits.'), isMinor: true }
    const found = (await createSearch([minor, ...SECTIONS], noPause))('rate limit')
    expect(found.map(({ path }) => path).at(-1)).toBe(minor.path)
    expect(found).toHaveLength(3)
  })

  test('finds a section of several pages once', async () => {
    const [first] = SECTIONS
    if (!first) throw new Error('no sections')
    const copy = { ...first, path: '/docs/other', page: 'Other' }
    const withCopy = await createSearch([...SECTIONS, copy], noPause)
    expect(withCopy(first.heading).map(({ path }) => path)).toEqual(search(first.heading).map(({ path }) => path))
  })

  test('names a section without a heading after its page', () => {
    expect(headingsOf('people')).toEqual(['Getting started'])
  })

  test('shows the text around the first match, in whole words', () => {
    const [, tags] = search('rate limit')
    const excerpt = joined(tags?.excerpt ?? [])
    expect(excerpt).toMatch(/^… .*The rate limited answer names its limit.* …$/)
    expect(excerpt.length).toBeLessThan(210)
    expect(tags?.excerpt.filter(({ isMatch }) => isMatch).map(({ text }) => text)).toEqual(['rate', 'limited', 'limit'])
    for (const word of excerpt.replaceAll('…', '').trim().split(' ')) expect(SECTIONS[2]?.body).toContain(word)
  })

  test.each(['', '   ', '.*', '"\'<>', '(((', '\\'])('finds nothing for %p', (query) => {
    expect(search(query)).toEqual([])
  })

  test('reads only the beginning of a long query', () => {
    expect(headingsOf(`limit ${'x '.repeat(5_000)}`)).toContain('Rate limits')
  })
})
