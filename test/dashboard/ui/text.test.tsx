import { expect, test } from 'bun:test'
import { render } from 'preact-render-to-string'
import { OneLine, SentText } from '../../../src/dashboard/ui/text.tsx'

const hidden = (names: string) => `<span class="hidden-text" title="Invisible character">${names}</span>`

test.each([
  ['plain', 'Ada <b>', '<bdi>Ada &lt;b></bdi>'],
  ['with what would not be seen', 'a\u202Eb', `<bdi>a${hidden('U+202E')}b</bdi>`],
  ['with a run of it', '\u200B'.repeat(5), `<bdi>${hidden('U+200B U+200B U+200B and 2 more')}</bdi>`],
  ['empty', '', '<bdi></bdi>'],
])('text that is %s', (_, text, html) => {
  expect(render(<SentText>{text}</SentText>)).toBe(html)
})

test('ends its sentence, unless it is cut', () => {
  const end = (most: number) =>
    render(
      <SentText most={most} end=".">
        abcdef
      </SentText>,
    )
  expect(end(6)).toBe('<bdi>abcdef</bdi>.')
  expect(end(3)).toBe('<bdi>abc…</bdi>')
})

test('is on one line, with all of it in the tooltip', () => {
  const text = `a\u202E${'b'.repeat(200)}`
  expect(render(<OneLine>{text}</OneLine>)).toBe(
    `<span class="one-line" title="a${'b'.repeat(200)}"><bdi>a${hidden('U+202E')}${'b'.repeat(200)}</bdi></span>`,
  )
})

test('is cut where it is too long', () => {
  expect(render(<SentText most={3}>abcdef</SentText>)).toBe('<bdi>abc…</bdi>')
  expect(render(<SentText most={6}>abcdef</SentText>)).toBe('<bdi>abcdef</bdi>')
  expect(render(<SentText most={4}>abc def</SentText>)).toBe('<bdi>abc…</bdi>')
})
