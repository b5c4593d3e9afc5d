import { showValues } from '../messages/templates.ts'
import { BODY_CHARACTERS, type BodyLinks } from './html-body.ts'
import { findButton, type MarkdownChild, MarkdownLimit, type MarkdownNode } from './markdown.ts'

const same = (text: string): string => text

const indent = (text: string, first: string, rest: string): string =>
  text
    .split('\n')
    .map((line, index) => (index === 0 ? first : line === '' ? '' : rest) + line)
    .join('\n')

export function renderTextBody(tree: readonly MarkdownChild[], { readLink, homeUrl }: BodyLinks): string {
  const write = (children: readonly MarkdownChild[]): string => {
    const text = children.map((child) => (typeof child === 'string' ? child : writeNode(child))).join('')
    if (text.length > BODY_CHARACTERS) throw new MarkdownLimit('the result is too long for an email')
    return text
  }
  const writeNode = (node: MarkdownNode): string => {
    if (node.kind === 'text') return showValues(node.text, { value: same, plain: same })
    const button = node.kind === 'paragraph' ? findButton(node.children) : null
    if (button) return showButton(write(button.children), readLink(button.href) ?? homeUrl)
    const inner = write(node.children)
    return node.kind === 'link' ? showLink(inner, readLink(node.href)) : showElement(node, inner)
  }
  return write(tree)
    .replaceAll(/\n{3,}/g, '\n\n')
    .replace(/^\n+/, '')
    .trimEnd()
}

function showLink(text: string, href: string | null): string {
  if (href === null || href === `mailto:${text}` || href === URL.parse(text)?.href) return text
  return `${text} (${href.replace(/^mailto:/, '')})`
}

const showButton = (text: string, href: string | null): string =>
  `${href === null ? text : `${text}${/[.:!?…]$/.test(text) ? '' : ':'}\n${href}`}\n\n`

function showElement(node: Exclude<MarkdownNode, { kind: 'text' }>, text: string): string {
  switch (node.kind) {
    case 'heading':
      return `\n${text}\n${node.level === 1 ? `${'='.repeat(Math.min(text.length, 72))}\n` : ''}\n`
    case 'paragraph':
      return `${text}\n\n`
    case 'blockquote':
      return `${indent(text.trim(), '> ', '> ')}\n\n`
    case 'code':
      return `${indent(text.trimEnd(), '    ', '    ')}\n\n`
    case 'list':
      return node.depth === 0 ? `${text}\n` : `\n${text.trimEnd()}`
    case 'listItem': {
      const box = node.checked === undefined ? '' : node.checked ? '[x] ' : '[ ] '
      return `${indent(text.trim(), node.bullet + box, ' '.repeat(node.bullet.length))}\n`
    }
    case 'hr':
      return `\n${'-'.repeat(32)}\n\n`
    case 'table':
      return `${text}\n`
    case 'tr':
      return `${text.replace(/ \| $/, '')}\n`
    case 'th':
    case 'td':
      return `${text} | `
    default:
      return text
  }
}
