import { Type } from '@sinclair/typebox'
import type { AppRow } from '../../accounts/access.ts'
import { UNKNOWN_PERSON } from '../../people/contacts.ts'
import { explainDelivery, type Explanation, toExplained } from '../../deliveries/explanations.ts'
import { type Body, readAddress } from '../../core/field-readers.ts'
import { explainMessageFor, type MessageExplanation } from '../../deliveries/message-explanations.ts'
import { deliveryView } from '../message-views.ts'
import { publicId } from '../../core/ids.ts'
import { isRefusal, type Refusal, refuse } from '../../core/refusals.ts'
import { type Names, findAsked, readAbout, readDeliveryId, readMessageId } from '../arguments.ts'
import { PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanText, UNTRUSTED } from '../untrusted.ts'
import { APP, EMAIL, outputSchema, MESSAGE_ID, takes, text, type Tool, type ToolDependencies } from './tool.ts'

type Asked = { deliveryId: number } | { messageId: number; email: string }

const readAsked = (args: Body, known: Names) =>
  readAbout(args, known, (query, errors): Asked => {
    const { deliveryId, messageId, email } = query
    if (deliveryId === undefined)
      return { messageId: readMessageId(query, errors), email: readAddress(email, errors).email }
    const isAlone = messageId === undefined && email === undefined
    if (!isAlone) errors.push({ field: 'deliveryId', code: 'conflict', message: ALONE })
    return { deliveryId: readDeliveryId(deliveryId) }
  })

const ALONE = 'Send either this, or `messageId` and `email`.'

export const explainTool: Tool = {
  name: 'explain_delivery',
  title: 'Why an email was sent or not',
  description:
    'Every rule and what it found, by `deliveryId`, or `messageId` and `email`; `delivery` null: there is no email.',
  kind: 'read',
  input: takes({
    app: APP,
    deliveryId: Type.Optional(text()),
    messageId: Type.Optional(MESSAGE_ID),
    email: Type.Optional(EMAIL),
  }),
  output: outputSchema('why', 'message', 'delivery', 'judgedAt', 'rules'),
  run: async (deps, { access }, args, known) => {
    const asked = findAsked(access, readAsked(args, known))
    if (isRefusal(asked)) return asked
    const { app, input } = asked
    const found = await ('deliveryId' in input ? explainOne(deps, app, input.deliveryId) : explainFor(deps, app, input))
    return isRefusal(found) ? found : { untrusted: UNTRUSTED, ok: true, ...explanationView(found) }
  },
}

async function explainOne({ store }: ToolDependencies, app: AppRow, id: number): Promise<MessageExplanation | Refusal> {
  const work = await store.findWork(id)
  if (!work || work.delivery.appId !== app.id) return refuse('delivery_not_found')
  return { ...explainDelivery(toExplained(work)), message: work.message, delivery: work.delivery }
}

async function explainFor(
  { store }: ToolDependencies,
  app: AppRow,
  { messageId, email }: { messageId: number; email: string },
): Promise<MessageExplanation | Refusal> {
  const message = await store.findMessage(app.id, messageId)
  if (!message) return refuse('message_not_found')
  const person = await store.findContact(app.id, email)
  return person ? explainMessageFor(store, person, message) : UNKNOWN_PERSON
}

export const rulesView = ({ rules }: Explanation) =>
  rules.map(({ rule, verdict, sentence, isToday, isEstimated }) => ({
    rule,
    verdict,
    sentence: cleanText(sentence),
    ...(isToday ? { isToday } : {}),
    ...(isEstimated ? { isEstimated } : {}),
  }))

const RULES_BYTES = PAGE_BYTES - 4 * 1024

function explanationView(found: MessageExplanation) {
  const all = rulesView(found)
  const rules = takeWithin(all, RULES_BYTES)
  const { id, name, status } = found.message
  return {
    why: cleanText(found.why),
    ...(found.serverReply === undefined ? {} : { serverReply: found.serverReply }),
    message: { id: publicId('msg', id), name: cleanText(name), status },
    delivery: found.delivery && deliveryView(found.delivery),
    judgedAt: found.judgedAt === null ? null : new Date(found.judgedAt).toISOString(),
    rules,
    ...(rules.length < all.length ? { omitted: { rules: all.length - rules.length } } : {}),
  }
}
