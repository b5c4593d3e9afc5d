import { Type } from '@sinclair/typebox'
import { emailRule } from '../../core/field-schemas.ts'
import type { AppRow } from '../../accounts/access.ts'
import { explainDelivery, explanationView, type ruleView, toExplained } from '../../deliveries/explanations.ts'
import { type Body, type Fault, faultOf } from '../../core/inputs.ts'
import {
  explainedMessageView,
  findExplanation,
  type MessageExplanation,
} from '../../deliveries/message-explanations.ts'
import { deliveryView } from '../../deliveries/deliveries.ts'
import { idOf } from '../../core/ids.ts'
import { isRefusal, type Refusal, refuse } from '../../core/refusals.ts'
import { createArguments, emailOf, findAsked } from '../arguments.ts'
import { PAGE_BYTES, takeWithin } from '../budget.ts'
import { cleanText, cleanValue, UNTRUSTED } from '../untrusted.ts'
import { APP, EMAIL, MESSAGE_ID, takes, type Tool, type ToolDependencies } from './tool.ts'

type Asked = { deliveryId: number } | { messageId: number; email: string }

const ASKED = takes({
  app: APP,
  deliveryId: Type.Optional(Type.String({ say: 'Send a delivery ID from list_deliveries.' })),
  messageId: Type.Optional(MESSAGE_ID),
  email: Type.Optional(EMAIL),
})

const ALONE: Fault = { code: 'conflict', message: 'Send either this, or `messageId` and `email`.' }

/** Without a delivery, a message and a person are needed. */
const NEITHER: Fault = {
  code: 'missing',
  message: 'Send `deliveryId` from list_deliveries, or `messageId` from list_messages together with `email`.',
}
const isMissing = (value: unknown, { deliveryId }: Body): boolean => value === undefined && deliveryId === undefined

const readAsked = createArguments({
  schema: ASKED,
  clean: ({ deliveryId, messageId = '', email }): { asked: Asked } | null => {
    if (deliveryId !== undefined)
      return messageId === '' && email === undefined ? { asked: { deliveryId: idOf('dlv', deliveryId) } } : null
    const person = emailOf(email)
    return person === null ? null : { asked: { messageId: idOf('msg', messageId), email: person } }
  },
  rules: () => ({
    deliveryId: (value, { messageId, email }) =>
      value !== undefined && (messageId !== undefined || email !== undefined) ? ALONE : null,
    messageId: (value, body) => (isMissing(value, body) ? NEITHER : null),
    email: (value, body) => (isMissing(value, body) ? faultOf(EMAIL, 'missing', value) : emailRule(value)),
  }),
})

export const explainTool: Tool = {
  name: 'explain_delivery',
  title: 'Explain a delivery',
  description: "Why an email was or wasn't sent, by `deliveryId`, or `messageId` and `email`.",
  kind: 'read',
  input: ASKED,
  run: async (deps, caller, args) => {
    const asked = await findAsked(deps, caller, readAsked(args, null))
    if (isRefusal(asked)) return asked
    const { app } = asked
    const about = asked.input.asked
    const found = await ('deliveryId' in about
      ? explainOne(deps, app, about.deliveryId)
      : findExplanation(deps, app, about))
    return isRefusal(found) ? found : { untrusted: UNTRUSTED, ok: true, ...cleanExplanation(found) }
  },
}

async function explainOne({ store }: ToolDependencies, app: AppRow, id: number): Promise<MessageExplanation | Refusal> {
  const work = await store.findWork(id)
  if (!work || work.delivery.appId !== app.id) return refuse('delivery_not_found')
  return { ...explainDelivery(toExplained(work)), message: work.message, delivery: work.delivery, send: work.send }
}

export const cleanRules = (rules: ReturnType<typeof ruleView>[]) =>
  rules.map((rule) => ({ ...rule, sentence: cleanText(rule.sentence) }))

const RULES_BYTES = PAGE_BYTES - 4 * 1024

function cleanExplanation(found: MessageExplanation) {
  const { why, decidedAt, rules: checks, ...reply } = explanationView(found)
  const all = cleanRules(checks)
  const rules = takeWithin(all, RULES_BYTES)
  const message = explainedMessageView(found)
  return {
    why: cleanText(why),
    ...reply,
    message: found.message.content.isOwnText ? null : { ...message, name: cleanText(message.name) },
    delivery: found.delivery && cleanValue(deliveryView(found.delivery, found.send)),
    decidedAt,
    rules,
    ...(rules.length < all.length ? { omitted: { rules: all.length - rules.length } } : {}),
  }
}
