import { Type } from '@sinclair/typebox'
import { faultOf } from '../../core/inputs.ts'
import { publicId } from '../../core/ids.ts'
import type { Unstarted } from '../../deliveries/message-explanations.ts'
import type { QueuedMessage } from '../../deliveries/queued-messages.ts'
import type { FieldError } from '../../core/refusals.ts'
import { takeWithin } from '../budget.ts'
import { cleanText } from '../untrusted.ts'

export const DRY_RUN = Type.Optional(Type.Boolean({ say: 'Send true or false.' }))

/** Accepts true, false and null (omitted). */
export function checkDryRun<T extends object>(reading: T, dryRun: unknown): T | { errors: FieldError[] } {
  if (dryRun === undefined || dryRun === null || typeof dryRun === 'boolean') return reading
  const errors = 'errors' in reading ? (reading.errors as FieldError[]) : []
  return { errors: [...errors, { field: 'dryRun', ...faultOf(DRY_RUN, 'invalid', dryRun) }] }
}

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
