import { diffArrays } from 'diff'
import type { MessageContent } from '../store/message-types.ts'
import { describeMessage } from './describe-message.ts'

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

function listLines(content: MessageContent): string[] {
  const { ifUnconfirmed, mail } = content
  const { subject, preheader, body, fromName, fromEmail, replyTo, category } = mail
  return [
    ...describeMessage(content),
    ...describeIfSet('Sender name', fromName),
    ...describeIfSet('Sender address', fromEmail),
    ...describeIfSet('Replies go to', replyTo),
    ...describeIfSet('Category', category),
    ...describeIfSet("If delivery isn't confirmed", ifUnconfirmed),
    `Subject: ${subject}`,
    ...describeIfSet('Preview text', preheader || undefined),
    '',
    ...body.split('\n'),
  ]
}

const describeIfSet = (name: string, value: string | undefined): string[] =>
  value === undefined ? [] : [`${name}: ${value}`]

/** The first version shows all lines as added. */
export const diffVersions = (before: MessageContent | null, after: MessageContent): LineChange[] =>
  diffLines(listLines(before ?? after), listLines(after))
