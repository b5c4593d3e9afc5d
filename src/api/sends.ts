import { Elysia } from 'elysia'
import { takeForSend } from '../accounts/write-limits.ts'
import { publicId } from '../core/ids.ts'
import { isRefusal, type Refusal, refuse, withWarnings } from '../core/refusals.ts'
import { prepareSend, readSend, SendInput, sendMail, type SentMail, warnOfLinks } from '../deliveries/sends.ts'
import { warnOfNames } from '../events/events.ts'
import { SendAnswer } from '../http/answer-schemas.ts'
import { answer, refusalAnswer } from '../http/answers.ts'
import { type IdempotencyGuard, REPLAYED, replayOf } from '../http/idempotency.ts'
import { limitHeaders, remainingHeaders, uncountedAnswer } from '../http/limited.ts'
import { readRequest, type RequestInput } from '../http/request-input.ts'
import type { ApiDependencies } from './dependencies.ts'
import { describeCall } from './describe.ts'
import { EXAMPLES } from './examples.ts'

/** POST /send. */
export const sendRoutes = (deps: ApiDependencies, idempotency: IdempotencyGuard) =>
  new Elysia().post(
    '/send',
    async ({ request }) => {
      const given = await readRequest(deps, request, readSend, 'send')
      if ('refused' in given) return uncountedAnswer(deps, request, 'events', given.refused)
      const begun = await idempotency.begin(request, given)
      if ('refused' in begun) return uncountedAnswer(deps, request, 'events', begun.refused)
      try {
        const { access, app, input } = given
        const replay = replayOf<SentMail>(begun)
        if (replay) return sentAnswer(request, given, replay, remainingHeaders(deps, 'events', access))
        const prepared = await prepareSend(deps, app, input)
        if (isRefusal(prepared)) return uncountedAnswer(deps, request, 'events', prepared)
        const counted = takeForSend(deps, access)
        if (counted.refused) return refusalAnswer(request, counted.refused, limitHeaders(counted))
        const context = { access, app, limits: counted.counted, idempotency: begun.idempotency, ...prepared }
        const outcome = await sendMail(deps, context, input)
        const settled = counted.settle(outcome)
        const headers = limitHeaders(settled)
        return isRefusal(outcome)
          ? refusalAnswer(request, settled.refused ?? explainRefusal(outcome), headers)
          : sentAnswer(request, given, outcome, headers)
      } finally {
        begun.release()
      }
    },
    {
      parse: 'none',
      detail: describeCall({
        summary: 'Send an email',
        description:
          "Sends one email to one person immediately: a message, or your `subject` and `body`. Unsubscribed people get it, too. People whose address bounced, or who reported spam, don't. Returns 202 once the email is on disk.",
        example: EXAMPLES.postSend,
        body: SendInput,
        answers: { 202: SendAnswer },
        refusals: [UNKNOWN_PERSON, 'message_not_found', 'message_not_live', 'plan_limit_reached', 'insufficient_scope'],
        isLimited: true,
      }),
    },
  )

const UNKNOWN_PERSON = refuse('contact_not_found', {
  message: 'This app has no person with this email. Send `createContact: true` to add the person.',
})

const explainRefusal = (refusal: Refusal): Refusal =>
  refusal.refusal === 'contact_not_found' ? UNKNOWN_PERSON : refusal

function sentAnswer(
  request: Request,
  { access, warnings }: RequestInput<object>,
  sent: SentMail,
  headers: Record<string, string>,
): Response {
  const { contactId, deliveryId, created, replayed } = sent
  const body = { ok: true, deliveryId: publicId('dlv', deliveryId), contactId: publicId('con', contactId), created }
  const all = [...warnings, ...warnOfLinks(sent), ...warnOfNames(sent, access)]
  return answer(request, 202, withWarnings(body, all), { ...headers, ...(replayed ? REPLAYED : {}) })
}
