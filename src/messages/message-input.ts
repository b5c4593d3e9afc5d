import { isJsonObject, quoteName } from '../core/json.ts'
import { byTag, findTag, hintOfTag, readTag } from '../core/languages.ts'
import type { Mail, MessageContent, MessageStatus, Trigger } from '../store/message-types.ts'
import { readEmail } from '../core/email.ts'
import { describeWrongAddress, type MessageInput, MessageSchema, SAY_BODY } from './message-schema.ts'
import type { FieldError } from '../core/refusals.ts'
import { checkWhole } from '../core/inputs.ts'
import { checkConditions, checkFieldRules } from './condition-checks.ts'

export type ReadMessage = { name: string; status: MessageStatus | null; content: MessageContent }

const findProblems = checkWhole(MessageSchema)

/** Reads a message of the editor, a file or MCP. Errors name every field that fails by its whole path. */
export function readMessage(value: unknown): { input: ReadMessage } | { errors: FieldError[] } {
  const errors = [...findProblems(value), ...findNoText(value)]
  if (errors.length > 0) return { errors }
  const { name, status, mail, ...rest } = value as MessageInput
  const content: MessageContent = { ...rest, mail: withBodies(mail) }
  const further = checkContent(content)
  return further.length > 0
    ? { errors: further }
    : {
        input: {
          name,
          status: status ?? null,
          content: withoutUndefined({ ...content, mail: withTags(content.mail) }),
        },
      }
}

function withBodies({ variants = {}, ...mail }: MessageInput['mail']): Mail {
  const others = Object.entries(variants).map(([name, text]) => [name, withBody(text)] as const)
  return { ...withBody(mail), ...(others.length === 0 ? {} : { variants: Object.fromEntries(others) }) }
}

const withTags = (mail: Mail): Mail => (mail.variants ? { ...mail, variants: byTag(mail.variants) } : mail)

const withBody = <Text extends { body?: string }>(text: Text) => ({ ...text, body: text.body ?? '' })

/** An email has a text, HTML of its own, or both. */
function findNoText(value: unknown): FieldError[] {
  const mail = isJsonObject(value) && isJsonObject(value.mail) ? value.mail : null
  if (mail === null) return []
  const variants = Object.entries(isJsonObject(mail.variants) ? mail.variants : {})
  const texts = [['mail', mail], ...variants.map(([name, text]) => [`mail.variants.${name}`, text])] as const
  return texts.flatMap(([path, text]): FieldError[] => {
    if (!isJsonObject(text) || text.html !== undefined || (text.body ?? '') !== '') return []
    return [{ field: `${path}.body`, code: text.body === undefined ? 'missing' : 'invalid', message: SAY_BODY }]
  })
}

/** So that equal messages compare equal. */
const withoutUndefined = (content: MessageContent): MessageContent =>
  JSON.parse(JSON.stringify(content)) as MessageContent

const fault = (field: string, message: string): FieldError => ({ field, code: 'invalid', message })

/** Checks that a schema can't express. */
function checkContent(content: MessageContent): FieldError[] {
  const { trigger, holdback, topic, mail } = content
  const addresses = (['fromEmail', 'replyTo'] as const).filter(
    (field) => mail[field] !== undefined && !readEmail(mail[field]),
  )
  return [
    ...('api' in trigger ? checkSent(content) : checkTriggered(content)),
    ...(holdback !== undefined && mail.category === 'transactional'
      ? [fault('holdback', "Transactional emails can't hold people back. Leave this out.")]
      : []),
    ...(topic !== undefined && mail.category === 'transactional'
      ? [
          fault(
            'topic',
            "Transactional emails have no topic, because people can't unsubscribe from them. Leave this out.",
          ),
        ]
      : []),
    ...addresses.map((field) => fault(`mail.${field}`, describeWrongAddress(mail[field]))),
    ...Object.keys(mail.variants ?? {}).flatMap(findLanguageFault),
  ]
}

function findLanguageFault(name: string, index: number, names: string[]): FieldError[] {
  const field = `mail.variants.${name}`
  if (readTag(name) === null)
    return [fault(field, `${quoteName(name)} is not a language, such as de or de-CH.${hintOfTag(name)}`)]
  const isRepeated = findTag(names.slice(0, index), name) !== undefined
  return isRepeated ? [fault(field, 'This language is listed twice. Remove one.')] : []
}

/** With the trigger `api`, the server decides what rules decide otherwise. */
function checkSent({ wait, onlyIf = [], again, mail }: MessageContent): FieldError[] {
  const [when, who, often] = ['when this message is sent', 'who gets this message', 'how often this message is sent']
  return [
    ...(wait === undefined ? [] : [fault('wait', `Your server decides ${when}. Leave this out.`)]),
    ...(onlyIf.length === 0 ? [] : [fault('onlyIf', `Your server decides ${who}. Remove the rules.`)]),
    ...(again === undefined ? [] : [fault('again', `Your server decides ${often}. Leave this out.`)]),
    ...(mail.category === 'transactional'
      ? []
      : [fault('mail.category', 'Emails that your server sends are transactional. Choose that category.')]),
  ]
}

const EACH_TIME =
  'Only messages triggered by another message, a date or inactivity can be sent each time. Choose another frequency.'
const FREQUENCIES = '`once` with "person", `once` with "property" if an event triggers the message, or `everyHours`'

/** The editor lists what can be chosen. Files and calls don't. */
export const nameChoices = (message: string): string =>
  message === EACH_TIME ? EACH_TIME.replace(/\.$/, `: ${FREQUENCIES}.`) : message

function checkTriggered(content: MessageContent): FieldError[] {
  const { trigger, onlyIf = [], again } = content
  const conditions = [...checkConditions('event' in trigger ? (trigger.where ?? []) : []), ...checkFieldRules(onlyIf)]
  const errors = conditions.map(({ field, message }) => fault(field, message))
  // whether another message has events is checked with all messages
  errors.push(...checkOfEvent(content, 'event' in trigger || 'message' in trigger))
  if (again && 'collect' in again && again.collect && !('event' in trigger)) {
    const message = 'Only events can share an email. Use an event as the trigger, or leave this out.'
    errors.push(fault('again.collect.minutes', message))
  }
  if (again && 'once' in again && again.once === 'trigger' && !isRepeated(trigger)) {
    errors.push(fault('again.once', EACH_TIME))
  }
  return errors
}

/** Whether a message may be sent once per trigger. */
const isRepeated = (trigger: Trigger): boolean => 'message' in trigger || 'date' in trigger || 'inactiveDays' in trigger

/** What only messages with an event can have. */
export function checkOfEvent({ onlyIf = [], again }: MessageContent, hasEvent: boolean): FieldError[] {
  if (hasEvent) return []
  const errors: FieldError[] = []
  for (const [index, rule] of onlyIf.entries()) {
    if (rule.rule === 'seen' || rule.rule === 'notSeen') {
      const message = "This rule is about the page at the event's `url`. Use an event as the trigger."
      errors.push(fault(`onlyIf[${index}].rule`, message))
    }
    if ('same' in rule && rule.same !== undefined) {
      const message = 'Only events have properties. Use an event as the trigger, or leave this out.'
      errors.push(fault(`onlyIf[${index}].same`, message))
    }
  }
  if (again && 'property' in again) {
    const message = 'Only events have properties. Use an event as the trigger, or send once per person.'
    errors.push(fault('again.property', message))
  }
  return errors
}
