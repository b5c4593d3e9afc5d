/** From the words of a message and the facts of one delivery to a mail that can be read (messages.md, Templates). */
import type { RenderedMail } from '../core/mailer.ts'
import { cleanText, makeTemplateScope, type TemplateFacts } from '../core/template-scope.ts'
import { fillTemplate, showValues, type TemplateFault } from '../core/templates.ts'
import { renderHtmlBody } from './html-body.ts'
import { layOutHtml, layOutText } from './layout.ts'
import { withoutMarks } from './link-marks.ts'
import { findLook } from './look.ts'
import { readMailLink } from './mail-links.ts'
import { renderTextBody } from './text-body.ts'

/** The words, as the message keeps them. */
export type MailWords = {
  subject: string
  preheader: string
  body: string
  category: 'lifecycle' | 'transactional'
}

/** What the app says about every mail of its own; null where it says nothing. */
export type MailStyle = { logoUrl: string | null; colour: string | null; postalAddress: string | null }

export type MailFacts = TemplateFacts & { app: { hosts: readonly string[] }; style: MailStyle }

/** A header has one line; more than this nobody's mail program shows. */
const SUBJECT_CHARACTERS = 200
const PREHEADER_CHARACTERS = 200

/**
 * Renders a mail for preview, test and sending alike. A fault names the variable with neither value nor fallback, or
 * says what is wrong with the template; then nothing may be sent.
 */
export function renderMail(words: MailWords, facts: MailFacts): RenderedMail | TemplateFault {
  const scope = makeTemplateScope(facts)
  const parts = [words.subject, words.preheader, words.body].map((source) => fillTemplate(withoutMarks(source), scope))
  const fault = parts.find((part) => !('filled' in part))
  if (fault && !('filled' in fault)) return fault
  const [subject = '', preheader = '', body = ''] = parts.map((part) => ('filled' in part ? part.filled : ''))
  const line = cutLine(showPlain(subject), SUBJECT_CHARACTERS)
  if (line === '') return { missing: 'subject' }
  return assemble(
    { ...words, subject: line, preheader: cutLine(showPlain(preheader), PREHEADER_CHARACTERS), body },
    facts,
  )
}

function assemble({ subject, preheader, body, category }: MailWords, facts: MailFacts): RenderedMail {
  const { app, style, unsubscribeUrl } = facts
  const refused = new Set<string>()
  const readLink = (target: string): string | null => {
    const link = readMailLink(target, { ...app, unsubscribeUrl })
    if ('refused' in link) refused.add(link.refused)
    return 'href' in link ? link.href : null
  }
  const links = { readLink, homeUrl: app.homeUrl }
  const layout = {
    logoUrl: readLogo(style.logoUrl),
    colour: style.colour,
    address: (style.postalAddress ?? '').split(/[\r\n]+/).flatMap((line) => cleanText(line) ?? []),
    subject,
    preheader,
    html: renderHtmlBody(body, links, findLook(style.colour).light),
    text: renderTextBody(body, links),
    appName: cleanText(app.name) ?? '',
    unsubscribeUrl: category === 'lifecycle' ? unsubscribeUrl : null,
  }
  return { subject, html: layOutHtml(layout), text: layOutText(layout), refusedLinks: [...refused] }
}

const readLogo = (text: string | null): string | null => {
  const url = URL.parse(text ?? '')
  return url?.protocol === 'https:' ? url.href : null
}

const same = (text: string): string => text
const showPlain = (filled: string): string => showValues(filled, { value: same, plain: same })

/** One line; cut between characters as people see them, never within one. */
function cutLine(text: string, most: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const characters = Array.from(line)
  return characters.length <= most ? line : `${characters.slice(0, most - 1).join('')}\u2026`
}
