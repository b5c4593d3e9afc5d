import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { formatLimit } from '../core/count.ts'
import { readEmail } from '../core/email.ts'
import { EMAIL, emailRule, shortText } from '../core/field-schemas.ts'
import { faultOf } from '../core/inputs.ts'
import { isRefusal, type Refusal, refuse, withWarnings } from '../core/refusals.ts'
import {
  cancelDelivery,
  type ChangedDelivery,
  DeliveryInput,
  findDelivery,
  findListed,
  MAX_REASON_CHARACTERS,
  MOST_RESENT,
  resendMatching,
  toFailed,
  sendDeliveryEarly,
  readDelivery,
  viewDeliveries,
} from '../deliveries/delivery-lists.ts'
import { idOf, publicId, readPublicId } from '../core/ids.ts'
import { explanationView } from '../deliveries/explanations.ts'
import { DeliveryAnswer, DeliveryFoundAnswer, DeliveryPage, ResentAnswer } from '../http/answer-schemas.ts'
import { answer, refusalAnswer } from '../http/answers.ts'
import { type IdempotencyGuard, REPLAYED, replayOf } from '../http/idempotency.ts'
import { AppQuery, DeliveryQuery, readAppQuery, readDeliveriesQuery, writeIdCursor } from '../http/queries.ts'
import { NOT_MANAGING, readRequest } from '../http/request-input.ts'
import { UNKNOWN_PERSON } from '../people/contacts.ts'
import { replaceUnreadable } from '../http/request-paths.ts'
import type { ApiDependencies } from './dependencies.ts'
import { describeCall } from './describe.ts'
import { EXAMPLES } from './examples.ts'
import { createBody, ofBody } from './bodies.ts'
import { NAMES } from './message-inputs.ts'
import { refuseCall } from './messages.ts'
import { messageIdField } from '../messages/drafts.ts'
import { readPage } from './page.ts'

/** GET /deliveries and /deliveries/ID, POST /deliveries/cancel, /deliveries/send-now and /deliveries/resend-failed. */
export const deliveryRoutes = (deps: ApiDependencies, idempotency: IdempotencyGuard) =>
  new Elysia()
    .onTransform(replaceUnreadable)
    .get(
      '/deliveries',
      async ({ request }) => {
        const given = await readPage(deps, request, readDeliveriesQuery)
        if ('refused' in given) return refusalAnswer(request, given.refused)
        const { app, input } = given
        const { state, before, limit } = input
        const about = await findListed(deps.store, app, input)
        if (isRefusal(about)) return refuseCall(request, about)
        const of = { ...about, appId: app.id, states: state && [state] }
        const rows = await deps.store.listDeliveries({ ...of, before, limit: limit + 1 })
        const data = await viewDeliveries(deps, app, rows.slice(0, limit))
        const last = rows[limit - 1]
        const nextCursor = rows.length > limit && last ? writeIdCursor(last.id) : null
        return answer(request, 200, { ok: true, data, nextCursor })
      },
      {
        detail: describeCall({
          summary: 'List deliveries',
          description:
            'Lists emails, newest first: waiting, sent, and not sent, with the reason. Emails sent with POST /send are included.',
          example: EXAMPLES.getDeliveries,
          query: DeliveryQuery,
          answers: { 200: DeliveryPage },
          refusals: [UNKNOWN_PERSON, 'message_not_found', 'insufficient_scope'],
        }),
      },
    )
    .get(
      '/deliveries/:delivery',
      async ({ request, params }) => {
        const given = await readPage(deps, request, readAppQuery)
        if ('refused' in given) return refusalAnswer(request, given.refused)
        const { app } = given
        const id = readPublicId('dlv', params.delivery)
        const found = id === null ? null : await findDelivery(deps.store, app, id)
        if (!found) return refusalAnswer(request, UNKNOWN_DELIVERY)
        const [delivery] = await viewDeliveries(deps, app, [found.work.delivery])
        return answer(request, 200, { ok: true, delivery, ...explanationView(found.explained) })
      },
      {
        detail: describeCall({
          operationId: 'getDelivery',
          summary: 'Find a delivery',
          description: "Returns one email, with every check, and why the person got it or didn't.",
          example: EXAMPLES.getDelivery,
          parameters: [
            {
              name: 'delivery',
              in: 'path',
              required: true,
              description: 'The `id` of the delivery, `dlv_...`.',
              schema: { type: 'string' },
              example: EXAMPLES.getDelivery.path.delivery,
            },
          ],
          query: AppQuery,
          answers: { 200: DeliveryFoundAnswer },
          refusals: [UNKNOWN_DELIVERY, 'insufficient_scope'],
        }),
      },
    )
    .post(
      '/deliveries/cancel',
      ({ request }) => changeDelivery(deps, idempotency, request, { change: cancelDelivery, inUse: NOT_WAITING }),
      {
        parse: 'none',
        detail: describeCall({
          summary: 'Cancel an email',
          description:
            'Cancels a `waiting` or `deferred` email, with all events it includes. A later event can trigger the message again.',
          example: EXAMPLES.cancelDelivery,
          body: DeliveryInput,
          answers: { 200: DeliveryAnswer },
          refusals: [UNKNOWN_DELIVERY, NOT_WAITING, 'insufficient_scope'],
        }),
      },
    )
    .post(
      '/deliveries/send-now',
      ({ request }) => changeDelivery(deps, idempotency, request, { change: sendDeliveryEarly, inUse: NOT_EARLY }),
      {
        parse: 'none',
        detail: describeCall({
          summary: 'Send an email now',
          description:
            'Checks the rules, sending hours and limits of a `waiting` or `deferred` email now instead of when it is due, and sends it if they allow it. If a rule stops it, it is skipped; if the hours, a limit or the brake stops it, it waits again.',
          example: EXAMPLES.sendDelivery,
          body: DeliveryInput,
          answers: { 200: DeliveryAnswer },
          refusals: [UNKNOWN_DELIVERY, NOT_EARLY, 'insufficient_scope'],
        }),
      },
    )

    .post('/deliveries/resend-failed', ({ request }) => resendFailed(deps, request), {
      parse: 'none',
      detail: describeCall({
        summary: 'Send failed emails again',
        description: `Sends the failed emails that match, at most the newest ${formatLimit(MOST_RESENT)}, with the same version of the message. Rules aren't checked again. Suppressions still apply, and lifecycle emails wait while the brake is on. Repeating the request is safe: it finds only emails that are still \`failed\`. Needs a key with scope \`manage\`.`,
        example: EXAMPLES.resendFailed,
        body: FailedEmails,
        answers: { 200: ResentAnswer },
        refusals: [UNKNOWN_PERSON, 'message_not_found', NOT_MANAGING],
        takesKey: false,
      }),
    })

const UNKNOWN_DELIVERY = refuse('delivery_not_found', {
  message: 'This app has no delivery with this ID. Send an `id` from GET /deliveries.',
})
const NOT_WAITING = refuse('delivery_in_use', {
  message:
    'This email is no longer waiting: it is being sent, or its state is final. See its `state` in GET /deliveries.',
})
const NOT_EARLY = refuse('delivery_in_use', {
  message:
    "Only an email that is `waiting` or `deferred` and isn't due yet can be sent now. See its `state` and `dueAt` in GET /deliveries.",
})

/** `inUse`: what to say if the email can't be changed any more. */
type Change = { change: typeof cancelDelivery; inUse: Refusal }

async function changeDelivery(
  deps: ApiDependencies,
  idempotency: IdempotencyGuard,
  request: Request,
  { change, inUse }: Change,
): Promise<Response> {
  const given = await readRequest(deps, request, readDelivery, 'send')
  if ('refused' in given) return refusalAnswer(request, given.refused)
  const begun = await idempotency.begin(request, given)
  if ('refused' in begun) return refusalAnswer(request, begun.refused)
  try {
    const { access, app, input, warnings } = given
    const by = { id: input.id, actor: access.key.id, idempotency: begun.idempotency }
    const outcome = replayOf<ChangedDelivery>(begun) ?? (await change(deps, app, by))
    if (isRefusal(outcome)) return refusalAnswer(request, explainRefusal(outcome, inUse))
    const [delivery] = await viewDeliveries(deps, app, [outcome.delivery])
    return answer(request, 200, withWarnings({ ok: true, delivery }, warnings), outcome.replayed ? REPLAYED : {})
  } finally {
    begun.release()
  }
}

const explainRefusal = (refusal: Refusal, inUse: Refusal): Refusal =>
  refusal.refusal === 'delivery_not_found' ? UNKNOWN_DELIVERY : refusal.refusal === 'delivery_in_use' ? inUse : refusal

const UNTIL = Type.String({
  description: '`next` from the previous response, to continue from there.',
  say: 'Send `next` from the previous response.',
})

/** POST /deliveries/resend-failed. */
export const FailedEmails = ofBody(
  {
    messageId: Type.Optional({ ...messageIdField(NAMES), description: 'Only emails from this message, `msg_...`.' }),
    email: Type.Optional({ ...EMAIL, description: 'Only emails to this person.' }),
    reason: Type.Optional(shortText(MAX_REASON_CHARACTERS, 'a reason', 'Only emails with this `reason`.')),
    until: Type.Optional(UNTIL),
  },
  { title: 'FailedEmails', description: 'The failed emails to send again; without a filter, all of them.' },
)

const readFailed = createBody(
  FailedEmails,
  ({ messageId, email, reason = null, until }) => ({
    messageId: messageId === undefined ? null : idOf('msg', messageId),
    email: email === undefined ? null : (readEmail(email)?.email ?? null),
    reason,
    until: until === undefined ? null : readPublicId('dlv', until),
  }),
  {
    email: emailRule,
    until: (until) =>
      typeof until === 'string' && readPublicId('dlv', until) === null ? faultOf(UNTIL, 'invalid', until) : null,
  },
)

async function resendFailed(deps: ApiDependencies, request: Request): Promise<Response> {
  const given = await readRequest(deps, request, readFailed, 'manage')
  if ('refused' in given) return refusalAnswer(request, given.refused)
  const { access, app, input, warnings } = given
  const about = await findListed(deps.store, app, input)
  if (isRefusal(about)) return refuseCall(request, about)
  const { reason, until } = input
  const filter = toFailed({ ...about, reason, before: null })
  const outcome = await resendMatching(deps, app, { filter, until, actor: access.key.id })
  if (isRefusal(outcome)) return refusalAnswer(request, outcome)
  const next = outcome.next === null ? null : publicId('dlv', outcome.next)
  return answer(request, 200, withWarnings({ ok: true, ...outcome, next }, warnings))
}
