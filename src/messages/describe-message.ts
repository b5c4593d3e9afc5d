/** Describes what a message does. Names and values are quoted. */
import { cleanText } from '../core/visible-text.ts'
import type {
  Again,
  Compared,
  DateTrigger,
  Goal,
  MessageContent,
  Rule,
  Since,
  Trigger,
  Wait,
} from '../store/message-types.ts'
import type { ContactStatus } from '../store/types.ts'
import { groupAlternatives, isDateAmount } from './conditions.ts'

const MINUTES: [unit: string, minutes: number][] = [
  ['day', 1_440],
  ['hour', 60],
]

/** "10 minutes", "1 hour", "2 days": the largest unit without a remainder. */
export function formatMinutes(minutes: number): string {
  const [unit, size] = MINUTES.find(([, whole]) => minutes >= whole && minutes % whole === 0) ?? ['minute', 1]
  return countUnits(minutes / size, unit)
}

const countUnits = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`

export const COMPARISON_LABELS = {
  equal: 'is',
  notEqual: 'is not',
  in: 'is one of',
  contains: 'contains',
  startsWith: 'starts with',
  above: 'is above',
  below: 'is below',
  present: 'is set',
  absent: 'is not set',
} as const

const quote = (value: string | number | boolean): string => (typeof value === 'string' ? `“${value}”` : String(value))

const labelOf = (is: Compared['is'], to: Compared['to']): string => {
  if (is === 'above' && isDateAmount(to)) return 'is after'
  return is === 'below' && isDateAmount(to) ? 'is before' : COMPARISON_LABELS[is]
}

const describeCompared = (name: string, { is, to }: Compared): string =>
  `${name} ${labelOf(is, to)}${to === undefined ? '' : ` ${[to].flat().map(quote).join(', ')}`}`

/** Joined by `or`. */
const describeAlternatives = (group: readonly (Compared & { name: string })[]): string =>
  `${group.length > 1 ? 'either ' : ''}${group.map((one) => describeCompared(one.name, one)).join(' or ')}`

export function describeTrigger(trigger: Trigger): string {
  if ('event' in trigger) {
    const where = groupAlternatives(trigger.where ?? []).map((group) =>
      describeAlternatives(group.map((one) => ({ ...one, name: one.property }))),
    )
    return `${trigger.event} arrives${where.length === 0 ? '' : ` and ${where.join(' and ')}`}`
  }
  if ('page' in trigger) return `${describePage(trigger.page)} is opened`
  if ('api' in trigger) return 'your server requests it'
  if ('message' in trigger) return `“${trigger.message}” is sent`
  if ('date' in trigger) return describeDate(trigger)
  if ('inactiveDays' in trigger) return `someone has been inactive for ${countUnits(trigger.inactiveDays, 'day')}`
  return 'tag' in trigger ? `someone gets the tag “${trigger.tag}”` : 'a person is added'
}

/** Completes "as soon as". */
const describeDate = ({ date, days, when }: DateTrigger): string =>
  days === 0 ? `a person's ${date} is reached` : `it is ${countUnits(days, 'day')} ${when} a person's ${date}`

const describePage = (page: string): string =>
  page.endsWith('*') ? `a page whose path starts with ${page.slice(0, -1)}` : `the page ${page}`

export function describeWait(wait: Wait | undefined): string {
  if (wait && 'until' in wait) return `at the next ${wait.until}`
  return isAtOnce(wait) ? 'immediately' : `${formatMinutes(wait.minutes)} later`
}

const isAtOnce = (wait: Wait | undefined): wait is undefined | { minutes: 0 } =>
  wait === undefined || ('minutes' in wait && wait.minutes === 0)

export const describeEvery = (hours: number): string => `at most once every ${hours === 1 ? 'hour' : `${hours} hours`}`

export function describeAgain(again: Again | undefined): string {
  if (again && 'everyHours' in again) return describeEvery(again.everyHours)
  if (again?.once === 'trigger') return 'each time'
  return again && 'property' in again ? `once per ${describeProperties(again.property)}` : 'once'
}

/** "resultId or url": the first present counts. */
const describeProperties = (property: string | string[]): string =>
  typeof property === 'string' ? property : property.join(' or ')

/** null when each event is on its own, or the email waits for none. */
export function describeCollect({ wait, again }: Pick<MessageContent, 'wait' | 'again'>): string | null {
  const minutes = again && 'collect' in again ? again.collect?.minutes : undefined
  return minutes === undefined || isAtOnce(wait)
    ? null
    : `Until it is sent, the email collects events within ${formatMinutes(minutes)} of the first.`
}

/** After "they", or "people who". */
export const PERSON_STATUSES: Record<ContactStatus, string> = {
  subscribed: 'are subscribed',
  pending: "haven't confirmed their email address",
  unsubscribed: 'are unsubscribed',
  bounced: 'have an address that bounced',
  complained: 'reported an email as spam',
}

export function describeRule(rule: Rule): string {
  switch (rule.rule) {
    case 'away':
      return describeAway(rule)
    case 'seen':
      return 'they opened the result'
    case 'notSeen':
      return "they haven't opened the result"
    case 'done':
      return `${rule.event}${describeSame(rule)} has arrived ${describeSince(rule.since)}`
    case 'notDone':
      return `${rule.event}${describeSame(rule)} hasn't arrived ${describeSince(rule.since)}`
    case 'tag':
      return 'has' in rule ? `they have the tag “${rule.has}”` : `they don't have the tag “${rule.lacks}”`
    case 'field':
      return describeAlternatives([nameField(rule)])
    case 'status':
      return `they ${PERSON_STATUSES[rule.is]}`
  }
}

const nameField = (rule: Extract<Rule, { rule: 'field' }>) => ({ ...rule, name: `their ${rule.field}` })

function describeAway({ minutes = 0, at }: Extract<Rule, { rule: 'away' }>): string {
  if (at === 'trigger') return describeLeftBefore(minutes)
  return minutes === 0 ? 'they are away' : `they left at least ${formatMinutes(minutes)} before sending`
}

const describeLeftBefore = (minutes: number): string =>
  `they left ${minutes === 0 ? '' : `at least ${formatMinutes(minutes)} `}before the trigger`

type Away = Extract<Rule, { rule: 'away' }>

/**
 * Indexes of rules that one sentence describes: "left before the trigger" and "still away" belong together, and so do
 * fields joined by `or`.
 */
export function groupRules(rules: readonly GroupedRule[]): number[][] {
  const away = groupAway(rules)
  return away.reduce<number[][]>((groups, [first = 0, ...rest]) => {
    const last = groups.at(-1)
    const isJoined = rules[first]?.or === true && rules[first - 1]?.rule === 'field' && last?.includes(first - 1)
    if (last && isJoined) last.push(first)
    else groups.push([first, ...rest])
    return groups
  }, [])
}

type GroupedRule = { rule: string; at?: string | undefined; or?: boolean | undefined }

function groupAway(rules: readonly GroupedRule[]): number[][] {
  const away = rules.flatMap(({ rule }, index) => (rule === 'away' ? [index] : []))
  const before = away.find((index) => rules[index]?.at === 'trigger')
  const later = away.find((index) => rules[index]?.at !== 'trigger')
  if (away.length !== 2 || before === undefined || later === undefined) return rules.map((_, index) => [index])
  const first = Math.min(before, later)
  return rules.flatMap((_, index) => (index === first ? [[before, later]] : away.includes(index) ? [] : [[index]]))
}

/** One sentence of `groupRules`. */
export function describeRules(rules: readonly Rule[]): string {
  const [rule, later] = rules
  if (rule?.rule === 'away' && later?.rule === 'away') return describeAwayTwice(rule, later)
  const fields = rules.flatMap((one) => (one.rule === 'field' ? [nameField(one)] : []))
  if (fields.length > 1) return describeAlternatives(fields)
  return rule ? describeRule(rule) : ''
}

function describeAwayTwice({ minutes: before = 0 }: Away, { minutes: after = 0 }: Away): string {
  const left = describeLeftBefore(before)
  return after === 0 ? `${left} and are still away` : `${left} and at least ${formatMinutes(after)} before sending`
}

const describeSame = ({ same }: { same?: string }): string => (same === undefined ? '' : ` with the same ${same}`)

function describeSince(since: Since | undefined): string {
  if (typeof since === 'object') return `in the last ${since.days === 1 ? 'day' : countUnits(since.days, 'day')}`
  return since === 'ever' ? 'at any time' : 'since the trigger'
}

/** One sentence per line: when, how often, then each rule and what follows. */
export function describeMessage({
  trigger,
  wait,
  onlyIf = [],
  again,
  goal,
  holdback,
  topic,
}: MessageContent): string[] {
  const isMixed = new Set(onlyIf.filter(isAsking).map(isSentUnknown)).size > 1
  const complete = (text: string, rule: Rule): string =>
    `${isMixed ? addUnknown(text, rule) : text}.${describeQuiet(rule)}`
  const rules = groupRules(onlyIf).flatMap((group) =>
    describeGroup(
      group.flatMap((index) => onlyIf[index] ?? []),
      complete,
    ),
  )
  const lines = [
    `The email is due ${describeTime(trigger, wait)}.`,
    'api' in trigger ? null : `Each person gets it ${describeHowOften(trigger, again)}.`,
    describeCollect({ wait, again }),
    ...rules.map((rule) => `Only if ${rule}`),
    describeUnseen(onlyIf),
    topic === undefined ? null : `Its topic is “${topic}”: people who unsubscribed from the topic don't get the email.`,
    holdback === undefined ? null : `${holdback}% of people are held back for comparison and don't get it.`,
    goal ? `Its goal is ${describeGoal(goal)}.` : null,
  ]
  return lines.filter((line) => line !== null)
}

/** One sentence, unless its rules differ in what is rarely set. */
function describeGroup(rules: Rule[], complete: (text: string, rule: Rule) => string): string[] {
  const [first] = rules
  const isAlike = new Set(rules.map((rule) => complete(THEY, rule))).size === 1
  return first && isAlike
    ? [complete(describeRules(rules), first)]
    : rules.map((rule) => complete(describeRule(rule), rule))
}

const describeQuiet = (rule: Rule): string =>
  'quietMinutes' in rule && rule.quietMinutes !== undefined
    ? ` They count as away after ${formatMinutes(rule.quietMinutes)} without activity.`
    : ''

type Asking = Extract<Rule, { ifUnknown?: unknown }>

const isAsking = (rule: Rule): rule is Asking => rule.rule === 'away' || rule.rule === 'seen' || rule.rule === 'notSeen'

/** The subject of every rule that asks for page views. */
const THEY = 'they '

/** Of rules that differ about people without page views. */
function addUnknown(text: string, rule: Rule): string {
  if (!isAsking(rule) || rule.ifUnknown === undefined) return text
  return isSentUnknown(rule) ? `${text}, or have no page views` : `they have page views and ${text.slice(THEY.length)}`
}

export const describeGoal = ({ event, days }: Goal): string => `${event} within ${countUnits(days, 'day')}`

export function describeUnseen(rules: readonly Rule[]): string | null {
  const asking = rules.filter(isAsking)
  if (asking.length === 0) return null
  if (!asking.every(isSentUnknown)) return "People without page views don't get it."
  return `People without page views ${asking.some(({ rule }) => rule === 'away') ? 'count as away and ' : ''}also get it.`
}

function describeTime(trigger: Trigger, wait: Wait | undefined): string {
  const [until, minutes] = wait && 'until' in wait ? [wait.until, 0] : [undefined, wait?.minutes ?? 0]
  if ('date' in trigger && trigger.days > 0) {
    const day = `${countUnits(trigger.days, 'day')} ${trigger.when} a person's ${trigger.date}`
    if (until !== undefined) return `${day}, at the next ${until}`
    return minutes === 0 ? day : `${day}, plus ${formatMinutes(minutes)}`
  }
  const start = describeTrigger(trigger)
  if (until !== undefined) return `at the next ${until} after ${start}`
  return minutes === 0 ? `as soon as ${start}` : `${formatMinutes(minutes)} after ${start}`
}

/** "Each time" of triggers that aren't single events. */
function describeHowOften(trigger: Trigger, again: Again | undefined): string {
  if (again && 'once' in again && again.once === 'trigger') {
    if ('date' in trigger) return `once for each date in their ${trigger.date}`
    if ('inactiveDays' in trigger) return 'whenever they become inactive'
    if ('message' in trigger) return `once for each “${trigger.message}” that they are sent`
  }
  return describeAgain(again)
}

/** What a message applies to when it goes live. */
export function describeFrom(trigger: Trigger): string {
  if ('page' in trigger) return 'It applies to new page views only.'
  if ('tag' in trigger) return `It applies to people who get the tag “${trigger.tag}” from now on.`
  if ('contact' in trigger) return 'It applies to people who are added from now on.'
  if ('message' in trigger) return `It applies to emails from “${trigger.message}” that are sent from now on.`
  if ('date' in trigger) return "It applies to people whose due date hasn't come yet."
  if ('inactiveDays' in trigger)
    return `It applies to people who reach ${countUnits(trigger.inactiveDays, 'day')} without activity from now on.`
  return 'api' in trigger
    ? 'Your server can send it from now on.'
    : 'It applies to events that arrive from now on, up to 72 hours after they happened.'
}

/** Whether the rule lets emails go to people never reported by the script. */
export const isSentUnknown = (rule: Asking): boolean =>
  (rule.ifUnknown ?? (rule.rule === 'seen' ? 'skip' : 'send')) === 'send'

export type DescribedSubject = {
  person: { firstName: string | null; email: string | null }
  content: MessageContent
  triggeredAt: number
  at: number
  zone: string
  /** nothing is checked again */
  isOver?: boolean
}

const NAME_CHARACTERS = 40

export function displayName({ firstName, email }: DescribedSubject['person']): string {
  const name = cleanText(firstName ?? '')
  if (name === undefined) return email ?? 'This person'
  const characters = Array.from(name)
  return characters.length > NAME_CHARACTERS ? `${characters.slice(0, NAME_CHARACTERS).join('').trimEnd()}…` : name
}

/** Completes "2 minutes after". */
export function triggerNoun({ trigger }: MessageContent): string {
  if ('event' in trigger) return 'the event'
  if ('page' in trigger) return 'the page view'
  if ('api' in trigger) return 'the call'
  if ('message' in trigger) return 'the earlier email'
  if ('date' in trigger || 'inactiveDays' in trigger) return 'the trigger'
  return 'contact' in trigger ? 'they were added' : 'they got the tag'
}

/** "at the time of the event", "when they were added" */
export function describeTriggerTime(content: MessageContent): string {
  const isOfPerson = 'contact' in content.trigger || 'tag' in content.trigger
  return `${isOfPerson ? 'when' : 'at the time of'} ${triggerNoun(content)}`
}

const VALUE_CHARACTERS = 80

/** Text is quoted and cut; paths and numbers aren't. */
export function formatValue(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value)
  const cut = value.length > VALUE_CHARACTERS ? `${value.slice(0, VALUE_CHARACTERS).toWellFormed()}\u2026` : value
  return /^[\w./:-]+$/.test(cut) ? cut : `"${cut}"`
}

/** Completes "this message asks for": `"pro"`, `a value above 3`, `any value`. */
export function describeCondition({ is, to = '' }: Compared): string {
  const value = [to].flat().map(formatValue).join(' or ')
  switch (is) {
    case 'equal':
    case 'in':
      return value
    case 'notEqual':
      return `anything but ${value}`
    case 'contains':
      return `something that contains ${value}`
    case 'startsWith':
      return `something that starts with ${value}`
    case 'above':
      return isDateAmount(to) ? `a date after ${value}` : `a value above ${value}`
    case 'below':
      return isDateAmount(to) ? `a date before ${value}` : `a value below ${value}`
    case 'present':
      return 'any value'
    case 'absent':
      return 'none'
  }
}

/** Joined by "or" to another condition: `"pro" in plan`. */
export const describeAlternative = (name: string, condition: Compared): string =>
  `${describeCondition(condition)} in ${formatValue(name)}`
