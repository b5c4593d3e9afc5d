/** What is answered where the server is not there yet, or has failed altogether: no door has looked at the request. */
import { UNKNOWN_ADDRESS } from '../core/addresses.ts'
import { type Refusal, refuse } from '../core/refusals.ts'
import { noteFacts } from './request-facts.ts'
import { createRequestIds } from './request-ids.ts'
import { pathOf } from './request-paths.ts'
import { COLLECT_CORS, corsOf, refusalAnswer } from './answers.ts'

const STARTING = refuse('unavailable', {
  message: 'The service is starting. Send this again after Retry-After.',
})

/** Until the store is open. */
export const answerEarly = (request: Request): Response => unserved(STARTING, corsOf(pathOf(request.url)))

/** Nobody says which request it was, so a page may read it always: it holds nothing of anyone's. */
export const answerFault = (): Response => unserved(refuse('internal_error'), COLLECT_CORS)

const nextId = createRequestIds()

function unserved(refusal: Refusal, headers: Record<string, string>): Response {
  const request = new Request('http://localhost')
  noteFacts(request, { requestId: nextId(), address: () => UNKNOWN_ADDRESS })
  return refusalAnswer(request, refusal, headers)
}
