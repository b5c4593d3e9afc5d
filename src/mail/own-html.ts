/** HTML of an author's own, such as the output of MJML or React Email. Its values are escaped, and links are checked. */
import { convert } from 'html-to-text'
import { showValues, splitValues } from '../messages/templates.ts'
import type { BodyLinks } from './html-body.ts'

type Filling = {
  links: BodyLinks
  /** HTML that is shown first in the body */
  preheader: string
  /** null: the email needs no unsubscribe link */
  unsubscribeUrl: string | null
}

const NO_LINK = 'lifecycle emails need an unsubscribe link: <a href="{{ unsubscribeUrl }}">Unsubscribe</a>'

/** They load something, which would report who opened the email. */
const LOADED = new Set(['src', 'srcset', 'background', 'poster', 'data', 'action', 'formaction', 'ping', 'xlink:href'])
/** Nothing that ends a declaration or loads something. */
const STYLE = /^[\w#.% -]{1,100}$/

/** `filled`: with hidden values, so that none of them is read as HTML. */
export function renderOwnHtml(
  filled: string,
  { links, preheader, unsubscribeUrl }: Filling,
): { html: string } | { broken: string } {
  let [fault, isLinked] = [null as string | null, unsubscribeUrl === null]
  const refuse = (where: string): void => void (fault ??= `values can't be used in ${where}`)

  const showLink = (element: HTMLRewriterTypes.Element, value: string): void => {
    const href = links.readLink(value.replaceAll(AMPERSAND, '&'))
    if (href === null) element.removeAttribute('href')
    else element.setAttribute('href', Bun.escapeHTML(href))
    if (element.tagName === 'a' && href === unsubscribeUrl) isLinked = true
  }
  const showAttribute = (element: HTMLRewriterTypes.Element, name: string, value: string): void => {
    if (hasValue(name)) return refuse('attribute names')
    if (!hasValue(value)) return
    if (name === 'href') return showLink(element, value)
    const isSafe = name !== 'style' || splitValues(value).every((part) => !('value' in part) || STYLE.test(part.value))
    if (LOADED.has(name) || name.startsWith('on') || !isSafe) element.removeAttribute(name)
    else element.setAttribute(name, reveal(value))
  }

  let raw = ''
  const rewriter = new HTMLRewriter()
    .on('*', {
      element(element) {
        if (hasValue(element.tagName)) refuse('element names')
        for (const [name, value] of Array.from(element.attributes)) showAttribute(element, name, value)
      },
    })
    .on('style, script', {
      text({ text, lastInTextNode }) {
        raw += text
        if (lastInTextNode && hasValue(raw)) refuse('<style> or <script>')
        if (lastInTextNode) raw = ''
      },
    })
    .on('body', { element: (body) => void body.prepend(preheader, { html: true }) })
    .onDocument({ comments: ({ text }) => void (hasValue(text) && refuse('comments, such as <!--[if mso]>')) })
  const html = rewrite(rewriter, filled)
  if (html === null) return { broken: "the HTML can't be read" }
  if (fault !== null) return { broken: fault }
  return isLinked ? { html: reveal(html) } : { broken: NO_LINK }
}

const AMPERSAND = /&amp;|&#38;|&#x26;/gi

const hasValue = (text: string): boolean => splitValues(text).some((part) => 'value' in part)

const same = (text: string): string => text
const reveal = (text: string): string => showValues(text, { value: Bun.escapeHTML, plain: same })

/** null: it is read differently by different programs. */
function rewrite(rewriter: HTMLRewriter, html: string): string | null {
  try {
    return rewriter.transform(html)
  } catch {
    return null
  }
}

/** For an email without a text of its own. */
export const writeTextOf = (html: string): string =>
  convert(html, {
    wordwrap: false,
    limits: { maxDepth: 64, maxChildNodes: 5_000 },
    selectors: [
      { selector: 'img', format: 'skip' },
      // the preview text of React Email
      { selector: '[data-skip-in-text]', format: 'skip' },
      { selector: 'a', options: { hideLinkHrefIfSameAsText: true, linkBrackets: ['(', ')'] } },
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
    ],
  }).trim()
