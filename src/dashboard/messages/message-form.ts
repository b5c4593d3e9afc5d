/**
 * A message as form fields named by their schema path, so that errors find their field. Fields of unselected options
 * are kept but not part of the message.
 */
import type { MailText, MessageContent, MessageRow, Trigger } from '../../messages/messages.ts'
import { byTag, findTag, readTag } from '../../core/languages.ts'
import { readRule, writeRule } from './message-rule-form.ts'
import {
  countRows,
  dropRow,
  type Fields,
  insertRow,
  isJoinedByOr,
  joinByOr,
  numberOf,
  readCompared,
  readList,
  textOf,
  writeCompared,
  writeList,
} from './message-field-names.ts'

const UNITS = { days: 1_440, hours: 60, minutes: 1 } as const
export type WaitUnit = keyof typeof UNITS

export const EMPTY_FIELDS: Fields = {
  trigger: 'event',
  'trigger.event': 'results_ready',
  wait: 'now',
  'wait.unit': 'minutes',
  again: 'person',
  'mail.category': 'lifecycle',
}

export function writeFields({ name, content }: Pick<MessageRow, 'name' | 'content'>): Fields {
  const { trigger, wait, onlyIf = [], again, goal, holdback, topic, ifUnconfirmed, mail } = content
  const fields: Fields = {
    ...EMPTY_FIELDS,
    'trigger.event': '',
    name,
    ...writeTrigger(trigger),
    ...writeWait(wait),
    ...writeAgain(again),
    ...(goal ? { 'goal.event': goal.event, 'goal.days': String(goal.days) } : {}),
    ...(holdback === undefined ? {} : { holdback: String(holdback) }),
    topic: topic ?? '',
    ifUnconfirmed: ifUnconfirmed ?? '',
  }
  const { variants = {}, ...own } = mail
  const write = (path: string, text: object): void => {
    for (const [name, value] of Object.entries(text)) fields[`${path}.${name}`] = withPlainLines(String(value))
  }
  write('mail', own)
  for (const [name, text] of Object.entries(byTag(variants))) write(variantPath(name), text)
  for (const [index, rule] of onlyIf.entries()) Object.assign(fields, writeRule(rule, `onlyIf[${index}]`))
  return fields
}

function writeTrigger(trigger: Trigger): Fields {
  if ('page' in trigger) return { trigger: 'page', 'trigger.page': trigger.page }
  if ('tag' in trigger) return { trigger: 'tag', 'trigger.tag': trigger.tag }
  if ('contact' in trigger) return { trigger: 'contact' }
  if ('api' in trigger) return { trigger: 'api' }
  if ('date' in trigger) {
    const { date, days, when } = trigger
    return { trigger: 'date', 'trigger.date': date, 'trigger.days': String(days), 'trigger.when': when }
  }
  if ('inactiveDays' in trigger) return { trigger: 'inactive', 'trigger.inactiveDays': String(trigger.inactiveDays) }
  if ('message' in trigger) return { trigger: 'message', 'trigger.message': trigger.message }
  const fields: Fields = { trigger: 'event', 'trigger.event': trigger.event }
  for (const [index, { property, ...compared }] of (trigger.where ?? []).entries()) {
    const path = `trigger.where[${index}]`
    Object.assign(fields, { [`${path}.property`]: property }, writeCompared(compared, path))
  }
  return fields
}

function writeWait(wait: MessageContent['wait']): Fields {
  if (wait === undefined) return { wait: 'now' }
  if ('until' in wait) return { wait: 'until', 'wait.until': wait.until }
  const unit = unitOf(wait.minutes)
  return { wait: 'minutes', 'wait.minutes': String(wait.minutes / UNITS[unit]), 'wait.unit': unit }
}

const unitOf = (minutes: number): WaitUnit =>
  (['days', 'hours'] as const).find((unit) => minutes > 0 && minutes % UNITS[unit] === 0) ?? 'minutes'

function writeAgain(again: MessageContent['again']): Fields {
  if (again && 'everyHours' in again) return { again: 'everyHours', 'again.everyHours': String(again.everyHours) }
  const minutes = again?.collect?.minutes
  const collect: Fields = minutes === undefined ? {} : { 'again.collect.minutes': String(minutes) }
  if (again?.once === 'trigger') return { again: 'trigger' }
  return again && 'property' in again
    ? { again: 'property', 'again.property': writeList([again.property].flat()), ...collect }
    : { again: 'person', ...collect }
}

/** One name as text, several as a list. */
function readNames(text: string): string | string[] {
  const names = readList(text)
  return names.length > 1 ? names : (names[0] ?? '')
}

/** Builds the message for validation. Invalid numbers stay text. */
export const readFields = (fields: Fields): Record<string, unknown> => ({
  name: textOf(fields, 'name'),
  trigger: readTrigger(fields),
  wait: readWait(fields),
  onlyIf: readRules(fields),
  again: readAgain(fields),
  goal: readGoal(fields),
  holdback: numberOf(fields, 'holdback'),
  topic: isOfApi(fields) ? undefined : textOf(fields, 'topic') || undefined,
  ifUnconfirmed: textOf(fields, 'ifUnconfirmed') || undefined,
  mail: readMail(fields),
})

function readTrigger(fields: Fields): Record<string, unknown> {
  const kind = textOf(fields, 'trigger')
  if (kind === 'contact') return { contact: 'created' }
  if (kind === 'api') return { api: 'send' }
  if (kind === 'page' || kind === 'tag' || kind === 'message') return { [kind]: textOf(fields, `trigger.${kind}`) }
  if (kind === 'inactive') return { inactiveDays: numberOf(fields, 'trigger.inactiveDays') ?? '' }
  if (kind === 'date') {
    const days = numberOf(fields, 'trigger.days') ?? ''
    return { date: textOf(fields, 'trigger.date'), days, when: textOf(fields, 'trigger.when') || 'before' }
  }
  const where = Array.from({ length: countRows(fields, 'trigger.where') }, (_, index) => {
    const path = `trigger.where[${index}]`
    return { property: textOf(fields, `${path}.property`), ...readCompared(fields, path) }
  })
  return { event: textOf(fields, 'trigger.event'), where: where.length === 0 ? undefined : where }
}

/** The field with the date of the trigger; empty for other triggers. */
export const dateOf = (fields: Fields): string =>
  textOf(fields, 'trigger') === 'date' ? textOf(fields, 'trigger.date') : ''

function readWait(fields: Fields): unknown {
  const kind = textOf(fields, 'wait')
  if (kind === 'until') return { until: textOf(fields, 'wait.until') }
  if (kind !== 'minutes') return undefined
  const count = numberOf(fields, 'wait.minutes') ?? ''
  const unit = textOf(fields, 'wait.unit')
  const minutes = Object.hasOwn(UNITS, unit) ? UNITS[unit as WaitUnit] : 1
  return { minutes: typeof count === 'number' ? count * minutes : count }
}

/** The server decides how often, and its emails are transactional. */
const isOfApi = (fields: Fields): boolean => textOf(fields, 'trigger') === 'api'

function readAgain(fields: Fields): unknown {
  const kind = textOf(fields, 'again')
  if (kind === 'everyHours') return { everyHours: numberOf(fields, 'again.everyHours') ?? '' }
  const minutes = numberOf(fields, 'again.collect.minutes')
  const collect = minutes === undefined ? {} : { collect: { minutes } }
  if (isOfApi(fields) && kind === 'person' && minutes === undefined) return undefined
  if (kind === 'trigger') return { once: 'trigger', ...collect }
  if (kind === 'property') {
    return { once: 'property', property: readNames(textOf(fields, 'again.property')), ...collect }
  }
  return { once: 'person', ...collect }
}

/** Defaults of the form. */
export const GOAL_DAYS = 7

/** Without an event, days alone are an error. */
function readGoal(fields: Fields): unknown {
  const [event, days] = [textOf(fields, 'goal.event'), numberOf(fields, 'goal.days')]
  return event === '' && days === undefined ? undefined : { event, days: days ?? GOAL_DAYS }
}

function readRules(fields: Fields): unknown {
  const count = countRows(fields, 'onlyIf')
  return count === 0 ? undefined : Array.from({ length: count }, (_, index) => readRule(fields, `onlyIf[${index}]`))
}

/** Where the fields of a language are. */
export const variantPath = (name: string): string => `mail.variants.${name}`

/** The languages of a form, in its order. */
export function listVariants(fields: Fields): string[] {
  const found = Object.keys(fields).flatMap((name) => /^mail\.variants\.([\w-]+)\.subject$/.exec(name)?.[1] ?? [])
  return [...new Set(found)]
}

const readText = (fields: Fields, path: string) => ({
  subject: textOf(fields, `${path}.subject`),
  preheader: textOf(fields, `${path}.preheader`) || undefined,
  body: withPlainLines(fields[`${path}.body`] ?? ''),
  html: withPlainLines(fields[`${path}.html`] ?? '').trim() || undefined,
})

export const categoryOf = (fields: Fields): string =>
  isOfApi(fields) ? 'transactional' : textOf(fields, 'mail.category')

export function readMail(fields: Fields) {
  const optional = (name: string) => textOf(fields, `mail.${name}`) || undefined
  const variants = listVariants(fields).map((name) => [name, readText(fields, variantPath(name))])
  const category = categoryOf(fields)
  return {
    ...readText(fields, 'mail'),
    variants: variants.length === 0 ? undefined : (Object.fromEntries(variants) as Record<string, MailText>),
    fromName: optional('fromName'),
    fromEmail: optional('fromEmail'),
    replyTo: optional('replyTo'),
    category: category === '' || category === 'lifecycle' ? undefined : category,
  }
}

/** Forms send CRLF. */
const withPlainLines = (text: string): string => text.replaceAll('\r\n', '\n')

/** Compares two messages. Omitted fields equal their defaults. */
export const saysSame = (fields: Fields, message: Pick<MessageRow, 'name' | 'content'>): boolean =>
  readsSame(fields, writeFields(message))

export const readsSame = (fields: Fields, others: Fields): boolean =>
  Bun.deepEquals(toJson(readFields(fields)), toJson(readFields(others)), true)

const toJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** The part of the sentence, or the language, that the page shows open. */
export const OPEN = 'open'

/** The field that names a language to add. */
export const NEW_VARIANT = 'newVariant'

/** Begins with the message's own text. */
function addVariant(fields: Fields): Fields {
  const tag = readTag(textOf(fields, NEW_VARIANT))
  if (tag === null || findTag(listVariants(fields), tag) !== undefined) return fields
  const path = variantPath(tag)
  const own = ['subject', 'preheader', 'body', 'html'].map((name) => [`${path}.${name}`, fields[`mail.${name}`] ?? ''])
  return { ...Object.fromEntries(own), ...fields, [NEW_VARIANT]: '', [OPEN]: path }
}

const dropVariant = (fields: Fields, name: string): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([field]) => !field.startsWith(`${variantPath(name)}.`)))

/** Adds or removes rows; null for other buttons. */
export function changeRows(fields: Fields, action: string): Fields | null {
  const [verb = '', list = '', ...words] = action.split(' ')
  if (list === 'mail.variants') return verb === 'add' ? addVariant(fields) : dropVariant(fields, words[0] ?? '')
  if (list !== 'onlyIf' && list !== 'trigger.where') return null
  if (verb === 'remove') return dropRows(fields, list, words.map(Number))
  if (verb === 'either') return addField(fields, words.map(Number))
  if (verb !== 'add') return null
  const path = `${list}[${countRows(fields, list)}]`
  if (list === 'trigger.where') {
    const joined = words[0] === 'or' ? joinByOr(path) : {}
    return { ...fields, [`${path}.property`]: '', [`${path}.is`]: 'equal', ...joined, [OPEN]: 'trigger' }
  }
  return { ...fields, [`${path}.rule`]: words[0] || 'notSeen', [OPEN]: path }
}

/** One more field after the last of `rows`, joined by `or`. */
function addField(fields: Fields, rows: number[]): Fields {
  const row = Math.min(Math.max(...rows) + 1, countRows(fields, 'onlyIf'))
  const path = `onlyIf[${row}]`
  const added = { [`${path}.rule`]: 'field', [`${path}.is`]: 'equal', ...joinByOr(path) }
  return { ...insertRow(fields, 'onlyIf', row), ...added, [OPEN]: path }
}

function dropRows(fields: Fields, list: 'onlyIf' | 'trigger.where', rows: number[]): Fields {
  const left = rows.toSorted((a, b) => b - a).reduce((kept, row) => dropOne(kept, list, row), fields)
  if (list === 'trigger.where') return { ...left, [OPEN]: 'trigger' }
  const [row = 0] = rows
  const isLast = isJoinedByOr(fields, `${list}[${row}]`)
  const isOneOfSeveral = rows.length === 1 && (isLast || isJoinedByOr(fields, `${list}[${row + 1}]`))
  return isOneOfSeveral ? { ...left, [OPEN]: `${list}[${isLast ? row - 1 : row}]` } : left
}

/** When the first of several alternatives is removed, the next one takes its place. */
function dropOne(fields: Fields, list: 'onlyIf' | 'trigger.where', row: number): Fields {
  const left = dropRow(fields, list, row)
  if (isJoinedByOr(fields, `${list}[${row}]`)) return left
  const { [`${list}[${row}].or`]: _, ...rest } = left
  return rest
}

const NAME_CHARACTERS = 100

/** "Name (copy)", or with a number if that is taken. */
export function nameCopy(name: string, taken: readonly string[]): string {
  for (let nth = 1; ; nth++) {
    const suffix = nth === 1 ? ' (copy)' : ` (copy ${nth})`
    const base = name.replace(/ \(copy(?: \d+)?\)$/, '').slice(0, NAME_CHARACTERS - suffix.length)
    const copy = `${base.toWellFormed().trim()}${suffix}`
    if (!taken.includes(copy)) return copy
  }
}
