/**
 * Parses Markdown into a tree. Bun's parser passes rendered text upwards, which is quadratic for nested input; so each
 * callback returns a node number instead.
 */

import { showValues } from '../messages/templates.ts'

type BlockKind = 'paragraph' | 'blockquote' | 'code' | 'hr' | 'table' | 'thead' | 'tbody' | 'tr'
type InlineKind = 'strong' | 'emphasis' | 'strikethrough' | 'codespan'

/** `text` is the author's, with values hidden; a plain string is a line break. */
export type MarkdownNode =
  | { kind: 'text'; text: string }
  | { kind: BlockKind | InlineKind; children: MarkdownChild[] }
  | { kind: 'heading'; children: MarkdownChild[]; level: number }
  | { kind: 'list'; children: MarkdownChild[]; ordered: boolean; start: number; depth: number }
  | { kind: 'listItem'; children: MarkdownChild[]; bullet: string; checked: boolean | undefined }
  | { kind: 'th' | 'td'; children: MarkdownChild[]; align: 'left' | 'center' | 'right' }
  | { kind: 'link'; children: MarkdownChild[]; href: string }
  | { kind: 'image'; children: MarkdownChild[]; src: string }
export type MarkdownChild = MarkdownNode | string

/** More nodes are no email. */
const NODES = 10_000
const DEPTH = 32
/** Links and pictures together: a reference can be repeated many times. */
const TARGET_CHARACTERS = 256 * 1024

export class MarkdownLimit extends Error {}

/** Control characters that never occur in a body (cleanSource); they enclose node numbers. */
const [OPEN, CLOSE] = ['\u0001', '\u0002']
const REFERENCE = new RegExp(`${OPEN}(\\d+)${CLOSE}`)
// oxlint-disable-next-line no-control-regex -- these are what it removes
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f]/g

export const cleanSource = (source: string): string => source.replaceAll(/\r\n?/g, '\n').replaceAll(UNPRINTABLE, '')

export function parseMarkdown(source: string): MarkdownChild[] {
  const [nodes, depths]: [MarkdownNode[], number[]] = [[], []]
  let targets = 0

  const readChildren = (text: string): [children: MarkdownChild[], depth: number] => {
    let depth = 0
    const children = text.split(REFERENCE).flatMap((part, index): MarkdownChild[] => {
      if (index % 2 === 0) return part === '' ? [] : [part]
      depth = Math.max(depth, depths[Number(part)] ?? 0)
      const node = nodes[Number(part)]
      return node ? [node] : []
    })
    return [children, depth]
  }
  const addNode = (node: MarkdownNode, depth: number): string => {
    if (depth > DEPTH) throw new MarkdownLimit('it is nested too deeply')
    if (nodes.length >= NODES) throw new MarkdownLimit('it has too many parts for an email')
    depths.push(depth)
    return `${OPEN}${nodes.push(node) - 1}${CLOSE}`
  }
  const parent =
    <Meta>(make: (children: MarkdownChild[], meta: Meta) => MarkdownNode) =>
    (text: string, meta: Meta): string => {
      const [children, depth] = readChildren(text)
      return addNode(make(children, meta), depth + 1)
    }
  const plain = (kind: BlockKind | InlineKind) => parent<void>((children) => ({ kind, children }))
  const cell = (kind: 'th' | 'td') =>
    parent((children, meta: { align?: 'left' | 'center' | 'right' } | undefined) => {
      return { kind, children, align: meta?.align ?? 'left' }
    })
  const target = (text: string): string => {
    targets += text.length
    if (targets > TARGET_CHARACTERS) throw new MarkdownLimit('its links are too long for an email')
    return text
  }

  const root = Bun.markdown.render(
    source,
    {
      // an entity may stand for a control character
      text: (text) => addNode({ kind: 'text', text: text.replaceAll(UNPRINTABLE, '') }, 1),
      heading: parent((children, { level }) => ({ kind: 'heading', children, level })),
      paragraph: plain('paragraph'),
      blockquote: plain('blockquote'),
      code: parent((children) => ({ kind: 'code', children })),
      hr: plain('hr'),
      list: parent((children, { ordered, start = 1, depth }) => ({ kind: 'list', children, ordered, start, depth })),
      listItem: parent((children, { ordered, start = 1, index, checked }) => {
        return { kind: 'listItem', children, bullet: ordered ? `${start + index}. ` : '- ', checked }
      }),
      table: plain('table'),
      thead: plain('thead'),
      tbody: plain('tbody'),
      tr: plain('tr'),
      th: cell('th'),
      td: cell('td'),
      strong: plain('strong'),
      emphasis: plain('emphasis'),
      strikethrough: plain('strikethrough'),
      codespan: plain('codespan'),
      link: parent((children, { href }) => ({ kind: 'link', children, href: target(withScheme(href)) })),
      image: parent((children, { src }) => ({ kind: 'image', children, src: target(src) })),
    },
    // HTML in a line has no callback, so it is text; without it, <https://example.com> would be no link
    { noHtmlBlocks: true, noHtmlSpans: false, autolinks: { url: true } },
  )
  return readChildren(root)[0]
}

/** `<ada@example.com>` */
const withScheme = (href: string): string => (/^[^\s:/@]+@[^\s:/@]+$/.test(href) ? `mailto:${href}` : href)

/** Letters, digits and symbols; no spaces, controls or blank letters. */
// oxlint-disable-next-line no-misleading-character-class -- each character is matched by itself
const VISIBLE = /[^\s\p{C}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/u

export const isBlank = (children: readonly MarkdownChild[]): boolean =>
  children.every((child) => {
    if (typeof child === 'string') return true
    if (child.kind === 'text') return !VISIBLE.test(showValues(child.text, { value: same, plain: same }))
    return !(child.kind === 'image' && child.src.startsWith('https:')) && isBlank(child.children)
  })

const same = (text: string): string => text

export function findButton(children: readonly MarkdownChild[]): Extract<MarkdownNode, { kind: 'link' }> | null {
  const [only, ...others] = children
  const isLink = others.length === 0 && typeof only === 'object' && only.kind === 'link'
  return isLink && !isBareUrl(only) ? only : null
}

/** Written as it is, without a text. */
function isBareUrl({ children, href }: Extract<MarkdownNode, { kind: 'link' }>): boolean {
  const [only, ...others] = children
  return others.length === 0 && typeof only === 'object' && only.kind === 'text' && only.text === href
}
