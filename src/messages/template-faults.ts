import type { Verdict } from '../store/message-types.ts'
import { DATE_STYLES } from './template-values.ts'

export type TemplateReason = 'missing_value' | 'broken_template' | 'empty_mail' | 'template_too_slow'

export function recordFault(fault: TemplateFault): { reason: TemplateReason; verdict: Verdict } {
  const [reason, value, about] = describeFault(fault)
  return { reason, verdict: { rule: 'template', about, value, verdict: 'fail' } }
}

function describeFault(fault: TemplateFault): [reason: TemplateReason, value: string, about: string | null] {
  if ('missing' in fault) return ['missing_value', 'missing', fault.missing]
  if ('broken' in fault) return ['broken_template', 'broken', fault.broken]
  return 'empty' in fault ? ['empty_mail', 'empty', fault.empty] : ['template_too_slow', 'slow', null]
}

export function describeTemplateFault(fault: TemplateFault): string {
  if ('missing' in fault) {
    const { variable, lacks } = readMissing(fault.missing)
    return `\`${variable}\` has ${lacks}.`
  }
  if ('broken' in fault) return `Template error: ${fault.broken}.`
  return 'empty' in fault ? 'The email has no text.' : 'This email takes too long to render.'
}

const EMPTY_FALLBACK = /^([\w.-]+)(?:\s*\|.*)?\s*\|\s*default:\s*(["'])\s*\2$/s

/** `missing`: a variable, or all between its braces if that turned out empty. `lacks`: completes "it has". */
export function readMissing(
  missing: string,
  where = '',
): { variable: string; lacks: string; isFallbackEmpty: boolean } {
  const [, variable] = EMPTY_FALLBACK.exec(missing) ?? []
  return variable === undefined
    ? { variable: missing, lacks: `neither a value nor a fallback${where}`, isFallbackEmpty: false }
    : { variable, lacks: `no value${where}, and an empty fallback counts as none`, isFallbackEmpty: true }
}

export function readFault({ about, value }: Pick<Verdict, 'about' | 'value'>): TemplateFault {
  if (value === 'empty') return { empty: 'body' }
  if (value === 'slow') return { slow: true }
  return value === 'broken' ? { broken: about ?? '' } : { missing: about ?? '' }
}

/** The line is enough of the position. */
const PLACE = /(?:, file:[^,]*)?, line:(\d+), col:\d+$/
const SNIPPET_CHARACTERS = 40

const DESCRIPTIONS: [said: RegExp, say: (found: string) => string][] = [
  [/^output "(.*)" not closed$/s, (found) => `${quote(found)} does not end with }}`],
  [/^tag "(.*)" not closed$/s, (found) => `${quote(found)} does not end with %}`],
  [/^tag (\{%.*%\}) not closed$/s, (found) => `${quote(found)} is not closed`],
  [/^tag "(.*)" not found$/s, (found) => `${quote(`{% ${found} %}`)} is not allowed here`],
  [/^undefined filter: (.*)$/s, (found) => `there is no filter ${quote(found)}`],
  [/^illegal tag: (.*)$/s, (found) => `${quote(found)} is invalid`],
  [/^(?:invalid value expression|unexpected token)/, () => 'the value between the braces is missing or invalid'],
  [/^\[ not closed$/, () => 'a bracket is not closed'],
  [
    /^(duplicated else|unexpected elsif after else)$/,
    () => '{% else %} is followed by another {% else %} or {% elsif %}',
  ],
  [/^(?:parse length|length) limit exceeded$/, () => 'it is too long'],
  [/^(?:nesting limit exceeded|Maximum call stack)/, () => 'it is nested too deeply'],
  [/^range limit exceeded$/, () => 'a range needs two whole numbers, less than 1,000 apart'],
  [/^range outside a loop$/, () => 'a range such as (1..5) is allowed only in {% for %}'],
  [
    /^no currency: (.*)$/s,
    (found) =>
      found === ''
        ? 'money needs a currency, such as money: "USD"'
        : `${quote(found)} is not a currency code such as "USD"`,
  ],
  [
    /^no date style: (.*)$/s,
    (found) => `${quote(found)} is not a date style. Use ${DATE_STYLES.join(', ')}, or a pattern such as "%d.%m.%Y"`,
  ],
  [/^time limit exceeded$/, () => 'it takes too long to render'],
  [/ limit exceeded$/, () => 'it takes too many steps to render'],
]

export function describeTemplateError(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error)
  const line = isOneLine(error) ? undefined : PLACE.exec(said)?.[1]
  return `${line === undefined ? '' : `on line ${line}, `}${describeUnclosed(error) ?? describeNoCondition(error) ?? describeError(said.replace(PLACE, ''))}`
}

/** LiquidJS names neither the tag nor what it lacks. */
type LiquidError = { message?: string; token?: { input?: string; begin?: number } }

const isOneLine = (error: unknown): boolean => (error as LiquidError).token?.input?.includes('\n') === false

/** Closed by the braces of a later value, or by one brace. */
function describeUnclosed(error: unknown): string | null {
  const { token: { input = '', begin = 0 } = {} } = error as LiquidError
  const start = input.lastIndexOf('{{', begin)
  const [value] = start === -1 ? [] : (/^\{\{[^{}\n]*\}(?!\})/.exec(input.slice(start)) ?? [])
  return value === undefined ? null : `${quote(value)} does not end with }}`
}

function describeNoCondition(error: unknown): string | null {
  const { message = '', token: { input = '', begin = 0 } = {} } = error as LiquidError
  if (!message.startsWith('invalid value expression: ""')) return null
  const [tag] = /\{%-?\s*(?:if|unless|elsif)\s*$/.exec(input.slice(0, begin)) ?? []
  return tag === undefined ? null : `${quote(`${tag.trim()} %}`)} needs a condition`
}

function describeError(said: string): string {
  for (const [pattern, say] of DESCRIPTIONS) {
    const found = pattern.exec(said)
    if (found) return say(found[1] ?? '')
  }
  return 'the value between the braces is invalid'
}

function quote(found: string): string {
  const text = found.replaceAll('\\"', '"').trim()
  return `“${text.length > SNIPPET_CHARACTERS ? `${text.slice(0, SNIPPET_CHARACTERS)}…` : text}”`
}

/**
 * `missing`: a variable without value and fallback. `broken`: an invalid template. `empty`: a part without text.
 * `slow`: out of time.
 */
export type TemplateFault = { missing: string } | { broken: string } | { empty: 'body' } | { slow: true }
