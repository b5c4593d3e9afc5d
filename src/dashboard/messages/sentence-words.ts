import {
  describeAgain,
  describeCollect,
  describeGoal,
  describeRules,
  describeTrigger,
  describeUnseen,
  formatMinutes,
  groupRules,
} from '../../messages/describe-message.ts'
import { readMessage } from '../../messages/message-input.ts'
import type { MessageContent, Rule, Trigger } from '../../messages/messages.ts'
import { countRows, type Fields, isJoinedByOr, textOf } from './message-field-names.ts'
import { readFields } from './message-form.ts'
import { isRuleKind, RULE_KINDS } from './message-rule-form.ts'

/** Part of the sentence; only `bold` opens its fields. */
export type Words = { before?: string; bold: string; after?: string }

/** `rows` of the form: two for one sentence about leaving. `label`: the kind of rule. */
export type RuleWords = { rows: number[]; label: string; bold: string }

export type SentenceWords = {
  trigger: Words
  wait: Words
  rules: RuleWords[]
  again: Words
  goal: Words
  holdback: Words
  notes: string
}

/** The form's input as a sentence. A part with errors is named by its kind. */
export function readWords(fields: Fields): SentenceWords {
  const typed = readFields(fields)
  const reading = readMessage(typed)
  const wrong = 'errors' in reading ? reading.errors.map(({ field }) => field) : []
  const isWrong = (path: string): boolean =>
    wrong.some((field) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`))
  // parts without errors fit the schema
  const content = typed as unknown as MessageContent
  const notes =
    isWrong('again') || isWrong('onlyIf') ? [] : [describeCollect(content), describeUnseen(content.onlyIf ?? [])]
  return {
    trigger: isWrong('trigger')
      ? (UNKNOWN_TRIGGERS.get(textOf(fields, 'trigger')) ?? UNKNOWN_TRIGGER)
      : writeTrigger(content.trigger),
    wait: isWrong('wait') ? { before: 'wait ', bold: 'some time', after: ', then send' } : writeWait(content.wait),
    rules: listGroups(fields).map((rows) => writeRule(fields, { rows, content, isWrong })),
    again: { bold: isWrong('again') ? 'how often?' : writeAgain(content) },
    goal: { bold: isWrong('goal') ? 'an event' : content.goal ? describeGoal(content.goal) : 'none' },
    holdback: { bold: isWrong('holdback') ? 'some' : writeHoldback(content.holdback) },
    notes: notes.filter((note) => note !== null && note !== '').join(' '),
  }
}

const UNKNOWN_TRIGGER: Words = { bold: 'an event', after: ' arrives' }
const UNKNOWN_TRIGGERS = new Map<string, Words>([
  ['page', { bold: 'a page', after: ' is opened' }],
  ['tag', { before: 'they get ', bold: 'a tag' }],
  ['message', { bold: 'another message', after: ' is sent' }],
  ['date', { bold: 'a date', after: ' is near' }],
  ['inactive', { before: 'they have been ', bold: 'inactive' }],
])

function writeTrigger(trigger: Trigger): Words {
  if ('event' in trigger && (trigger.where ?? []).length === 0) return { bold: trigger.event, after: ' arrives' }
  if ('tag' in trigger) return { before: 'they get the tag ', bold: `“${trigger.tag}”` }
  if ('contact' in trigger) return { bold: 'a person', after: ' is added' }
  if ('api' in trigger) return { bold: 'your server', after: ' requests it' }
  if ('message' in trigger) return { bold: `“${trigger.message}”`, after: ' is sent' }
  return { bold: describeTrigger(trigger) }
}

function writeWait(wait: MessageContent['wait']): Words {
  if (wait && 'until' in wait) return { before: 'wait until ', bold: wait.until, after: ', then send' }
  if (wait === undefined || wait.minutes === 0) return { before: 'send ', bold: 'immediately' }
  return { before: 'wait ', bold: formatMinutes(wait.minutes), after: ', then send' }
}

const writeAgain = ({ trigger, again }: Pick<MessageContent, 'trigger' | 'again'>): string => {
  if ('api' in trigger) return 'each time'
  const often = describeAgain(again)
  return often === 'once' ? 'once per person' : often
}

const writeHoldback = (holdback: number | undefined): string =>
  holdback === undefined ? 'nobody' : `${holdback}% of people`

/** Rows of the form by the part of the sentence that shows them. */
export const listGroups = (fields: Fields): number[][] =>
  groupRules(
    Array.from({ length: countRows(fields, 'onlyIf') }, (_, index) => ({
      rule: textOf(fields, `onlyIf[${index}].rule`),
      at: textOf(fields, `onlyIf[${index}].at`),
      or: isJoinedByOr(fields, `onlyIf[${index}]`),
    })),
  )

type Writing = { rows: number[]; content: MessageContent; isWrong: (path: string) => boolean }

function writeRule(fields: Fields, { rows, content, isWrong }: Writing): RuleWords {
  const kind = textOf(fields, `onlyIf[${rows[0]}].rule`)
  const label = isRuleKind(kind) ? RULE_KINDS[kind] : 'Unknown rule'
  const rules = rows.flatMap((row): Rule[] => [content.onlyIf?.[row] ?? []].flat())
  const isDescribed = isRuleKind(kind) && !rows.some((row) => isWrong(`onlyIf[${row}]`))
  const bold = isDescribed ? describeRules(rules) : label.charAt(0).toLowerCase() + label.slice(1)
  return { rows, label, bold }
}
