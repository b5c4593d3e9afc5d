import type { MessageContent, MessageStatus } from '../store/message-types.ts'
import { readEmail } from '../core/email.ts'
import { type MessageInput, MessageSchema } from './message-schema.ts'
import type { FieldError } from '../core/refusals.ts'
import { checkWhole } from '../core/inputs.ts'

export type ReadMessage = { name: string; status: MessageStatus | null; content: MessageContent }

const findProblems = checkWhole(MessageSchema)

/** Reads a message of the editor, a file or MCP. Errors name every field that fails by its whole path. */
export function readMessage(value: unknown): { input: ReadMessage } | { errors: FieldError[] } {
  const errors = findProblems(value)
  if (errors.length > 0) return { errors }
  const { name, status, ...content } = value as MessageInput
  const further = checkContent(content)
  return further.length > 0
    ? { errors: further }
    : { input: { name, status: status ?? null, content: withoutUndefined(content) } }
}

/** So that equal messages compare equal. */
const withoutUndefined = (content: MessageContent): MessageContent =>
  JSON.parse(JSON.stringify(content)) as MessageContent

/** Checks that a schema can't express. */
function checkContent(content: MessageContent): FieldError[] {
  const errors: FieldError[] = []
  const add = (field: string, message: string): void => void errors.push({ field, code: 'invalid', message })
  const { trigger, onlyIf = [], again, holdback, mail } = content
  const compared = 'event' in trigger ? (trigger.where ?? []) : []
  for (const [index, condition] of compared.entries()) {
    const fault = findValueFault(condition)
    if (fault !== null) add(`trigger.where[${index}].to`, fault)
  }
  for (const [index, rule] of onlyIf.entries()) {
    const fault = rule.rule === 'field' ? findValueFault(rule) : null
    if (fault !== null) add(`onlyIf[${index}].to`, fault)
    if ((rule.rule === 'seen' || rule.rule === 'notSeen') && !('event' in trigger)) {
      add(`onlyIf[${index}].rule`, "This rule is about the page of the event's `url`. Use an event as the trigger.")
    }
  }
  if (again && 'property' in again && !('event' in trigger)) {
    add('again.property', 'Only events have properties. Use an event as the trigger, or send once per person.')
  }
  if (again && 'collect' in again && again.collect && !('event' in trigger)) {
    add('again.collect.minutes', 'Only events can share an email. Use an event as the trigger, or leave this out.')
  }
  if (holdback !== undefined && mail.category === 'transactional') {
    add('holdback', "Transactional emails can't hold people back. Leave this out.")
  }
  for (const field of ['fromEmail', 'replyTo'] as const) {
    if (mail[field] !== undefined && !readEmail(mail[field])) add(`mail.${field}`, 'Enter one email address.')
  }
  return errors
}

function findValueFault({ is, to }: { is: string; to?: unknown }): string | null {
  const needsValue = is !== 'present' && is !== 'absent'
  if (needsValue === (to !== undefined)) return null
  return needsValue ? 'Enter a value to compare with.' : `Leave this out: "${is}" takes no value.`
}
