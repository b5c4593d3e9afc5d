import { diffArrays } from 'diff'
import { nameLanguage } from '../core/languages.ts'
import type { MailText, MessageContent, Rule } from '../store/message-types.ts'
import { listTexts } from './mail-texts.ts'
import { groupAlternatives } from './conditions.ts'
import { describeMessage } from './describe-message.ts'

export type LineChange = { kind: 'same' | 'added' | 'removed' | 'moved'; text: string }

const MOST_EDITS = 1_000

/** Removed lines come before those that replace them. */
export function diffLines(before: string[], after: string[]): LineChange[] {
  const found = diffArrays(before, after, { maxEditLength: MOST_EDITS })
  const changes = found ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ]
  return changes.flatMap(({ value, added, removed }) =>
    value.map((text): LineChange => ({ kind: added ? 'added' : removed ? 'removed' : 'same', text })),
  )
}

function listLines(content: MessageContent): string[] {
  const { ifUnconfirmed, mail } = content
  const { fromName, fromEmail, replyTo, category } = mail
  return [
    ...describeMessage(content),
    ...describeIfSet('Sender name', fromName),
    ...describeIfSet('Sender address', fromEmail),
    ...describeIfSet('Replies go to', replyTo),
    ...describeIfSet('Category', category),
    ...describeIfSet("If delivery isn't confirmed", ifUnconfirmed),
    ...listTexts(mail).flatMap(({ variant, text }) => [
      ...(variant === null ? [] : ['', `In ${nameLanguage(variant)}`]),
      ...listTextLines(text),
    ]),
  ]
}

const listTextLines = ({ subject, preheader, body, html }: MailText): string[] => [
  `Subject: ${subject}`,
  ...describeIfSet('Preview text', preheader || undefined),
  '',
  ...body.split('\n'),
  ...(html === undefined ? [] : ['', 'HTML:', ...html.split('\n')]),
]

const describeIfSet = (name: string, value: string | undefined): string[] =>
  value === undefined ? [] : [`${name}: ${value}`]

/** The same people get the email. */
const MOVED: LineChange = {
  kind: 'moved',
  text: 'The rules are in a different order. If several fail, the first one is the reason.',
}

/** Without a predecessor, all lines are the same. */
export function diffVersions(before: MessageContent | null, after: MessageContent): LineChange[] {
  const old = before ?? after
  const onlyIf = orderRules(old.onlyIf, after.onlyIf)
  const lines = diffLines(listLines({ ...old, onlyIf }), listLines(after))
  return Bun.deepEquals(onlyIf, old.onlyIf) ? lines : [MOVED, ...lines]
}

/** Those that `after` has too are in its order. */
function orderRules(rules: Rule[] | undefined, after: Rule[] = []): Rule[] | undefined {
  const [groups, groupsAfter] = [rules && groupAlternatives(rules), groupAlternatives(after)]
  const rest = [...groupsAfter]
  const isKept = groups?.map((group) => {
    const index = rest.findIndex((other) => Bun.deepEquals(other, group, true))
    return index >= 0 && rest.splice(index, 1).length > 0
  })
  const kept = groupsAfter.filter((group) => !rest.includes(group)).values()
  return groups?.flatMap((group, index) => (isKept?.[index] ? (kept.next().value ?? group) : group))
}
