import { expect, test } from 'bun:test'
import { render } from 'preact-render-to-string'
import { Command, OneLine, SentText, TitleText } from '../../../src/dashboard/ui/text.tsx'

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

test('in a title, a short email address does not break, and a long one breaks between its parts', () => {
  expect(render(<TitleText>Email to ada@example.com</TitleText>)).toBe(
    '<bdi>Email to </bdi><span class="unbroken"><bdi>ada@example.com</bdi></span>',
  )
  expect(render(<TitleText>ada.lovelace@engines.example</TitleText>)).toBe(
    '<bdi>ada.lovelace@</bdi><wbr/><bdi>engines.</bdi><wbr/><bdi>example</bdi>',
  )
  expect(render(<TitleText>People</TitleText>)).toBe('<bdi>People</bdi>')
})

test('a command breaks between words, and inside those that are longer than a line', () => {
  expect(render(<Command>--a-b c</Command>)).toBe('<code class="command"><span>--a-b</span> <span>c</span></code>')
  const long = `${'A'.repeat(30)}_B=mail.example.com`
  expect(render(<Command>{long}</Command>)).toBe(
    `<code class="command">${'A'.repeat(30)}_<wbr/>B=<wbr/>mail.<wbr/>example.<wbr/>com</code>`,
  )
})
