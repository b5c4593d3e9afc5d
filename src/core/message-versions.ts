import type { MessageContent } from '../store/message-types.ts'
import { diffLines, type LineChange } from './line-diff.ts'
import { sayAgain, sayRule, sayTrigger, sayWait } from './message-words.ts'

/** What a message says, line by line, for who compares two versions of it. */
function listLines({ trigger, wait, onlyIf = [], again, ifUnconfirmed, mail }: MessageContent): string[] {
  const { subject, preheader = '', body, ...rest } = mail
  const settings = Object.entries({ ...rest, ifUnconfirmed }).filter(([, value]) => value !== undefined)
  return [
    `When ${sayTrigger(trigger)}`,
    `Sent ${sayWait(wait)}, ${sayAgain(again)}`,
    ...onlyIf.map((rule) => `Only if ${sayRule(rule)}${sayRest(rule)}`),
    ...settings.map(([name, value]) => `${name}: ${value}`),
    `Subject: ${subject}`,
    ...(preheader === '' ? [] : [`First line: ${preheader}`]),
    '',
    ...body.split('\n'),
  ]
}

/** What of a rule is not in its sentence. */
const sayRest = (rule: object): string => {
  const { ifUnknown, quietMinutes } = rule as { ifUnknown?: string; quietMinutes?: number }
  const quiet = quietMinutes === undefined ? '' : `, gone after ${quietMinutes} minutes without a sign`
  return ifUnknown === undefined ? quiet : `${quiet} (if your pages never saw them: ${ifUnknown})`
}

/** What changed from one version to the next; all of the first one is new. */
export const diffVersions = (before: MessageContent | null, after: MessageContent): LineChange[] =>
  diffLines(before ? listLines(before) : [], listLines(after))
