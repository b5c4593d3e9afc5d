import { Elysia } from 'elysia'
import { BounceAnswer } from '../http/answer-schemas.ts'
import { describeUnkeyed } from './describe.ts'
import { EXAMPLES } from './examples.ts'
import { BounceReport, reportBounce } from '../people/bounces.ts'
import type { Clock } from '../core/clock.ts'
import type { HandOvers } from '../core/hand-overs.ts'
import type { Store } from '../store/store.ts'
import { isRefusal, refuse, warnOfSending, withWarnings } from '../core/refusals.ts'
import { factsOf } from '../http/request-facts.ts'
import { readBytes } from '../http/request-input.ts'
import { replaceUnreadable } from '../http/request-paths.ts'
import { answer, refusalAnswer } from '../http/answers.ts'

const REPORT_BYTES = 16 * 1024
const SIGNATURE = 'eventpost-signature'
const TOO_LARGE = refuse('too_large', { message: 'The report is too large. Send at most 16 KB.' })
const TAKEN = { ok: true }

/** POST /hooks/bounces/APP: bounces and complaints, from a script of the customer. */
export const bounceRoutes = (deps: { store: Store; clock: Clock; mailer: HandOvers }) =>
  new Elysia().onTransform(replaceUnreadable).post(
    '/hooks/bounces/:app',
    async ({ request, params }) => {
      const bytes = await readBytes(request, REPORT_BYTES)
      if (bytes === null) return refusalAnswer(request, TOO_LARGE)
      const signature = request.headers.get(SIGNATURE) ?? ''
      const app = await deps.store.findAppByPublicId(params.app)
      factsOf(request).app = app ?? undefined
      const outcome = await reportBounce(deps, { app, bytes, signature })
      if (isRefusal(outcome)) return refusalAnswer(request, outcome)
      return answer(request, 202, withWarnings(TAKEN, [...outcome.warnings, ...warnOfSending('email', outcome)]))
    },
    {
      parse: 'none',
      detail: describeUnkeyed({
        operationId: 'reportBounce',
        summary: 'Report a bounce',
        description:
          "Reports a bounce or a complaint. The person gets no more emails. For email providers whose webhooks Eventpost doesn't read, use a script to convert their reports. Sign each one with the report secret (`REPORT_SECRET`), which an owner creates under Sender, Mail server. Sending the same report twice is safe.",
        example: EXAMPLES.postBounce,
        body: BounceReport,
        answers: { 202: BounceAnswer },
        refusals: [TOO_LARGE, 'invalid_signature', 'signature_expired', 'delivery_not_found'],
        parameters: [
          { name: 'app', in: 'path', required: true, description: 'The app ID.', schema: { type: 'string' } },
        ],
        scheme: 'reportSignature',
      }),
    },
  )
