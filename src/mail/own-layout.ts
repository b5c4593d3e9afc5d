/** A layout that an app wrote in Liquid and HTML. Its values are escaped, and it must show what each email needs. */
import { fillTemplate, findTemplateProblems, splitValues } from '../messages/templates.ts'
import { describeTemplateFault, type TemplateFault } from '../messages/template-faults.ts'
import { DEFAULT_PLACE, type Place } from '../messages/template-values.ts'
import { directionOf } from '../core/languages.ts'
import { NO_TEXTS, sayText } from '../accounts/app-texts.ts'
import { hidePreheader, type LayoutFacts, reasonOf } from './layout.ts'
import { findTheme } from './theme.ts'

/** Stand for HTML while the layout is filled. */
const [CONTENT, PREHEADER] = [crypto.randomUUID(), crypto.randomUUID()]

const NO_LINK = 'lifecycle emails need an unsubscribe link: `<a href="{{ unsubscribeUrl }}">Unsubscribe</a>`'
const NO_CONTENT = 'add `{{ content }}` where the text of the email goes'
const REPEATED = 'use `{{ content }}` only once'

type Filling = { place: Place; until?: number }

export function fillOwnLayout(
  source: string,
  facts: LayoutFacts,
  filling: Filling,
): { html: string } | Exclude<TemplateFault, { missing: string }> {
  const filled = fillTemplate(source, makeScope(facts), filling)
  if (!('filled' in filled)) return 'slow' in filled ? filled : { broken: describeFault(filled) }
  const parts = splitValues(filled.filled)
  const count = (value: string): number => parts.filter((part) => 'value' in part && part.value === value).length
  if (count(CONTENT) !== 1) return broken(count(CONTENT) === 0 ? NO_CONTENT : REPEATED)
  if (facts.unsubscribeUrl !== null && count(facts.unsubscribeUrl) === 0) return broken(NO_LINK)
  let preheader = hidePreheader(facts)
  const show = (value: string): string => {
    if (value === CONTENT) return facts.html
    if (value !== PREHEADER) return Bun.escapeHTML(value)
    const once = preheader
    preheader = ''
    return once
  }
  return { html: parts.map((part) => ('plain' in part ? part.plain : show(part.value))).join('') }
}

const broken = (what: string): { broken: string } => ({ broken: `in the layout, ${what}` })

function describeFault(fault: Exclude<TemplateFault, { slow: true }>): string {
  if ('broken' in fault) return `in the layout, ${fault.broken}`
  return 'missing' in fault ? `in the layout, \`${fault.missing}\` has no value` : describeTemplateFault(fault)
}

/** Those without a value are left out. */
function makeScope(facts: LayoutFacts): Record<string, unknown> {
  const { subject, appName, homeUrl, lang, texts, logoUrl, colour, address, unsubscribeUrl } = facts
  const { light, dark } = findTheme(colour)
  const known = (name: string, value: string | null) => (value === null || value === '' ? {} : { [name]: value })
  return {
    content: CONTENT,
    preheader: PREHEADER,
    subject,
    lang,
    dir: directionOf(lang),
    app: { ...known('name', appName), ...known('homeUrl', homeUrl) },
    ...known('logoUrl', logoUrl),
    colour: light.button,
    colourText: light.onButton,
    linkColour: light.link,
    darkLinkColour: dark.link,
    postalAddress: address,
    ...known('unsubscribeUrl', unsubscribeUrl),
    reason: reasonOf(facts),
    unsubscribeText: sayText(texts, 'unsubscribe', { app: appName }),
  }
}

const LAYOUT_VARIABLES = [
  'content',
  'preheader',
  'subject',
  'lang',
  'dir',
  'app.name',
  'app.homeUrl',
  'logoUrl',
  'colour',
  'colourText',
  'linkColour',
  'darkLinkColour',
  'postalAddress',
  'unsubscribeUrl',
  'reason',
  'unsubscribeText',
]

const UNSUBSCRIBE_URL = 'https://example.com/unsubscribe'
const SUBJECT = 'https://subject.invalid/'
const MARK = 'data-content'

const BARE: LayoutFacts = {
  subject: SUBJECT,
  preheader: '',
  html: `<p ${MARK}>Text</p>`,
  text: '',
  appName: 'App',
  homeUrl: null,
  lang: 'en',
  texts: NO_TEXTS,
  logoUrl: null,
  colour: null,
  address: [],
  unsubscribeUrl: UNSUBSCRIBE_URL,
}

/** With everything, and without what an app or an email may lack. */
const SAMPLES: LayoutFacts[] = [
  {
    ...BARE,
    preheader: 'Preview',
    text: 'Text',
    homeUrl: 'https://example.com/',
    logoUrl: 'https://example.com/logo.png',
    colour: '#0a7d4f',
    address: ['1 Main Street', 'Town'],
  },
  BARE,
  { ...BARE, unsubscribeUrl: null },
]

/** Why no email could use this layout. */
export function findLayoutProblems(source: string): string[] {
  const problems = findTemplateProblems(source, LAYOUT_VARIABLES)
  if (problems.length > 0) return problems
  const found = SAMPLES.map((facts) => findProblem(source, facts)).find((problem) => problem !== null)
  return found === undefined ? [] : [asSentence(found)]
}

const asSentence = (text: string): string => {
  const plain = text.replace(/^in the layout, /, '')
  return `${plain.charAt(0).toUpperCase()}${plain.slice(1)}.`
}

function findProblem(source: string, facts: LayoutFacts): string | null {
  const filled = fillOwnLayout(source, facts, { place: DEFAULT_PLACE })
  if ('slow' in filled) return 'it takes too long to render'
  if ('broken' in filled) return describeAbsent(filled.broken)
  if ('empty' in filled) return NO_CONTENT
  return findMisplaced(filled.html, facts)
}

/** What some emails don't have. */
function describeAbsent(problem: string): string {
  const name = ['unsubscribeUrl', 'logoUrl', 'app.homeUrl'].find((one) => problem.includes(`\`${one}\` has no value`))
  if (name === undefined) return problem
  const when = name === 'unsubscribeUrl' ? 'in transactional emails' : 'in some apps'
  return `\`${name}\` has no value ${when}. Enclose it: \`{% if ${name} %} ... {% endif %}\``
}

const URL_ATTRIBUTES = new Set(['href', 'src', 'srcset', 'background', 'action', 'poster'])

/** In a comment, an attribute or a style, nobody sees it. */
function findMisplaced(html: string, { unsubscribeUrl }: LayoutFacts): string | null {
  let [contents, links, isSubjectLinked] = [0, 0, false]
  new HTMLRewriter()
    .on(`[${MARK}]`, { element: () => void (contents += 1) })
    .on('*', {
      element({ tagName, attributes }) {
        for (const [name = '', value = ''] of attributes) {
          if (tagName === 'a' && name === 'href' && value === unsubscribeUrl) links += 1
          if (URL_ATTRIBUTES.has(name) && value.includes(SUBJECT)) isSubjectLinked = true
        }
      },
    })
    .transform(html)
  if (contents !== 1) return 'put `{{ content }}` where people see it, not in an attribute, a comment or a style'
  if (unsubscribeUrl !== null && links === 0) return NO_LINK
  return isSubjectLinked ? 'use `{{ subject }}` only as text, not in a URL' : null
}
