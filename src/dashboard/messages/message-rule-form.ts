import type { Rule } from '../../messages/messages.ts'
import { type Fields, numberOf, readCompared, textOf, writeCompared } from './message-field-names.ts'

/** Rules as offered by the editor: `tag` becomes two. */
export const RULE_KINDS = {
  notSeen: "They haven't opened the result",
  seen: 'They opened the result',
  away: 'They left',
  notDone: "An event didn't arrive",
  done: 'An event arrived',
  tagHas: 'They have a tag',
  tagLacks: "They don't have a tag",
  field: 'A field has a certain value',
  status: 'They have a certain status',
} as const

export type RuleKind = keyof typeof RULE_KINDS

export const isRuleKind = (text: string): text is RuleKind => Object.hasOwn(RULE_KINDS, text)

/** Fields of a stored rule; `path` is its schema path, such as `onlyIf[0]`. */
export function writeRule(rule: Rule, path: string): Fields {
  const fields = (values: Record<string, unknown>): Fields =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [`${path}.${name}`, value === undefined ? '' : String(value)]),
    )
  switch (rule.rule) {
    case 'done':
    case 'notDone': {
      const isDays = typeof rule.since === 'object'
      const days = isDays ? { 'since.days': (rule.since as { days: number }).days } : {}
      const { event, same } = rule
      return fields({ rule: rule.rule, event, since: isDays ? 'days' : (rule.since ?? 'trigger'), ...days, same })
    }
    case 'tag':
      return 'has' in rule ? fields({ rule: 'tagHas', has: rule.has }) : fields({ rule: 'tagLacks', lacks: rule.lacks })
    case 'field':
      return { ...fields({ rule: 'field', field: rule.field }), ...writeCompared(rule, path) }
    case 'seen':
      return fields({ rule: 'seen', ifUnknown: rule.ifUnknown ?? 'skip' })
    case 'notSeen':
      return fields({ rule: 'notSeen', ifUnknown: rule.ifUnknown ?? 'send' })
    case 'away':
      return fields({ at: 'sending', ...rule, ifUnknown: rule.ifUnknown ?? 'send' })
    case 'status':
      return fields(rule)
  }
}

/** Builds the rule for validation. */
export function readRule(fields: Fields, path: string): Record<string, unknown> {
  const kind = textOf(fields, `${path}.rule`)
  const text = (name: string): string => textOf(fields, `${path}.${name}`)
  const ifUnknown = text('ifUnknown') || undefined
  switch (kind) {
    case 'tagHas':
      return { rule: 'tag', has: text('has') }
    case 'tagLacks':
      return { rule: 'tag', lacks: text('lacks') }
    case 'done':
    case 'notDone': {
      const since = text('since') || 'trigger'
      const days = numberOf(fields, `${path}.since.days`) ?? ''
      const same = text('same') || undefined
      return { rule: kind, event: text('event'), since: since === 'days' ? { days } : since, same }
    }
    case 'field':
      return { rule: kind, field: text('field'), ...readCompared(fields, path) }
    case 'status':
      return { rule: kind, is: text('is') || 'subscribed' }
    case 'away':
      return { rule: kind, ...readAway(fields, path), ifUnknown }
    default:
      return { rule: kind, ifUnknown }
  }
}

const readAway = (fields: Fields, path: string) => ({
  minutes: numberOf(fields, `${path}.minutes`),
  at: textOf(fields, `${path}.at`) || undefined,
  quietMinutes: numberOf(fields, `${path}.quietMinutes`),
})
