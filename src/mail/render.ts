import type { MailCategory } from '../store/message-types.ts'
import { PARTS } from '../messages/mail-texts.ts'
import type { MailFacts, MailTemplate, RenderedMail } from '../messages/mailer.ts'
import { computedMs, makeTemplateScope, RENDER_MS } from '../messages/template-scope.ts'
import { cleanText } from '../core/visible-text.ts'
import { fillTemplate, showValues, splitValues } from '../messages/templates.ts'
import { type TemplateFault } from '../messages/template-faults.ts'
import { type BodyLinks, renderHtmlBody } from './html-body.ts'
import { hidePreheader, layOutHtml, layOutText } from './layout.ts'
import { renderOwnHtml, writeTextOf } from './own-html.ts'
import { fillOwnLayout } from './own-layout.ts'
import { findTheme } from './theme.ts'
import { cleanSource, isBlank, MarkdownLimit, parseMarkdown } from './markdown.ts'
import { renderTextBody } from './text-body.ts'
import { ownHosts } from '../accounts/app-hosts.ts'
import { linkableUrl } from '../accounts/links.ts'

/** Subjects are one line; mail programs show no more. */
const SUBJECT_CHARACTERS = 200
const PREHEADER_CHARACTERS = 200

/** For preview, test and sending. With a fault, nothing may be sent. */
export function renderMail(
  template: MailTemplate,
  facts: MailFacts,
  budgetMs = RENDER_MS,
): RenderedMail | TemplateFault {
  const until = computedMs() + budgetMs
  const scope = makeTemplateScope(facts)
  const filled = { ...template }
  for (const name of PARTS) {
    const part = fillTemplate(cleanSource(template[name]), scope, { place: facts.app, until })
    if (!('filled' in part)) return part
    filled[name] = part.filled
  }
  const subject = cutLine(showPlain(filled.subject), SUBJECT_CHARACTERS)
  if (subject === '') return { missing: 'subject' }
  const shown = { ...filled, subject, preheader: cutLine(showPlain(filled.preheader), PREHEADER_CHARACTERS) }
  try {
    return template.html === '' ? assemble(shown, facts, until) : assembleOwn(shown, facts)
  } catch (error) {
    if (error instanceof MarkdownLimit) return { broken: error.message }
    throw error
  }
}

function assemble(
  { subject, preheader, body, category }: MailTemplate,
  facts: MailFacts,
  until: number,
): RenderedMail | TemplateFault {
  const { app, style } = facts
  const tree = parseMarkdown(body)
  if (isBlank(tree)) return { empty: 'body' }
  const [links, refused] = createLinks(facts)
  const layout = {
    ...layoutOf(facts, category),
    subject,
    preheader,
    html: renderHtmlBody(tree, links, findTheme(style.colour).light),
    text: renderTextBody(tree, links),
  }
  const laidOut =
    style.layout === null ? { html: layOutHtml(layout) } : fillOwnLayout(style.layout, layout, { place: app, until })
  if (!('html' in laidOut)) return laidOut
  return { subject, ...laidOut, text: layOutText(layout), refusedLinks: [...refused] }
}

const layoutOf = ({ app, style, unsubscribeUrl, confirmUrl }: MailFacts, category: MailCategory) => ({
  logoUrl: readLogo(style.logoUrl),
  colour: style.colour,
  address: (style.postalAddress ?? '').split(/[\r\n]+/).flatMap((line) => cleanText(line) ?? []),
  appName: cleanText(app.name) ?? '',
  homeUrl: app.homeUrl,
  lang: style.lang,
  texts: style.texts,
  asksConsent: confirmUrl !== undefined,
  unsubscribeUrl: category === 'lifecycle' ? unsubscribeUrl : null,
})

/** The author's own HTML. A text that they wrote gets the footer of the layout. */
function assembleOwn({ subject, preheader, body, html, category }: MailTemplate, facts: MailFacts) {
  const [links, refused] = createLinks(facts)
  const layout = layoutOf(facts, category)
  const hidden = preheader === '' ? '' : `<div data-skip-in-text>${hidePreheader({ preheader, text: '' })}</div>`
  const own = renderOwnHtml(html, { links, preheader: hidden, unsubscribeUrl: layout.unsubscribeUrl })
  if ('broken' in own) return own
  const tree = parseMarkdown(body)
  const text = isBlank(tree)
    ? writeTextOf(own.html)
    : layOutText({ ...layout, subject, preheader, html, text: renderTextBody(tree, links) })
  if (text === '' && !/<img\b/i.test(own.html)) return { empty: 'body' as const }
  return { subject, ...own, text, refusedLinks: [...refused] }
}

/** Checks each target once, for HTML and text. */
function createLinks({ app, unsubscribeUrl, confirmUrl }: MailFacts): [BodyLinks, refused: ReadonlySet<string>] {
  const [known, refused] = [new Map<string, string | null>(), new Set<string>()]
  const readLink = (target: string): string | null => {
    const before = known.get(target)
    if (before !== undefined) return before
    const link = readMailLink(target, { ...app, own: [unsubscribeUrl, confirmUrl] })
    if ('refused' in link) refused.add(link.refused)
    const href = 'href' in link ? link.href : null
    known.set(target, href)
    return href
  }
  return [{ readLink, homeUrl: app.homeUrl }, refused]
}

const readLogo = (text: string | null): string | null => {
  const url = URL.parse(text ?? '')
  return url?.protocol === 'https:' ? url.href : null
}

const same = (text: string): string => text
const showPlain = (filled: string): string => showValues(filled, { value: same, plain: same })

function cutLine(text: string, most: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const characters = Array.from(line)
  return characters.length <= most ? line : `${characters.slice(0, most - 1).join('')}\u2026`
}

/** `own`: links to Eventpost itself. */
export type LinkFacts = { hosts: readonly string[]; homeUrl: string | null; own: readonly (string | undefined)[] }

/** `refused`: a URL from an event or person outside the app's hosts. */
export type MailLink = { href: string } | { refused: string }

const AUTHOR_SCHEMES = new Set(['https:', 'http:', 'mailto:'])

/**
 * Links written by the author may lead anywhere; targets with values must pass the link rule. A value inside a target
 * is encoded.
 */
export function readMailLink(target: string, facts: LinkFacts): MailLink {
  const parts = splitValues(target)
  const isWhole = parts.length === 1
  const url = parts
    .map((part) => ('plain' in part ? part.plain : isWhole ? part.value : encodeURIComponent(part.value)))
    .join('')
  if (facts.own.includes(url) || url === facts.homeUrl) return { href: url }
  if (!parts.some((part) => 'value' in part)) return readAuthorLink(url)
  const linkable = linkableUrl(url, ownHosts(facts.hosts))
  return linkable ? { href: linkable.href } : { refused: url }
}

function readAuthorLink(text: string): MailLink {
  const url = URL.parse(text.trim())
  return url && AUTHOR_SCHEMES.has(url.protocol) ? { href: url.href } : { refused: text }
}
