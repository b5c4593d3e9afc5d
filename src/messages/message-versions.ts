import { diffArrays } from 'diff'
import type { MessageContent } from '../store/message-types.ts'
import {
  describeAgain,
  describeCollect,
  describeGoal,
  describeRule,
  describeTrigger,
  describeWait,
} from './describe-message.ts'

export type LineChange = { kind: 'same' | 'added' | 'removed'; text: string }

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

function listLines({
  trigger,
  wait,
  onlyIf = [],
  again,
  goal,
  holdback,
  ifUnconfirmed,
  mail,
}: MessageContent): string[] {
  const { subject, preheader, body, fromName, fromEmail, replyTo, category } = mail
  return [
    `When ${describeTrigger(trigger)}`,
    `Sent ${describeWait(wait)}, ${describeAgain(again)}`,
    ...[describeCollect(again) ?? []].flat(),
    ...onlyIf.map((rule) => `Only if ${describeRule(rule)}${describeRest(rule)}`),
    ...describeIfSet('Goal', goal && describeGoal(goal)),
    ...describeIfSet('Held back', holdback === undefined ? undefined : `${holdback}% of people`),
    ...describeIfSet('Sender name', fromName),
    ...describeIfSet('Sender address', fromEmail),
    ...describeIfSet('Replies go to', replyTo),
    ...describeIfSet('Category', category),
    ...describeIfSet('If sending is unconfirmed', ifUnconfirmed),
    `Subject: ${subject}`,
    ...describeIfSet('Preview text', preheader || undefined),
    '',
    ...body.split('\n'),
  ]
}

const describeIfSet = (name: string, value: string | undefined): string[] =>
  value === undefined ? [] : [`${name}: ${value}`]

const describeRest = (rule: object): string => {
  const { ifUnknown, quietMinutes } = rule as { ifUnknown?: string; quietMinutes?: number }
  const quiet = quietMinutes === undefined ? '' : `, away after ${quietMinutes} minutes of inactivity`
  return ifUnknown === undefined ? quiet : `${quiet} (if they have no page views: ${ifUnknown})`
}

/** The first version shows all lines as added. */
export const diffVersions = (before: MessageContent | null, after: MessageContent): LineChange[] =>
  diffLines(listLines(before ?? after), listLines(after))
