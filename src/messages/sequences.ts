/** Messages that are triggered by another one. */
import { readPublicId } from '../core/ids.ts'
import type { FieldError } from '../core/refusals.ts'
import type { MessageContent, MessageRow, Trigger } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { AppRow } from '../store/types.ts'
import { checkOfEvent } from './message-input.ts'

/** `id` null: a new message. */
type Draft = { id: number | null; name: string; content: MessageContent }

type Linked<One extends Draft> = { drafts: One[]; errors: FieldError[][] }

/**
 * Drafts with the names of the messages that trigger them, and what is wrong with these, by draft. `stored`: the messages
 * of the app.
 */
export function linkDrafts<One extends Draft>(drafts: readonly One[], stored: readonly MessageRow[]): Linked<One> {
  const findName = createNames(drafts, stored)
  const named = drafts.map((draft) => ({ ...draft, content: nameSource(draft.content, findName) }))
  const contents = new Map([...stored, ...named].map(({ name, content }) => [name, content]))
  const errors = named.map(({ name, content }) => {
    if (!('message' in content.trigger)) return []
    const path = followTriggers(name, content.trigger, (source) => contents.get(findName(source) ?? '')?.trigger)
    if ('fault' in path) return [{ field: 'trigger.message', code: 'invalid', message: path.fault }]
    return checkOfEvent(content, 'event' in path.first)
  })
  return { drafts: named, errors }
}

/** By name or ID; null: there is no such message. A draft may rename a message. */
function createNames(drafts: readonly Draft[], stored: readonly MessageRow[]): (source: string) => string | null {
  const renamed = new Map(drafts.flatMap(({ id, name }) => (id === null ? [] : [[id, name] as const])))
  const names = new Set([...stored.map(({ id, name }) => renamed.get(id) ?? name), ...drafts.map(({ name }) => name)])
  return (source) => {
    if (names.has(source)) return source
    const id = readPublicId('msg', source)
    const found = stored.find((one) => one.id === id || one.name === source)
    return found ? (renamed.get(found.id) ?? found.name) : null
  }
}

function nameSource(content: MessageContent, findName: (source: string) => string | null): MessageContent {
  const { trigger } = content
  const message = 'message' in trigger ? findName(trigger.message) : null
  return message === null ? content : { ...content, trigger: { message } }
}

const UNKNOWN = 'There is no message with this name or ID. Choose another one, or create it first.'

/** The trigger of the first message of the sequence. */
function followTriggers(
  name: string,
  trigger: Trigger,
  triggerOf: (source: string) => Trigger | undefined,
): { first: Trigger } | { fault: string } {
  const path = [name]
  let current = trigger
  while ('message' in current) {
    const { message } = current
    if (path.includes(message)) return { fault: describeCircle([...path, message]) }
    path.push(message)
    const next = triggerOf(message)
    if (next === undefined) return { fault: UNKNOWN }
    current = next
  }
  return { first: current }
}

const describeCircle = (path: readonly string[]): string =>
  `These messages would trigger each other: ${path.map((name) => `“${name}”`).join(' → ')}. Choose another message.`

/**
 * With the trigger of the first message of the sequence, which the values of the email come from. `drafts`: saved
 * together with it.
 */
export async function withFirstTrigger(
  store: Store,
  app: AppRow,
  content: MessageContent,
  drafts: readonly Pick<Draft, 'name' | 'content'>[] = [],
): Promise<MessageContent> {
  if (!('message' in content.trigger)) return content
  const stored = await store.listMessages(app.id)
  const triggers = new Map([...stored, ...drafts].map((one) => [one.name, one.content.trigger]))
  const path = followTriggers('', content.trigger, (source) => triggers.get(source))
  const isTriggered = 'first' in path && !('api' in path.first)
  return { ...content, trigger: isTriggered ? path.first : { contact: 'created' } }
}

/** Names of the messages that this one triggers. */
export const listFollowers = (messages: readonly MessageRow[], name: string): string[] =>
  messages.flatMap(({ name: follower, content: { trigger } }) =>
    'message' in trigger && trigger.message === name ? follower : [],
  )
