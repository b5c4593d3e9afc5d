import type { MessageContent } from '../store/message-types.ts'
import { diffLines, type LineChange } from './line-diff.ts'
import { sayAgain, sayCollect, sayRule, sayTrigger, sayWait } from './message-words.ts'

/** What a message says, line by line, for who compares two versions of it. */
function listLines({ trigger, wait, onlyIf = [], again, ifUnconfirmed, mail }: MessageContent): string[] {
  const { subject, preheader, body, fromName, fromEmail, replyTo, category } = mail
  return [
    `When ${sayTrigger(trigger)}`,
    `Sent ${sayWait(wait)}, ${sayAgain(again)}`,
    ...[sayCollect(again) ?? []].flat(),
    ...onlyIf.map((rule) => `Only if ${sayRule(rule)}${sayRest(rule)}`),
    ...sayWhereSet("Sender's name", fromName),
    ...sayWhereSet("Sender's address", fromEmail),
    ...sayWhereSet('Replies go to', replyTo),
    ...sayWhereSet('Kind of mail', category),
    ...sayWhereSet('If nobody can say whether it went out', ifUnconfirmed),
    `Subject: ${subject}`,
    ...sayWhereSet('First line', preheader || undefined),
    '',
    ...body.split('\n'),
  ]
}

const sayWhereSet = (name: string, value: string | undefined): string[] =>
  value === undefined ? [] : [`${name}: ${value}`]

/** What of a rule is not in its sentence. */
const sayRest = (rule: object): string => {
  const { ifUnknown, quietMinutes } = rule as { ifUnknown?: string; quietMinutes?: number }
  const quiet = quietMinutes === undefined ? '' : `, gone after ${quietMinutes} minutes without a sign`
  return ifUnknown === undefined ? quiet : `${quiet} (if your pages never saw them: ${ifUnknown})`
}

/** What changed from one version to the next; of the first one, with nothing before it, all as it is. */
export const diffVersions = (before: MessageContent | null, after: MessageContent): LineChange[] =>
  diffLines(listLines(before ?? after), listLines(after))
