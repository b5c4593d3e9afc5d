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

/** What some clients support in part: why what they lack does no harm. The tables don't know which part is used. */
const HARMLESS_IN_PART: Record<string, string> = {
  '!important keyword': 'only rules of <style> use it',
  '<ul>, <ol> and <dl>': 'no list is reversed, and no item sets its number',
  'align attribute': 'no table is aligned to a side',
  background: 'always one colour',
  border: 'at most 3 pixels wide, and never on a paragraph or div',
  'dir attribute': 'never on a link',
  display: 'inline-block only adds space, and the first line of the inbox is hidden by mso-hide too',
  'font-size': 'always in pixels',
  'font-weight': '600 is shown as bold',
  'height attribute': 'only for the logo, in pixels',
  'height property': 'only for images',
  'line-height': 'lines may be taller; exact ones would cut off images',
  margin: 'never negative or automatic; the space below has no colour of its own, except below code',
  'max-width': 'the table around is 600 wide in Outlook, and logos are 32 high',
  padding: 'on other elements than table cells, see below',
  'text-align': 'always left, center or right',
  'text-decoration': 'one value: underlined or not',
  'width attribute': 'never for images',
}

/** Outlook for Windows pads table cells only: what that does to other elements. */
const HARMLESS_UNPADDED: Record<string, string> = {
  blockquote: 'the line is close to the text',
  pre: 'the colour ends at the text',
}

type Issue = { title: string }
type Issues = ReturnType<typeof caniemail>['issues']

function listTitles(html: string, kind: keyof Issues): string[] {
  const { issues } = caniemail({ clients: [...CLIENTS], html })
  const found = [...issues[kind].values()].flat() as Issue[]
  return [...new Set(found.map(({ title }) => title))].toSorted()
}

const listUnsupported = (html: string): string[] => listTitles(html, 'errors')

/** Without those that may be lacking entirely. */
const listPartial = (html: string): string[] =>
  listTitles(html, 'warnings').filter((title) => !Object.hasOwn(HARMLESS, title))

/** `mso-padding-alt` is read by Outlook for Windows only, which ignores the padding of a link. */
function listUnpadded(html: string): string[] {
  const found = new Set<string>()
  new HTMLRewriter()
    .on('[style*=padding]', {
      element(element) {
        const style = new Map((element.getAttribute('style') ?? '').split(';').map((one) => splitOnce(one)))
        const isPadded = [...style].some(([name, value]) => /^padding\b/.test(name) && /[1-9]/.test(value))
        const isCell = element.tagName === 'td' || element.tagName === 'th'
        if (isPadded && !isCell && !style.has('mso-padding-alt')) found.add(element.tagName)
      },
    })
    .transform(html)
  return [...found].toSorted()
}

function splitOnce(declaration: string): [name: string, value: string] {
  const [name = '', ...value] = declaration.split(':')
  return [name.trim(), value.join(':').trim()]
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
    expect(listPartial(html).filter((title) => !Object.hasOwn(HARMLESS_IN_PART, title))).toEqual([])
    expect(listUnpadded(html).filter((name) => !Object.hasOwn(HARMLESS_UNPADDED, name))).toEqual([])
  })

  test('what may be lacking is used', () => {
    const html = render({ body: EVERYTHING, preheader: 'Soon' }, STYLED)
    expect(listUnsupported(html)).toEqual(Object.keys(HARMLESS).toSorted())
    expect(listPartial(html)).toEqual(Object.keys(HARMLESS_IN_PART).toSorted())
    expect(listUnpadded(html)).toEqual(Object.keys(HARMLESS_UNPADDED).toSorted())
  })

  test('a button is padded in Outlook for Windows too, by its cell', () => {
    const [, cell, link, ofLink] =
      /<td class="button"[^>]*;mso-padding-alt:([^;"]+)[^>]*><a [^>]*[;"]padding:([^;"]+);mso-padding-alt:([^;"]+)/.exec(
        render({ body: EVERYTHING }),
      ) ?? []
    expect([cell, link, ofLink]).toEqual(['12px 20px', '12px 20px', '0'])
  })

  test('flexible boxes, grids and backgrounds by URL would be found', () => {
    const html = '<div style="display:grid;position:absolute;box-shadow:0 0 1px red">a</div>'
    expect(listUnsupported(html)).toEqual(expect.arrayContaining(['box-shadow', 'position']))
  })
})
