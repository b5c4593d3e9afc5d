import { Type } from '@sinclair/typebox'
import { type Body, faultOf, warnOfUnknown } from '../../core/inputs.ts'
import { publicId } from '../../core/ids.ts'
import type { Unstarted } from '../../deliveries/message-explanations.ts'
import type { QueuedMessage } from '../../deliveries/queued-messages.ts'
import type { FieldError } from '../../core/refusals.ts'
import type { Names } from '../arguments.ts'
import { takeWithin } from '../budget.ts'
import { cleanText } from '../untrusted.ts'

export const DRY_RUN = Type.Optional(Type.Boolean({ say: 'Send true or false.' }))

/** What a tool takes or names as ignored, and warnings of all else, as the API has for fields. */
export function splitArguments(args: Body, known: Names, ignored: readonly string[] = []) {
  const isTaken = ([name]: [string, unknown]): boolean => known.has(name) || ignored.includes(name)
  const [taken, others] = [Object.entries(args).filter(isTaken), Object.entries(args).filter((one) => !isTaken(one))]
  return { body: Object.fromEntries(taken), unknown: warnOfUnknown(Object.fromEntries(others), known) }
}

/** Only true and false: null could mean either. */
export const findDryRunFault = (dryRun: unknown): FieldError | null =>
  dryRun === undefined || typeof dryRun === 'boolean'
    ? null
    : { field: 'dryRun', ...faultOf(DRY_RUN, 'invalid', dryRun) }

const MESSAGES_BYTES = 8 * 1024
const NOT_STARTED_BYTES = 8 * 1024

export function queuedView(queued: QueuedMessage[]) {
  const messages = takeWithin(queued.map(messageView), MESSAGES_BYTES)
  const left = queued.length - messages.length
  return left === 0 ? { messages } : { messages, omitted: { messages: left } }
}

/** Matching messages that start nothing; absent when there are none. */
export const unstartedView = (unstarted: Unstarted[]) =>
  unstarted.length === 0 ? {} : { notStarted: takeWithin(unstarted.map(unstartedOf), NOT_STARTED_BYTES) }

const unstartedOf = ({ message, why }: Unstarted) => ({
  messageId: publicId('msg', message.id),
  name: cleanText(message.name),
  why: cleanText(why),
})

const messageView = ({ message, deliveryId, state, dueAt }: QueuedMessage) => ({
  messageId: publicId('msg', message.id),
  name: cleanText(message.name),
  deliveryId: deliveryId === null ? null : publicId('dlv', deliveryId),
  state,
  dueAt: new Date(dueAt).toISOString(),
})
