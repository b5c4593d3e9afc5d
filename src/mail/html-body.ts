/** The body of a mail as HTML. Styles stand on the elements, because many mail programs read nothing else. */
import { showValues } from '../core/templates.ts'
import { type LinkStyle, markLink, readButton, writeLinks } from './link-marks.ts'
import type { Look } from './look.ts'

/** What a body may link to. `readLink` gives the address, or null where the mail carries no link. */
export type BodyLinks = { readLink: (target: string) => string | null; homeUrl: string | null }

const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc]/

/** A value that is written from right to left does not reorder the words around it. */
const showValue = (value: string): string =>
  RIGHT_TO_LEFT.test(value) ? `<bdi>${Bun.escapeHTML(value)}</bdi>` : Bun.escapeHTML(value)

const escapeText = (text: string): string => showValues(text, { value: showValue, plain: Bun.escapeHTML })

/** A line that the author broke stays broken: there is no other way to see it while writing. */
const breakLines = (html: string): string => html.replaceAll('\n', '<br>')

const HEADINGS = ['font-size:22px;line-height:28px', 'font-size:18px;line-height:24px']
const BELOW = 'margin:0 0 16px'

/** Renders what fillTemplate made. Of HTML nothing but text remains; Markdown of its author only. */
export function renderHtmlBody(filled: string, links: BodyLinks, look: Look): string {
  const style = createLinkStyle(links, look)
  const html = Bun.markdown.render(
    filled,
    {
      ...blocks(style, look),
      ...tables(look),
      ...inlines(look),
      link: (text, { href }) => markLink(text, links.readLink(href)),
      image: (alt, { src }) => showImage(alt, src),
      text: escapeText,
    },
    { noHtmlBlocks: true, noHtmlSpans: true },
  )
  return writeLinks(html, style)
}

const createLinkStyle = ({ homeUrl }: BodyLinks, look: Look): LinkStyle => ({
  inline: (text, href) =>
    href === null
      ? text
      : `<a class="link" href="${Bun.escapeHTML(href)}" style="color:${look.link};text-decoration:underline">${text}</a>`,
  button: (text, href) => showButton(text, href ?? homeUrl, look),
})

/** Padding on the link, so that all of it can be touched; the colour on the cell, for programs that know no padding. */
const showButton = (text: string, href: string | null, { button, onButton }: Look): string =>
  href === null
    ? `<p style="${BELOW}">${text}</p>`
    : `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0 24px"><tr><td class="button" bgcolor="${button}" style="background:${button};border-radius:6px"><a href="${Bun.escapeHTML(href)}" style="display:inline-block;padding:12px 20px;border-radius:6px;color:${onButton};font-weight:600;text-decoration:none">${text}</a></td></tr></table>`

const blocks = (style: LinkStyle, look: Look): Bun.markdown.RenderCallbacks => ({
  heading: (text, { level }) =>
    `<h${level} style="margin:8px 0;font-weight:600;${HEADINGS[level - 1] ?? 'font-size:16px;line-height:24px'}">${text}</h${level}>`,
  paragraph: (text) => readButton(text, style) ?? `<p style="${BELOW}">${breakLines(text)}</p>`,
  blockquote: (text) =>
    `<blockquote class="line" style="${BELOW};padding-left:16px;border-left:3px solid ${look.line}">${text}</blockquote>`,
  code: (text) =>
    `<pre class="sunk" style="${BELOW};padding:12px;border-radius:6px;background:${look.sunk};font:13px/20px ${look.mono};white-space:pre-wrap">${text}</pre>`,
  list: (items, { ordered, start, depth }) => {
    const margins = `margin:${depth === 0 ? '0 0 16px' : '4px 0 0'};padding-left:24px`
    return ordered
      ? `<ol start="${start ?? 1}" style="${margins}">${items}</ol>`
      : `<ul style="${margins}">${items}</ul>`
  },
  listItem: (text, { checked }) =>
    `<li style="margin:0 0 4px">${checked === undefined ? '' : checked ? '&#9745; ' : '&#9744; '}${breakLines(text)}</li>`,
  hr: () => `<hr class="line" style="margin:24px 0;border:0;border-top:1px solid ${look.line}">`,
})

const tables = (look: Look): Bun.markdown.RenderCallbacks => {
  const cell = (name: 'th' | 'td') => (text: string, meta?: { align?: 'left' | 'center' | 'right' }) =>
    `<${name} class="line" style="padding:8px;border-bottom:1px solid ${look.line};text-align:${meta?.align ?? 'left'}">${text}</${name}>`
  return {
    table: (rows) => `<table cellspacing="0" style="${BELOW};border-collapse:collapse">${rows}</table>`,
    thead: (rows) => `<thead>${rows}</thead>`,
    tbody: (rows) => `<tbody>${rows}</tbody>`,
    tr: (cells) => `<tr>${cells}</tr>`,
    th: cell('th'),
    td: cell('td'),
  }
}

const inlines = (look: Look): Bun.markdown.RenderCallbacks => ({
  strong: (text) => `<strong style="font-weight:600">${text}</strong>`,
  emphasis: (text) => `<em>${text}</em>`,
  strikethrough: (text) => `<s>${text}</s>`,
  codespan: (text) => `<code class="sunk" style="background:${look.sunk};font-family:${look.mono}">${text}</code>`,
})

/** Of text that is escaped already, so that every tag in it is one of ours. */
const withoutTags = (html: string): string =>
  writeLinks(html, { inline: same, button: same }).replaceAll(/<[^>]*>/g, '')

const same = (text: string): string => text

/** Pictures of the author only: an address that a value is part of would report who opened the mail. */
function showImage(alt: string, source: string): string {
  const url = URL.parse(source)
  if (url?.protocol !== 'https:' || escapeText(source) !== Bun.escapeHTML(source)) return withoutTags(alt)
  return `<img src="${Bun.escapeHTML(url.href)}" alt="${withoutTags(alt)}" style="max-width:100%;height:auto;border:0">`
}
