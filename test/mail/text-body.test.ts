import { expect, test } from 'bun:test'
import { makeFacts, renderForTest, RESULTS } from './facts.ts'

const textOf = (body: string, facts = makeFacts()): string =>
  renderForTest({ body }, facts).text.split('\n\n-- \n')[0] ?? ''

test.each([
  ['# One\n\ntwo\nthree', 'One\n===\n\ntwo\nthree'],
  ['a\n\n## Two\n\nb', 'a\n\nTwo\n\nb'],
  ['**a** *b* ~~c~~ `d`', 'a b c d'],
  ['- a\n- b\n  1. c\n  2. d\n\ne', '- a\n- b\n  1. c\n  2. d\n\ne'],
  ['- [x] a\n- [ ] b', '- [x] a\n- [ ] b'],
  ['> one\n> two\n\nthree', '> one\n> two\n\nthree'],
  ['```\none\n  two\n```', '    one\n      two'],
  ['a\n\n---\n\nb', `a\n\n${'-'.repeat(32)}\n\nb`],
  ['| a | b |\n|---|---|\n| c | d |', 'a | b\nc | d'],
  ['a [b](https://x.example/) c', 'a b (https://x.example/) c'],
  ['mail [us](mailto:us@x.example)', 'mail us (us@x.example)'],
  ['[https://x.example/](https://x.example/) c', 'https://x.example/ c'],
  ['![of a cat](https://x.example/cat.png)', 'of a cat'],
  ['<b>bold</b> & &amp;', '<b>bold</b> & &'],
  ['[Open]({{ event.url }})', `Open:\n${RESULTS.url}`],
  ['[It is ready.]({{ event.url }})', `It is ready.\n${RESULTS.url}`],
  ['[Ready?]({{ event.url }})', `Ready?\n${RESULTS.url}`],
  ['- [One.]({{ event.url }})\n\n- [Two]({{ event.url }})', `- One.\n  ${RESULTS.url}\n- Two:\n  ${RESULTS.url}`],
  ['[x](javascript:alert(1)) y', 'x y'],
  ['https://x.example', 'https://x.example'],
  ['at <https://x.example> or <a@x.example>', 'at https://x.example or a@x.example'],
])('%p', (body, text) => {
  expect(textOf(body)).toBe(text)
})

test('values become one line of text', () => {
  const facts = makeFacts({ ...RESULTS, headline: '[x](https://evil.example)\r\n-- \r\n<b>' })
  expect(textOf('{{ event.headline }}', facts)).toBe('[x](https://evil.example) -- <b>')
})

test('forbidden links lead to the home page or become text', () => {
  const facts = makeFacts({ ...RESULTS, url: 'https://evil.example/' })
  expect(textOf('[Open]({{ event.url }})', facts)).toBe('Open:\nhttps://app.example.com/home')
  expect(textOf('now [Open]({{ event.url }})', facts)).toBe('now Open')
})
