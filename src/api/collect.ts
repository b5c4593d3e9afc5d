import { VisitReport } from '../visits/visit-reports.ts'
import { Elysia } from 'elysia'
import type { AppRow } from '../accounts/access.ts'
import { VisitAnswer } from '../http/answer-schemas.ts'
import { describeUnkeyed } from './describe.ts'
import { EXAMPLES } from './examples.ts'
import { recordVisitReport, type VisitDependencies } from '../visits/visit-reports.ts'
import { parseJsonObject } from '../core/json.ts'
import { type Refusal, refuse } from '../core/refusals.ts'
import { readBytes } from '../http/request-input.ts'
import { factsOf } from '../http/request-facts.ts'
import { COLLECT_CORS, COLLECT_PATH, createAnswer, refusalAnswer } from '../http/answers.ts'

export const COLLECT_BYTES = 32 * 1024

const PREFLIGHT = {
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': 'Content-Type',
  'Access-Control-Max-Age': '86400',
  'X-Content-Type-Options': 'nosniff',
}
const METHODS = { Allow: 'POST, OPTIONS' }
const TOO_LARGE = refuse('too_large', { message: 'The body is too large. Send at most 32 KB.' })
const STORED = { ok: true }
const answerPage = createAnswer(COLLECT_CORS)

/** POST /c: visit reports of the browser script, as `text/plain` to avoid preflights. */
export const collectRoutes = (deps: VisitDependencies) =>
  new Elysia()
    .post(
      COLLECT_PATH,
      async ({ request }) => {
        const refusal = await collect(deps, request)
        return refusal ? refusalAnswer(request, refusal, COLLECT_CORS) : answerPage(request, 202, STORED)
      },
      {
        parse: 'none',
        detail: describeUnkeyed({
          operationId: 'reportVisit',
          summary: 'Report page views',
          description:
            'The browser script sends this as `text/plain`, so that browsers need no preflight request. A signature from your server replaces the API key. `leave` and `here` determine whether a person has left. Without a `leave`, they count as away after 30 minutes without a report, or after the `quietMinutes` of the rule. Unless pages can add people, reports about unknown people get the same response, but are not stored.',
          example: EXAMPLES.postVisit,
          body: VisitReport,
          answers: { 202: VisitAnswer },
          refusals: [
            TOO_LARGE,
            'invalid_signature',
            'origin_not_allowed',
            'plan_limit_reached',
            'site_not_found',
            'rate_limited',
          ],
          scheme: null,
        }),
      },
    )
    .options(COLLECT_PATH, ({ request }) => {
      const headers = { ...COLLECT_CORS, ...PREFLIGHT, 'X-Request-Id': factsOf(request).requestId }
      return new Response(null, { status: 204, headers })
    })
    .all(COLLECT_PATH, ({ request }) =>
      refusalAnswer(request, refuse('method_not_allowed'), { ...COLLECT_CORS, ...METHODS }),
    )

async function collect(deps: VisitDependencies, request: Request): Promise<Refusal | null> {
  const bytes = await readBytes(request, COLLECT_BYTES)
  if (bytes === null) return TOO_LARGE
  const body = parseJsonObject(bytes)
  if ('refused' in body) return body.refused
  const facts = factsOf(request)
  const { address } = facts
  const onApp = (app: AppRow): void => void (facts.app = app)
  return recordVisitReport(deps, body.object, { address, origin: request.headers.get('origin'), onApp })
}
