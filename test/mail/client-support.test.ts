/** What the emails use must work in Gmail, Outlook and Apple Mail, by the tables of caniemail.com. */
import { describe, expect, test } from 'bun:test'
import { caniemail } from 'caniemail'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import { BARE, makeFacts, renderForTest, RESULTS } from './facts.ts'

const CLIENTS = ['gmail.*', 'outlook.*', 'apple-mail.*'] as const

/** What a client does that lacks it. Everything else must be supported by all. */
const HARMLESS: Record<string, string> = {
  'color-scheme CSS property': 'colours as in light mode, or inverted by the client',
  'color-scheme meta tag': 'colours as in light mode, or inverted by the client',
  '@media': 'no dark mode of our own, and wider margins on phones',
  '<style> element': 'as without @media: all else is inline',
  'Attribute selector': "only Outlook's own apps read these rules",
  'Class selector': 'only rules of <style> use it',
  'Descendant combinator': 'only rules of <style> use it',
  'Type selector': 'only rules of <style> use it',
  '<body> element': 'becomes a div; the table around has the colour too',
  'border-radius': 'square corners',
  'overflow-wrap': 'word-break does the same there',
  'word-break': 'a very long word makes the email wider',
  'display:none': 'the first line of the inbox is hidden by max-height there',
  'max-height property': 'the first line of the inbox is hidden by display there',
  opacity: 'the first line of the inbox is hidden by display there',
  visibility: 'the first line of the inbox is hidden by display there',
  overflow: 'the first line of the inbox is hidden by display there',
  'white-space': 'a long line of code makes the email wider',
  'role attribute': 'screen readers announce a table',
}

type Issue = { title: string }

function listUnsupported(html: string): string[] {
  const { issues } = caniemail({ clients: [...CLIENTS], html })
  const found = [...issues.errors.values()].flat() as Issue[]
  return [...new Set(found.map(({ title }) => title))].toSorted()
}

const EVERYTHING = `# Heading\n\n## Second\n\nText with [a link]({{ event.url }}), **bold**, *italic*, ~~gone~~ and \`code\`.\n\n> said\n\n1. one\n2. two

- [x] done\n\n| a | b |\n|---|---|\n| {{ event.headline }} | 2 |\n\n\`\`\`\ncode\n\`\`\`\n\n---\n\n[{{ event.headline }}]({{ event.url }})`

const STYLED = makeFacts(RESULTS, {
  style: { ...BARE, colour: '#ffdd00', logoUrl: 'https://first.example/logo.png', postalAddress: 'Street 1\nTown' },
})

function render(mail: Parameters<typeof renderForTest>[0], facts?: Parameters<typeof renderForTest>[1]): string {
  const rendered = renderForTest(mail, facts)
  if (!('html' in rendered)) throw new Error(JSON.stringify(rendered))
  return rendered.html
}

describe('no email needs what a client lacks', () => {
  test.each([
    ...FIRST_MESSAGES.map(({ name, content: { mail } }) => [name, render({ ...mail })] as const),
    ['everything that an author can write', render({ body: EVERYTHING, preheader: 'Soon' }, STYLED)] as const,
  ])('%s', (_, html) => {
    expect(listUnsupported(html).filter((title) => !Object.hasOwn(HARMLESS, title))).toEqual([])
  })

  test('what may be lacking is used', () => {
    expect(listUnsupported(render({ body: EVERYTHING, preheader: 'Soon' }, STYLED))).toEqual(
      Object.keys(HARMLESS).toSorted(),
    )
  })

  test('flexible boxes, grids and backgrounds by URL would be found', () => {
    const html = '<div style="display:grid;position:absolute;box-shadow:0 0 1px red">a</div>'
    expect(listUnsupported(html)).toEqual(expect.arrayContaining(['box-shadow', 'position']))
  })
})
