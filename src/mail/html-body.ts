/** Styles are inline, because many mail programs ignore everything else. */
import { showValues } from '../messages/templates.ts'
import type { Theme } from './theme.ts'
import { findButton, type MarkdownChild, MarkdownLimit, type MarkdownNode } from './markdown.ts'

export type BodyLinks = { readLink: (target: string) => string | null; homeUrl: string | null }

/** Gmail cuts at less than half of this; servers refuse larger ones. */
export const BODY_CHARACTERS = 256 * 1024

const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc]/

/** A right-to-left value must not reorder the words around it. */
const showValue = (value: string): string =>
  RIGHT_TO_LEFT.test(value) ? `<bdi>${Bun.escapeHTML(value)}</bdi>` : Bun.escapeHTML(value)

const escapeText = (text: string): string => showValues(text, { value: showValue, plain: Bun.escapeHTML })

/** The author's line breaks are kept. */
const breakLines = (text: string): string => text.replaceAll('\n', '<br>')

const HEADINGS = ['font-size:22px;line-height:28px', 'font-size:18px;line-height:24px']
const BELOW = 'margin:0 0 16px'

/** HTML in the author's text is escaped; Markdown in values isn't interpreted. @throws MarkdownLimit */
export function renderHtmlBody(tree: readonly MarkdownChild[], links: BodyLinks, look: Theme): string {
  const write = (children: readonly MarkdownChild[], isListed = false, between = ''): string => {
    const html = children
      .map((child) => (typeof child === 'string' ? breakLines(child) : writeNode(child, isListed)))
      .join(between)
    if (html.length > BODY_CHARACTERS) throw new MarkdownLimit('the result is too long for an email')
    return html
  }
  const writeNode = (node: MarkdownNode, isListed: boolean): string => {
    if (node.kind === 'text') return escapeText(node.text)
    if (node.kind === 'image') return showImage(node)
    const button = node.kind === 'paragraph' ? findButton(node.children) : null
    if (button) {
      const href = links.readLink(button.href) ?? links.homeUrl
      return isListed ? showLink(write(button.children), href, look) : showButton(write(button.children), href, look)
    }
    const inner = write(node.children, isListed || node.kind === 'listItem', node.kind === 'list' ? '\n' : '')
    return node.kind === 'link' ? showLink(inner, links.readLink(node.href), look) : showElement(node, inner, look)
  }
  // long lines would have to be encoded
  return write(tree, false, '\n')
}

const showLink = (text: string, href: string | null, look: Theme): string =>
  href === null
    ? text
    : `<a class="link" href="${Bun.escapeHTML(href)}" style="color:${look.link};text-decoration:underline">${text}</a>`

const BUTTON_PADDING = '12px 20px'

/** Padding on the link makes all of it clickable. Outlook for Windows pads only the cell, by `mso-padding-alt`. */
const showButton = (text: string, href: string | null, { button, onButton }: Theme): string =>
  href === null
    ? `<p style="${BELOW}">${text}</p>`
    : `<table role="presentation" class="action" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0 24px"><tr><td class="button" bgcolor="${button}" style="background:${button};border-radius:6px;mso-padding-alt:${BUTTON_PADDING}"><a href="${Bun.escapeHTML(href)}" style="display:inline-block;padding:${BUTTON_PADDING};mso-padding-alt:0;border-radius:6px;color:${onButton};font-weight:600;text-decoration:none">${text}</a></td></tr></table>`

type Element = Exclude<MarkdownNode, { kind: 'text' | 'image' | 'link' }>

function showElement(node: Element, text: string, look: Theme): string {
  switch (node.kind) {
    case 'heading':
      return `<h${node.level} style="margin:8px 0;font-weight:600;${HEADINGS[node.level - 1] ?? 'font-size:16px;line-height:24px'}">${text}</h${node.level}>`
    case 'paragraph':
      return `<p style="${BELOW}">${text}</p>`
    case 'blockquote':
      return `<blockquote class="line" style="${BELOW};padding-left:16px;border-left:3px solid ${look.line}">${text}</blockquote>`
    case 'code':
      return `<pre class="sunk" style="${BELOW};padding:12px;border-radius:6px;background:${look.sunk};font:13px/20px ${look.mono};white-space:pre-wrap">${text}</pre>`
    case 'list': {
      // Outlook for Windows ignores the padding of lists
      const margins = `margin:${node.depth === 0 ? '0 0 16px' : '4px 0 0'} 24px;padding-left:0`
      return node.ordered
        ? `<ol start="${node.start}" style="${margins}">${text}</ol>`
        : `<ul style="${margins}">${text}</ul>`
    }
    case 'listItem':
      return `<li style="margin:0 0 4px">${node.checked === undefined ? '' : node.checked ? '&#9745; ' : '&#9744; '}${text}</li>`
    case 'hr':
      return `<hr class="line" style="margin:24px 0;border:0;border-top:1px solid ${look.line}">`
    case 'table':
      return `<table cellspacing="0" style="${BELOW};border-collapse:collapse">${text}</table>`
    case 'th':
    case 'td':
      return `<${node.kind} class="line" style="padding:8px;border-bottom:1px solid ${look.line};text-align:${node.align}">${text}</${node.kind}>`
    case 'strong':
      return `<strong style="font-weight:600">${text}</strong>`
    case 'emphasis':
      return `<em>${text}</em>`
    case 'strikethrough':
      return `<s>${text}</s>`
    case 'codespan':
      return `<code class="sunk" style="background:${look.sunk};font-family:${look.mono}">${text}</code>`
    default:
      return `<${node.kind}>${text}</${node.kind}>`
  }
}

/** The author's only: a URL with a value in it would report who opened the email. */
function showImage({ src, children }: Extract<MarkdownNode, { kind: 'image' }>): string {
  const [url, alt] = [URL.parse(src), children.map(escapeAll).join('')]
  if (url?.protocol !== 'https:' || escapeText(src) !== Bun.escapeHTML(src)) return alt
  return `<img src="${Bun.escapeHTML(url.href)}" alt="${alt}" style="max-width:100%;height:auto;border:0">`
}

function escapeAll(child: MarkdownChild): string {
  if (typeof child === 'string') return child
  if (child.kind !== 'text') return child.children.map(escapeAll).join('')
  return showValues(child.text, { value: Bun.escapeHTML, plain: Bun.escapeHTML })
}
