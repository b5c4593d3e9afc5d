/** Templates of mails (messages.md, Templates; spec 1.5, 6): LiquidJS, with everything left out that could do harm. */
import type { Liquid, Template } from 'liquidjs'
import { sayTemplateError } from './template-faults.ts'
import type { TemplateScope } from './template-scope.ts'

/** What a template may hold and cost. An event's values are at most 2 KB, so no honest template comes near. */
export const TEMPLATE_CHARACTERS = 64 * 1024
const RENDER_MS = 250
const NEW_OBJECTS = 100_000
const FILLED_CHARACTERS = 256 * 1024

/** Nothing that reads files, that evaluates its argument, or that would print without passing `hideValue`. */
const TAGS = new Set(['assign', 'if', 'unless', 'case', 'for', 'break', 'continue', 'comment', '#'])
const FILTERS = new Set(
  `default upcase downcase capitalize strip squish truncate truncatewords append prepend replace remove split join
  first last size reverse sort sort_natural uniq compact slice date plus minus times divided_by modulo round floor ceil
  abs at_least at_most`.split(/\s+/),
)

/** What may stand in a template; `event` and `contact.fields` are the customer's own. */
const CONTACT_NAMES = ['email', 'firstName', 'lastName', 'tags', 'fields']
const APP_NAMES = ['name', 'homeUrl']

/** Why nothing can be made of a template now. `missing` names what has neither a value nor a fallback. */
export type TemplateFault = { missing: string } | { broken: string }

/** Text of the template's author in which every value is hidden; showValues brings them out. */
export type Filled = { filled: string }

// Values pass through Markdown as one word of letters and digits, so it finds nothing in them to act on. The random
// beginning is known to nobody who writes a template.
const MARK = `v${crypto.randomUUID().replaceAll('-', '')}x`
const HIDDEN = new RegExp(`${MARK}([0-9a-f]*)z`)
const hideValue = (text: string): string => `${MARK}${Buffer.from(text, 'utf8').toString('hex')}z`

let opened: Liquid | null = null

/** Opened with the first template that is read: an installation without mails does without it. */
const engine = (): Liquid => (opened ??= createEngine())

function createEngine(): Liquid {
  // loaded here and at once, because filling a template waits for nothing
  const { Liquid } = require('liquidjs') as typeof import('liquidjs')
  const liquid = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: true,
    // `default` and `if` may ask for what is not there
    lenientIf: true,
    outputEscape: printValue,
    parseLimit: TEMPLATE_CHARACTERS,
    renderLimit: RENDER_MS,
    memoryLimit: NEW_OBJECTS,
    timezoneOffset: 0,
    locale: 'en',
    // no template can name a file; this is the wall behind it
    templates: {},
  })
  for (const name of Object.keys(liquid.tags)) if (!TAGS.has(name)) delete liquid.tags[name]
  for (const name of Object.keys(liquid.filters)) if (!FILTERS.has(name)) liquid.unregisterFilter(name)
  return liquid
}

function printValue(value: unknown): string {
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  if (!isText) throw new Error('it is not a text')
  const text = String(value)
  if (text.trim() === '') throw new Error('it is empty')
  return hideValue(text)
}

/** Templates are few and filled often: parsing one costs ten times what filling it does. */
const PARSED_MAX = 500
const parsed = new Map<string, Template[]>()

/** @throws what LiquidJS says is wrong */
function parseTemplate(source: string): Template[] {
  const known = parsed.get(source)
  if (known) return known
  const template = engine().parse(source)
  if (parsed.size >= PARSED_MAX) parsed.clear()
  parsed.set(source, template)
  return template
}

/** Fills a template with the values of one person and event. Blank values count as missing: never a blank mail. */
export function fillTemplate(source: string, scope: TemplateScope): Filled | TemplateFault {
  try {
    const filled = String(engine().renderSync(parseTemplate(source), scope))
    return filled.length > FILLED_CHARACTERS ? { broken: 'what it makes is too long for a mail' } : { filled }
  } catch (error) {
    return faultOf(error)
  }
}

/** LiquidJS keeps the place of an error in its token, and the reason in the error it wraps. */
type LiquidError = { token?: { content?: string }; originalError?: { variableName?: string; message?: string } }

function faultOf(error: unknown): TemplateFault {
  const { token, originalError } = error as LiquidError
  if (originalError?.variableName) return { missing: originalError.variableName }
  const reason = originalError?.message ?? ''
  if (reason === 'it is empty' || reason === 'it is not a text') return { missing: `${token?.content?.trim()}` }
  return { broken: sayTemplateError(error) }
}

/** Makes the text that somebody sees: `value` for what was filled in, `plain` for what the author wrote. */
export const showValues = (
  text: string,
  { value, plain }: { value: (value: string) => string; plain: (text: string) => string },
): string =>
  splitValues(text)
    .map((part) => ('value' in part ? value(part.value) : plain(part.plain)))
    .join('')

/** What the author wrote and what was filled in, in order; empty stretches are left out. */
export const splitValues = (text: string): ({ plain: string } | { value: string })[] =>
  text
    .split(HIDDEN)
    .map((part, index) => (index % 2 === 0 ? { plain: part } : { value: Buffer.from(part, 'hex').toString('utf8') }))
    .filter((part) => !('plain' in part) || part.plain !== '')

/** What is wrong with a template before any event has come: sentences for its author, none when it can be used. */
export function findTemplateProblems(source: string): string[] {
  try {
    const used = engine().globalVariableSegmentsSync(parseTemplate(source))
    const unknown = used.map((segments) => segments.map(String)).filter((segments) => !isKnownVariable(segments))
    return unknown.map((segments) => `There is no variable ${segments.join('.')}. ${KNOWN}`)
  } catch (error) {
    const said = sayTemplateError(error)
    return [`${said.charAt(0).toUpperCase()}${said.slice(1)}.`]
  }
}

/** The names of the event's properties that a template asks for; none of one that cannot be read. */
export function listUsedProperties(source: string): string[] {
  try {
    const used = engine().globalVariableSegmentsSync(parseTemplate(source))
    return [...new Set(used.flatMap(([root, name]) => (root === 'event' && name !== undefined ? [String(name)] : [])))]
  } catch {
    return []
  }
}

/** A value, with a fallback or without; what LiquidJS makes of `size`, `first` and `last` depends on what they stand behind. */
const PLAIN =
  /\{\{\s*((?:event|contact|app|contact\.fields)\.(?!size\b|first\b|last\b|fields\b)\w+|unsubscribeUrl)\s*(?:\|\s*default:\s*(?:"([^"]*)"|'([^']*)')\s*)?\}\}/g

/** The names of its path, and what stands in its place where it is missing. */
export type PlainVariable = { path: string[]; fallback: string | null }

/**
 * The variables of a template in which nothing but values stands: whether it can be filled depends on nothing but which of
 * them have a value. Null of any other template.
 */
export function listPlainVariables(source: string): PlainVariable[] | null {
  const rest = source.replaceAll(PLAIN, '')
  if (rest.includes('{{') || rest.includes('{%')) return null
  return [...source.matchAll(PLAIN)].map(([, path = '', double, single]) => ({
    path: path.split('.'),
    fallback: double ?? single ?? null,
  }))
}

const KNOWN = `Use event.NAME, contact.${CONTACT_NAMES.join(', contact.')}, app.${APP_NAMES.join(', app.')} or unsubscribeUrl.`

function isKnownVariable([root, name]: string[]): boolean {
  if (root === 'event') return name !== undefined
  if (root === 'contact') return name !== undefined && CONTACT_NAMES.includes(name)
  if (root === 'app') return name !== undefined && APP_NAMES.includes(name)
  return root === 'unsubscribeUrl' && name === undefined
}
