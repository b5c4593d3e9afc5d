/** Describes what a message does. Names and values are quoted. */
import type { Again, Compared, MessageContent, Rule, Since, Trigger, Wait } from '../store/message-types.ts'

const MINUTES: [unit: string, minutes: number][] = [
  ['day', 1_440],
  ['hour', 60],
]

/** "10 minutes", "1 hour", "2 days": the largest unit without a remainder. */
export function sayMinutes(minutes: number): string {
  const [unit, size] = MINUTES.find(([, whole]) => minutes >= whole && minutes % whole === 0) ?? ['minute', 1]
  return sayCount(minutes / size, unit)
}

const sayCount = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`

export const COMPARISON_WORDS = {
  equal: 'is',
  notEqual: 'is not',
  contains: 'contains',
  above: 'is above',
  below: 'is below',
  present: 'is there',
  absent: 'is not there',
} as const

const sayCompared = (name: string, { is, to }: Compared): string =>
  `${name} ${COMPARISON_WORDS[is]}${to === undefined ? '' : ` ${typeof to === 'string' ? `“${to}”` : to}`}`

/** "results_ready comes" */
export function sayTrigger(trigger: Trigger): string {
  if ('event' in trigger) {
    const where = (trigger.where ?? []).map((one) => sayCompared(one.property, one))
    return `${trigger.event} comes${where.length === 0 ? '' : ` and ${where.join(' and ')}`}`
  }
  if ('page' in trigger) return `${sayPage(trigger.page)} is opened`
  return 'tag' in trigger ? `somebody gets the tag “${trigger.tag}”` : 'a person is added'
}

const sayPage = (page: string): string =>
  page.endsWith('*') ? `a page that begins with ${page.slice(0, -1)}` : `the page ${page}`

/** "10 minutes later" */
export function sayWait(wait: Wait | undefined): string {
  if (wait && 'until' in wait) return `at the next ${wait.until}`
  return wait === undefined || wait.minutes === 0 ? 'at once' : `${sayMinutes(wait.minutes)} later`
}

/** "once" */
export function sayAgain(again: Again | undefined): string {
  if (again && 'everyHours' in again) return `at most every ${sayCount(again.everyHours, 'hour')}`
  return again && 'property' in again ? `once for each ${sayProperties(again.property)}` : 'once'
}

/** "resultId or url": the first present counts. */
const sayProperties = (property: string | string[]): string =>
  typeof property === 'string' ? property : property.join(' or ')

/** null when each event is on its own. */
export function sayCollect(again: Again | undefined): string | null {
  const minutes = again && 'collect' in again ? again.collect?.minutes : undefined
  return minutes === undefined ? null : `While it waits, further events within ${sayMinutes(minutes)} join it.`
}

/** "they left at least 5 minutes ago" */
export function sayRule(rule: Rule): string {
  switch (rule.rule) {
    case 'away':
      return sayAway(rule)
    case 'seen':
      return 'they opened the page of the results'
    case 'notSeen':
      return 'they have not opened the page of the results'
    case 'done':
      return `${rule.event} came ${saySince(rule.since)}`
    case 'notDone':
      return `${rule.event} did not come ${saySince(rule.since)}`
    case 'tag':
      return 'has' in rule ? `they have the tag “${rule.has}”` : `they do not have the tag “${rule.lacks}”`
    case 'field':
      return sayCompared(`their ${rule.field}`, rule)
    case 'status':
      return `they are ${rule.is}`
  }
}

function sayAway({ minutes = 0, at }: Extract<Rule, { rule: 'away' }>): string {
  const gone = minutes === 0 ? 'they had left' : `they had left ${sayMinutes(minutes)} before`
  if (at === 'trigger') return `${gone} when it started`
  return minutes === 0 ? 'they are away' : `they left at least ${sayMinutes(minutes)} ago`
}

function saySince(since: Since | undefined): string {
  if (typeof since === 'object') return `in the last ${sayCount(since.days, 'day')}`
  return since === 'ever' ? 'ever' : 'since it started'
}

/** Trigger, wait, rules and frequency, and how unknown people are treated. */
export function sayMessage({ trigger, wait, onlyIf = [], again }: MessageContent): string {
  const rules = onlyIf.map(sayRule)
  const all = rules.length < 2 ? rules.join('') : `${rules.slice(0, -1).join(', ')} and ${rules.at(-1)}`
  return `${sayWhen(wait)} ${sayTrigger(trigger)}, the person gets this mail ${sayAgain(again)}${all === '' ? '' : `, if ${all}`}.${sayJoining(again)}${sayUnseen(onlyIf)}`
}

const sayJoining = (again: Again | undefined): string => {
  const said = sayCollect(again)
  return said === null ? '' : ` ${said}`
}

function sayUnseen(rules: readonly Rule[]): string {
  const asking = rules.filter((rule) => rule.rule === 'away' || rule.rule === 'seen' || rule.rule === 'notSeen')
  if (asking.length === 0) return ''
  return ` People whom your pages never saw ${asking.every(isSentUnknown) ? 'get it too' : 'do not get it'}.`
}

function sayWhen(wait: Wait | undefined): string {
  if (wait && 'until' in wait) return `At the next ${wait.until} after`
  return wait === undefined || wait.minutes === 0 ? 'At once when' : `${capitalize(sayMinutes(wait.minutes))} after`
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Whether the rule lets emails go to people never reported by the script. */
export const isSentUnknown = (rule: Extract<Rule, { ifUnknown?: unknown }>): boolean =>
  (rule.ifUnknown ?? (rule.rule === 'seen' ? 'skip' : 'send')) === 'send'
