/**
 * LiquidJS without file access, evaluation or long runs: steps, characters and time are limited. Loaded in the template
 * thread and simulations only.
 */
import { findNearest } from '../core/nearest.ts'
import { describeTemplateError, type TemplateFault } from './template-faults.ts'
import {
  Context,
  defaultOperators,
  type Emitter,
  evalTokenValue,
  filters as LIQUID_FILTERS,
  ForTag,
  Liquid,
  type Operators,
  type Parser,
  type TagToken,
  type Template,
  type Token,
  type TopLevelToken,
  Tokenizer,
  toValueSync,
  TypeGuards,
  Value,
} from 'liquidjs'
import { computedMs, RENDER_MS, type TemplateScope } from './template-scope.ts'
import {
  DEFAULT_PLACE,
  formatDate,
  formatMoney,
  formatNumber,
  isCurrency,
  isDateStyle,
  type Place,
  readTime,
} from './template-values.ts'

/** HTML of an author's own is the longest. */
export const TEMPLATE_CHARACTERS = 128 * 1024
const FILLED_CHARACTERS = 256 * 1024
const TEXT_CHARACTERS = 64 * 1024
const ALLOCATED = 1_000_000
const NESTED_TAGS = 20
const RANGE_NUMBERS = 1_000
/** Each rendered tag, value or text is a step. */
const STEPS = 10_000
const BODY_CHARACTERS_PER_STEP = 20
const FILTERED_CHARACTERS_PER_STEP = 1_000
const COMPARED_ITEMS_PER_STEP = 10
const STEPS_PER_CLOCK_READ = 64

/** Nothing that reads files, evaluates text, or prints without `hideValue`. */
const TAGS = new Set(['assign', 'if', 'unless', 'case', 'for', 'break', 'continue', 'comment', '#'])
const FILTERS = new Set(
  `default upcase downcase capitalize strip squish truncate truncatewords append prepend replace remove split join
  first last size reverse sort sort_natural uniq compact slice plus minus times divided_by modulo round floor ceil
  abs at_least at_most`.split(/\s+/),
)
const PLACED = new Map<string, PlacedFilter>([
  ['date', writeDate],
  ['money', writeMoney],
  ['number', writeNumber],
])
type PlacedFilter = (place: Place, value: unknown, argument: unknown) => string | undefined
/** Filters that need text; objects have none. */
const TEXTS = new Set(
  'upcase downcase capitalize strip squish truncate truncatewords append prepend replace remove split join'.split(' '),
)
/** How many numbers each takes, including its input. */
const MATH = new Map(
  Object.entries({
    plus: 2,
    minus: 2,
    times: 2,
    divided_by: 2,
    modulo: 2,
    at_least: 2,
    at_most: 2,
    round: 1,
    floor: 1,
    ceil: 1,
    abs: 1,
  }),
)

const CONTACT_NAMES = ['email', 'firstName', 'lastName', 'tags', 'fields']
const APP_NAMES = ['name', 'homeUrl']

/** Values are hidden; showValues reveals them. */
export type Filled = { filled: string }

// Values pass through Markdown as one word, so nothing in them is interpreted. The random prefix is unknown to authors.
const MARK = `v${crypto.randomUUID().replaceAll('-', '')}x`
const HIDDEN = new RegExp(`${MARK}([0-9a-f]*)z`)
const hideValue = (text: string): string => `${MARK}${Buffer.from(text, 'utf8').toString('hex')}z`

const [TOO_SLOW, TOO_MUCH, TOO_LONG, NESTED_TOO_DEEP, BAD_RANGE, RANGE_ELSEWHERE, NO_CURRENCY, NO_STYLE] = [
  'time limit exceeded',
  'step limit exceeded',
  'length limit exceeded',
  'nesting limit exceeded',
  'range limit exceeded',
  'range outside a loop',
  'no currency: ',
  'no date style: ',
]

class Steps {
  private taken = 0
  private lookAt = STEPS_PER_CLOCK_READ
  constructor(private readonly until: number) {}

  check(): void {
    this.use(1)
  }

  use(steps: number): void {
    this.taken += steps
    if (this.taken > STEPS) throw new Error(TOO_MUCH)
    if (this.taken < this.lookAt) return
    this.lookAt = this.taken + STEPS_PER_CLOCK_READ
    if (computedMs() > this.until) throw new Error(TOO_SLOW)
  }
}

const stepsOf = (context: Context): Steps => context.renderLimit as unknown as Steps

class LimitedFor extends ForTag {
  constructor(token: TagToken, rest: TopLevelToken[], liquid: Liquid, parser: Parser) {
    super(token, rest, liquid, parser)
    const characters = (rest[0]?.begin ?? token.input.length) - token.end
    const steps = Math.ceil(characters / BODY_CHARACTERS_PER_STEP)
    this.templates.unshift({ token, render: (context) => stepsOf(context).use(steps) })
  }

  override *render(context: Context, emitter: Emitter): Generator<unknown, void | string, Template[]> {
    if (TypeGuards.isRangeToken(this.collection)) {
      const { lhs, rhs } = this.collection
      checkRange(toValueSync(evalTokenValue(lhs, context)), toValueSync(evalTokenValue(rhs, context)))
    } else if (
      this.elseTemplates.length > 0 &&
      isMissing(toValueSync(evalTokenValue(this.collection, context, true)))
    ) {
      return void (yield this.liquid.renderer.renderTemplates(this.elseTemplates, context, emitter))
    }
    return yield* super.render(context, emitter)
  }
}

/** LiquidJS materialises ranges, and never ends beyond 2^53. */
function checkRange(first: unknown, last: unknown): void {
  const [low, high] = [readNumber(first), readNumber(last)]
  const isFit = Number.isSafeInteger(low) && Number.isSafeInteger(high)
  if (!isFit || Number(high) - Number(low) >= RANGE_NUMBERS) throw new Error(BAD_RANGE)
}

type Operator = (left: unknown, right: unknown, context: Context) => unknown

/** Comparing lists is counted: conditions have no limit of their own. */
const limitOperator =
  (operator: Operator): Operator =>
  (left, right, context) => {
    if (Array.isArray(left)) stepsOf(context).use(Math.ceil(left.length / COMPARED_ITEMS_PER_STEP))
    return operator(left, right, context)
  }

function limitOperators(): Operators {
  const operators = { ...defaultOperators } as Record<string, Operator>
  for (const name of ['==', '!=', 'contains']) operators[name] = limitOperator(operators[name] as Operator)
  return operators as unknown as Operators
}

function createEngine(): Liquid {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: true,
    // `default` and `if` may use missing values
    lenientIf: true,
    outputEscape: printValue,
    operators: limitOperators(),
    parseLimit: TEMPLATE_CHARACTERS,
    memoryLimit: ALLOCATED,
    // no file access even if a template names a file
    templates: {},
  })
  for (const name of Object.keys(liquid.tags)) if (!TAGS.has(name)) delete liquid.tags[name]
  for (const name of Object.keys(liquid.filters)) liquid.unregisterFilter(name)
  for (const name of FILTERS) liquid.registerFilter(name, limitFilter(name, LIQUID_FILTERS[name] as Filter))
  for (const [name, write] of PLACED) {
    const filter: Filter = function (value, argument) {
      return write((this.context as PlacedContext).place, value, argument)
    }
    liquid.registerFilter(name, limitFilter(name, filter))
  }
  liquid.registerTag('for', LimitedFor)
  return liquid
}

const engine = createEngine()

type FilterCall = { context: Context; liquid: Liquid }
type Filter = (this: FilterCall, value: unknown, ...args: unknown[]) => unknown

/** Returns missing values unchanged, so that `default` works. */
function limitFilter(name: string, filter: Filter): Filter {
  const numbers = MATH.get(name)
  return function (this: FilterCall, value, ...args) {
    const given = [value, ...args]
    stepsOf(this.context).use(1 + Math.ceil(given.reduce<number>(addSize, 0) / FILTERED_CHARACTERS_PER_STEP))
    if (name !== 'default' && given.some(isMissing)) return undefined
    if (numbers !== undefined && given.slice(0, numbers).some((one) => readNumber(one) === undefined)) return undefined
    if (TEXTS.has(name) && given.some(holdsObject)) return undefined
    const made = filter.apply(this, [value, ...args])
    if (typeof made === 'string' && made.length > TEXT_CHARACTERS) throw new Error(TOO_LONG)
    return isMissing(made) ? undefined : made
  }
}

class PlacedContext extends Context {
  constructor(
    scope: TemplateScope,
    readonly place: Place,
    until: number,
  ) {
    const renderLimit = new Steps(until) as unknown as Context['renderLimit']
    super(scope, engine.options, { sync: true }, { renderLimit, liquid: engine })
  }
}

function writeDate(place: Place, value: unknown, style: unknown): string | undefined {
  const named = style === undefined ? 'long' : String(style)
  if (!isDateStyle(named)) throw new Error(`${NO_STYLE}${named}`)
  const at = readTime(value, place, Date.now())
  return at === undefined ? undefined : formatDate(at, named, place)
}

function writeMoney(place: Place, value: unknown, currency: unknown): string | undefined {
  if (typeof currency !== 'string' || !isCurrency(currency)) throw new Error(`${NO_CURRENCY}${String(currency ?? '')}`)
  const amount = readNumber(value)
  return amount === undefined ? undefined : formatMoney(amount, currency.toUpperCase(), place)
}

function writeNumber(place: Place, value: unknown): string | undefined {
  const number = readNumber(value)
  return number === undefined ? undefined : formatNumber(number, place)
}

const addSize = (sum: number, value: unknown): number =>
  sum + (typeof value === 'string' || Array.isArray(value) ? value.length : 1)

const holdsObject = (value: unknown): boolean =>
  Array.isArray(value) ? value.some(holdsObject) : typeof value === 'object' && value !== null

/** Also results that don't exist, such as a division by zero. */
const isMissing = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'number' && !Number.isFinite(value))

function readNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

function printValue(value: unknown): string {
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  if (!isText || isMissing(value)) throw new Error('it is not text')
  const text = String(value)
  if (text.trim() === '') throw new Error('it is empty')
  if (text.length > TEXT_CHARACTERS) throw new Error(TOO_LONG)
  return hideValue(text)
}

/** Parsing costs ten times as much as filling in. */
const PARSED_CHARACTERS = 2_000_000
const parsed = new Map<string, Template[]>()
let parsedCharacters = 0

function parseTemplate(source: string): Template[] {
  const known = parsed.get(source)
  if (known) return known
  if (source.length > TEMPLATE_CHARACTERS) throw new Error(TOO_LONG)
  const tokens = new Tokenizer(source, engine.options.operators).readTopLevelTokens(engine.options)
  checkNesting(tokens)
  const templates = engine.parser.parseTokens(tokens)
  for (const template of walk(templates)) {
    checkRanges(template)
    checkArguments(template)
    for (const argument of template.arguments?.() ?? []) if (argument instanceof Value) allowMissing(argument)
  }
  if (parsedCharacters + source.length > PARSED_CHARACTERS) {
    parsed.clear()
    parsedCharacters = 0
  }
  parsed.set(source, templates)
  parsedCharacters += source.length
  return templates
}

const BLOCKS = new Set(['if', 'unless', 'case', 'for'])
const ENDS = new Set([...BLOCKS].map((name) => `end${name}`))

/** LiquidJS recurses per level. Comments don't count. */
function checkNesting(tokens: readonly TopLevelToken[]): void {
  let [depth, isComment] = [0, false]
  for (const token of tokens) {
    if (!TypeGuards.isTagToken(token)) continue
    const { name } = token
    if (isComment) isComment = name !== 'endcomment'
    else if (name === 'comment') isComment = true
    else if (BLOCKS.has(name)) depth += 1
    else if (ENDS.has(name)) depth -= 1
    if (depth > NESTED_TAGS) throw new Error(NESTED_TOO_DEEP)
  }
}

function* walk(templates: readonly Template[]): Generator<Template> {
  for (const template of templates) {
    yield template
    yield* walk(childrenOf(template))
  }
}

const childrenOf = (template: Template): Template[] =>
  template.children ? (toValueSync(template.children(false, true)) as Template[]) : []

const tokensOf = (template: Template): Token[] =>
  [...(template.arguments?.() ?? [])].flatMap((argument) =>
    argument instanceof Value
      ? [...argument.initial.postfix, ...argument.filters.flatMap(({ args }) => args.flatMap(toTokens))]
      : [argument],
  )

const toTokens = (argument: Value['filters'][number]['args'][number]): Token[] => {
  const token = Array.isArray(argument) ? argument[1] : argument
  return token ? [token] : []
}

/** Other ranges would be built before anyone could check them. */
function checkRanges(template: Template): void {
  for (const token of tokensOf(template)) {
    const inner = template instanceof ForTag && token === template.collection ? partsOf(token) : [token]
    if (inner.some(hasRange)) throw new Error(RANGE_ELSEWHERE)
  }
}

/** Before its last `default`, a value may be missing; LiquidJS allows this for the first filter only. */
function allowMissing(value: Value): void {
  const end = value.filters.findLastIndex(({ name }) => name === 'default') + 1
  if (end === 0) return
  value.value = function* (context) {
    const { strictVariables } = context
    context.strictVariables = false
    let found = yield this.initial.evaluate(context, true)
    for (const filter of this.filters.slice(0, end)) found = yield filter.render(found, context)
    context.strictVariables = strictVariables
    for (const filter of this.filters.slice(end)) found = yield filter.render(found, context)
    return found
  }
}

/** Literal arguments can be checked in advance. */
function checkArguments(template: Template): void {
  for (const argument of template.arguments?.() ?? []) {
    if (!(argument instanceof Value)) continue
    for (const { name, args } of argument.filters) {
      const [currency] = args.flatMap(toTokens)
      const isMissing = currency === undefined
      const style = name === 'date' && currency && TypeGuards.isQuotedToken(currency) ? currency.content : 'long'
      if (!isDateStyle(style)) throw new Error(`${NO_STYLE}${style}`)
      if (name !== 'money' || !(isMissing || TypeGuards.isQuotedToken(currency))) continue
      const code = isMissing ? '' : currency.content
      if (!isCurrency(code)) throw new Error(`${NO_CURRENCY}${code}`)
    }
  }
}

const hasRange = (token: Token): boolean => TypeGuards.isRangeToken(token) || partsOf(token).some(hasRange)

function partsOf(token: Token): Token[] {
  if (TypeGuards.isRangeToken(token)) return [token.lhs, token.rhs]
  if (!TypeGuards.isPropertyAccessToken(token)) return []
  return token.variable ? [token.variable, ...token.props] : token.props
}

class LimitedEmitter implements Emitter {
  buffer = ''
  write(text: unknown): void {
    this.buffer += String(text)
    if (this.buffer.length > FILLED_CHARACTERS) throw new Error(TOO_LONG)
  }
}

export function fillTemplate(
  source: string,
  scope: TemplateScope,
  { place = DEFAULT_PLACE, until = computedMs() + RENDER_MS }: { place?: Place; until?: number } = {},
): Filled | TemplateFault {
  try {
    const templates = parseTemplate(source)
    const context = new PlacedContext(scope, place, until)
    const emitter = new LimitedEmitter()
    toValueSync(engine.renderer.renderTemplates(templates, context, emitter))
    return { filled: emitter.buffer }
  } catch (error) {
    return faultOf(error)
  }
}

/** LiquidJS has the position in the token, and the reason in the wrapped error. */
type LiquidError = { token?: { content?: string }; originalError?: { variableName?: string; message?: string } }

function faultOf(error: unknown): TemplateFault {
  const { token, originalError } = error as LiquidError
  if (originalError?.variableName) return { missing: originalError.variableName }
  const reason = originalError?.message ?? ''
  if (reason === TOO_SLOW) return { slow: true }
  if (reason === 'it is empty' || reason === 'it is not text') return { missing: `${token?.content?.trim()}` }
  return { broken: describeTemplateError(error) }
}

export const showValues = (
  text: string,
  { value, plain }: { value: (value: string) => string; plain: (text: string) => string },
): string =>
  splitValues(text)
    .map((part) => ('value' in part ? value(part.value) : plain(part.plain)))
    .join('')

/** Of a filled template. */
export const isBlankText = (filled = ''): boolean =>
  filled.split(HIDDEN).every((part, index) => (index % 2 === 0 ? part : reveal(part)).trim() === '')

const reveal = (part: string): string => Buffer.from(part, 'hex').toString('utf8')

export const splitValues = (text: string): ({ plain: string } | { value: string })[] =>
  text
    .split(HIDDEN)
    .map((part, index) => (index % 2 === 0 ? { plain: part } : { value: reveal(part) }))
    .filter((part) => !('plain' in part) || part.plain !== '')

/** `variables`: those of a layout; default: those of a message. */
export function findTemplateProblems(source: string, variables?: readonly string[]): string[] {
  const isKnown = (path: Path): boolean =>
    variables === undefined
      ? isKnownVariable(path)
      : variables.some((name) => `${nameOf(path)}.`.startsWith(`${name}.`))
  try {
    const paths = listVariables(parseTemplate(source)).filter((path) => !isKnown(path))
    return [...new Set(paths.map(nameOf))].map((name) => describeUnknown(name, variables))
  } catch (error) {
    const said = describeTemplateError(error)
    return [`${said.charAt(0).toUpperCase()}${said.slice(1)}.`]
  }
}

/** `isField`: of the person, else of an event. */
export type UsedProperty = { name: string; kind: 'text' | 'number' | 'date'; isField?: true }

/** Not event properties; loops may use any other name for events. */
const NOT_EVENTS = new Set(['contact', 'app', 'events', 'forloop', 'unsubscribeUrl'])

const readUse = ([root = '', name = '', field = '']: Path): Omit<UsedProperty, 'kind'> | null => {
  if (root === 'contact' && name === 'fields' && field !== '') return { name: field, isField: true }
  return name === '' || NOT_EVENTS.has(root) ? null : { name }
}

export function listUsedProperties(source: string): UsedProperty[] {
  try {
    const found = new Map<string, UsedProperty>()
    for (const template of walk(parseTemplate(source))) {
      for (const { token, kind } of usesOf(template)) {
        for (const path of pathsIn(token)) {
          const use = readUse(path)
          const key = JSON.stringify(use)
          if (use && (found.get(key)?.kind ?? 'text') === 'text') found.set(key, { ...use, kind })
        }
      }
    }
    return [...found.values()]
  } catch {
    return []
  }
}

type Use = { token: Token; kind: UsedProperty['kind'] }

const usesOf = (template: Template): Use[] =>
  [...(template.arguments?.() ?? [])].flatMap((argument): Use[] => {
    if (!(argument instanceof Value)) {
      return [{ token: argument, kind: TypeGuards.isRangeToken(argument) ? 'number' : 'text' }]
    }
    const kind = kindFor(argument.filters[0]?.name ?? '')
    const initial = argument.initial.postfix.map((token): Use => ({ token, kind }))
    const rest = argument.filters.flatMap(({ name, args }) =>
      args.flatMap(toTokens).map((token): Use => ({ token, kind: MATH.has(name) ? 'number' : 'text' })),
    )
    return [...initial, ...rest]
  })

const kindFor = (filter: string): UsedProperty['kind'] =>
  MATH.has(filter) || filter === 'money' || filter === 'number' ? 'number' : filter === 'date' ? 'date' : 'text'

/** A dynamic name is an empty text. */
type Path = string[]

const nameOf = (path: Path): string => path.filter((name) => name !== '').join('.')

/** Variables that a template doesn't define. LiquidJS's own analysis is quadratic. */
function listVariables(templates: readonly Template[], outer: ReadonlySet<string> = new Set()): Path[] {
  const [names, paths]: [Set<string>, Path[]] = [new Set(outer), []]
  for (const template of templates) {
    paths.push(
      ...tokensOf(template)
        .flatMap(pathsIn)
        .filter(([root = '']) => !names.has(root)),
    )
    for (const { content } of template.localScope?.() ?? []) names.add(content)
    const children = childrenOf(template)
    if (children.length === 0) continue
    paths.push(...listVariables(children, new Set([...names, ...(template.blockScope?.() ?? [])])))
    // assignments in a block are visible after it
    for (const child of walk(children)) for (const { content } of child.localScope?.() ?? []) names.add(content)
  }
  return paths
}

function pathsIn(token: Token): Path[] {
  const inner = partsOf(token).flatMap(pathsIn)
  if (!TypeGuards.isPropertyAccessToken(token) || token.variable) return inner
  return [token.props.map((prop) => ('content' in prop ? String(prop.content) : '')), ...inner]
}

const VARIABLES = [
  'events',
  ...CONTACT_NAMES.map((name) => `contact.${name}`),
  ...APP_NAMES.map((name) => `app.${name}`),
  'unsubscribeUrl',
]
const MOST_COMPARED = 40

function describeUnknown(name: string, variables?: readonly string[]): string {
  const near = name.length > MOST_COMPARED ? undefined : findNearest(name, variables ?? VARIABLES)
  const known =
    variables === undefined ? KNOWN : `Use ${new Intl.ListFormat('en', { type: 'disjunction' }).format(variables)}.`
  return `There is no variable ${name}. ${near === undefined ? known : `Did you mean ${near}?`}`
}

const KNOWN = `Use event.NAME, events, contact.${CONTACT_NAMES.join(', contact.')}, app.${APP_NAMES.join(', app.')} or unsubscribeUrl.`

function isKnownVariable([root, name]: string[]): boolean {
  if (root === 'events') return true
  if (root === 'event') return name !== undefined
  if (root === 'contact') return name !== undefined && CONTACT_NAMES.includes(name)
  if (root === 'app') return name !== undefined && APP_NAMES.includes(name)
  return root === 'unsubscribeUrl' && name === undefined
}
