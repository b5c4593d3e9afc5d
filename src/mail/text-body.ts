/** The body of a mail as plain text, from the same Markdown as the HTML. */
import { showValues } from '../core/templates.ts'
import type { BodyLinks } from './html-body.ts'
import { type LinkStyle, markLink, readButton, writeLinks } from './link-marks.ts'

const same = (text: string): string => text

const indent = (text: string, first: string, rest: string): string =>
  text
    .split('\n')
    .map((line, index) => (index === 0 ? first : line === '' ? '' : rest) + line)
    .join('\n')

/** Renders what fillTemplate made. */
export function renderTextBody(filled: string, links: BodyLinks): string {
  const style = createLinkStyle(links)
  const text = Bun.markdown.render(
    filled,
    {
      ...blocks(style),
      link: (inner, { href }) => markLink(inner, links.readLink(href)),
      text: (part) => showValues(part, { value: same, plain: same }),
    },
    { noHtmlBlocks: true, noHtmlSpans: true },
  )
  return writeLinks(text, style)
    .replaceAll(/\n{3,}/g, '\n\n')
    .replaceAll(/^\n+|\s+$/g, '')
}

const createLinkStyle = ({ homeUrl }: BodyLinks): LinkStyle => {
  const button = (text: string, href: string | null): string => (href === null ? text : `${text}:\n${href}`)
  return {
    inline: (text, href) => (href === null || href === text ? text : `${text} (${href.replace(/^mailto:/, '')})`),
    button: (text, href) => button(text, href ?? homeUrl),
  }
}

const blocks = (style: LinkStyle): Bun.markdown.RenderCallbacks => ({
  heading: (text, { level }) => `\n${text}\n${level === 1 ? `${'='.repeat(Math.min(text.length, 72))}\n` : ''}\n`,
  paragraph: (text) => `${readButton(text, style) ?? text}\n\n`,
  blockquote: (text) => `${indent(text.trim(), '> ', '> ')}\n\n`,
  code: (text) => `${indent(text.trimEnd(), '    ', '    ')}\n\n`,
  list: (items, { depth }) => (depth === 0 ? `${items}\n` : `\n${items.trimEnd()}`),
  listItem: (text, { ordered, start = 1, index, checked }) => {
    const bullet = ordered ? `${start + index}. ` : '- '
    const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] '
    return `${indent(text.trim(), bullet + box, ' '.repeat(bullet.length))}\n`
  },
  hr: () => `\n${'-'.repeat(32)}\n\n`,
  table: (rows) => `${rows}\n`,
  tr: (cells) => `${cells.replace(/ \| $/, '')}\n`,
  th: (text) => `${text} | `,
  td: (text) => `${text} | `,
})
