import { Elysia } from 'elysia'
import { type IdempotencyGuard, REPLAYED, replayOf } from '../http/idempotency.ts'
import { idOf, publicId } from '../core/ids.ts'
import { isRefusal, type Refusal, refuse, withWarnings } from '../core/refusals.ts'
import { viewDeliveries } from '../deliveries/delivery-lists.ts'
import { previewDraft, previewView } from '../deliveries/draft-previews.ts'
import { explanationView } from '../deliveries/explanations.ts'
import { explainedMessageView, findExplanation } from '../deliveries/message-explanations.ts'
import { factsOf } from '../http/request-facts.ts'
import { lineView, simulateMessage, simulationView } from '../deliveries/message-simulations.ts'
import { testMessage } from '../deliveries/message-tests.ts'
import { countsView, messageView, viewOutcome } from '../deliveries/message-views.ts'
import { answer, refusalAnswer } from '../http/answers.ts'
import { AppQuery, readAppQuery, writeContactCursor, writeIdCursor } from '../http/queries.ts'
import { NOT_MANAGING, readRequest, type RequestInput } from '../http/request-input.ts'
import { UNKNOWN_PERSON } from '../people/contacts.ts'
import { replaceUnreadable } from '../http/request-paths.ts'
import { changeByKey, finishDraft, saveDraft, savedView, turnDraft } from '../messages/drafts.ts'
import { listMessages, type MessageRow } from '../messages/messages.ts'
import type { SavedMessages } from '../store/messages.ts'
import type { ApiDependencies } from './dependencies.ts'
import { describeCall } from './describe.ts'
import { EXAMPLES } from './examples.ts'
import * as answers from './message-answers.ts'
import * as inputs from './message-inputs.ts'
import { readPage } from './page.ts'

/** Messages, for keys with scope `manage`. */
export const messageRoutes = (deps: ApiDependencies, idempotency: IdempotencyGuard) =>
  new Elysia()
    .onTransform(replaceUnreadable)
    .get('/messages', ({ request }) => list(deps, request), {
      detail: describeCall({
        summary: 'List messages',
        description:
          'Lists the messages in an app, oldest first. All calls about messages need a key with scope `manage`.',
        example: EXAMPLES.getMessages,
        query: inputs.MessagesQuery,
        answers: { 200: answers.MessagePage },
        refusals: [NOT_MANAGING],
      }),
    })
    .post('/messages', ({ request }) => save(deps, idempotency, request), {
      parse: 'none',
      detail: describeCall({
        summary: 'Save a message',
        description:
          'Creates a draft, or changes a message. A change to a live message goes through the same checks as going live, and applies immediately.',
        example: EXAMPLES.postMessage,
        body: inputs.MessageSave,
        answers: { 201: answers.MessageCreatedAnswer, 200: answers.MessageSavedAnswer },
        refusals: [UNKNOWN_MESSAGE, 'message_changed', 'message_name_taken', NOT_MANAGING],
      }),
    })
    .get('/messages/:message', ({ request, params }) => show(deps, request, params.message), {
      detail: describeCall({
        operationId: 'getMessage',
        summary: 'Find a message',
        description: 'Returns a message in the format for saving, with its results for the last 30 days.',
        example: EXAMPLES.getMessage,
        parameters: [MESSAGE_IN_PATH],
        query: AppQuery,
        answers: { 200: answers.MessageFoundAnswer },
        refusals: [UNKNOWN_MESSAGE, NOT_MANAGING],
      }),
    })
    .get('/messages/:message/preview', ({ request, params }) => preview(deps, request, params.message), {
      detail: describeCall({
        operationId: 'previewMessage',
        summary: 'Preview a message',
        description:
          'Returns the email as it would be sent, what must be fixed before going live, and the token for going live.',
        example: EXAMPLES.previewMessage,
        parameters: [MESSAGE_IN_PATH],
        query: inputs.PreviewQuery,
        answers: { 200: answers.PreviewAnswer },
        refusals: [UNKNOWN_MESSAGE, UNKNOWN_PERSON, NOT_MANAGING],
      }),
    })
    .get('/messages/:message/simulation', ({ request, params }) => simulate(deps, request, params.message), {
      detail: describeCall({
        operationId: 'simulateMessage',
        summary: 'Simulate a message',
        description:
          'Returns who would have got the message in recent days, and why others would not have. Nothing is sent. The call can take over a minute.',
        example: EXAMPLES.simulateMessage,
        parameters: [MESSAGE_IN_PATH],
        query: inputs.SimulationQuery,
        answers: { 200: answers.SimulationAnswer },
        refusals: [UNKNOWN_MESSAGE, UNKNOWN_PERSON, NOT_MANAGING],
      }),
    })
    .get('/messages/:message/explanation', ({ request, params }) => explain(deps, request, params.message), {
      detail: describeCall({
        operationId: 'explainMessage',
        summary: 'Explain a message for one person',
        description: "Explains why a person got a message's last email, or why they didn't.",
        example: EXAMPLES.explainMessage,
        parameters: [MESSAGE_IN_PATH],
        query: inputs.ExplanationQuery,
        answers: { 200: answers.ExplanationAnswer },
        refusals: [UNKNOWN_MESSAGE, UNKNOWN_PERSON, NOT_MANAGING],
      }),
    })
    .post('/messages/status', ({ request }) => setStatus(deps, idempotency, request), {
      parse: 'none',
      detail: describeCall({
        summary: 'Set the status of a message',
        description:
          'Makes a message live, pauses it or makes it a draft. Going live requires the token from a preview.',
        example: EXAMPLES.postStatus,
        body: inputs.MessageStatusInput,
        answers: { 200: answers.MessageStatusAnswer },
        refusals: [UNKNOWN_MESSAGE, 'message_changed', NOT_MANAGING],
      }),
    })
    .post('/messages/test', ({ request }) => test(deps, request), {
      parse: 'none',
      detail: describeCall({
        summary: 'Send a test email',
        description: 'Sends the previewed email to a member of the account.',
        example: EXAMPLES.postTest,
        body: inputs.MessageTestInput,
        answers: { 200: answers.TestAnswer },
        refusals: [UNKNOWN_MESSAGE, UNKNOWN_PERSON, NOT_MANAGING],
        takesKey: false,
      }),
    })

const MESSAGE_IN_PATH = {
  name: 'message',
  in: 'path' as const,
  required: true as const,
  description: 'The `id` of the message, `msg_...`.',
  schema: { type: 'string' as const },
  example: EXAMPLES.getMessage.path.message,
}

const UNKNOWN_MESSAGE = refuse('message_not_found', {
  message: 'This app has no message with this ID. Send an `id` from GET /messages.',
})

export const refuseCall = (request: Request, refusal: Refusal): Response =>
  refusalAnswer(request, refusal.refusal === 'message_not_found' ? UNKNOWN_MESSAGE : refusal)

async function list(deps: ApiDependencies, request: Request): Promise<Response> {
  const given = await readPage(deps, request, inputs.readMessagesQuery, 'manage')
  if ('refused' in given) return refusalAnswer(request, given.refused)
  const { app, input } = given
  const { after, limit } = input
  const rows = await listMessages(deps.store, app, { after, most: limit + 1 })
  const data = rows.slice(0, limit).map((row) => {
    const { trigger } = row.content
    return { ...messageView(row), trigger, counts: countsView(row.counts) }
  })
  const last = rows[limit - 1]
  const nextCursor = rows.length > limit && last ? writeIdCursor(last.id) : null
  return answer(request, 200, { ok: true, data, nextCursor })
}

/** A page about the message that the path names. */
async function readOne<T extends { app: string }>(
  deps: ApiDependencies,
  request: Request,
  id: string,
  read: Parameters<typeof readPage<T>>[2],
) {
  const given = await readPage(deps, request, read, 'manage')
  if ('refused' in given) return given
  const message = await deps.store.findMessage(given.app.id, idOf('msg', id))
  return message ? { ...given, message } : { refused: UNKNOWN_MESSAGE }
}

async function show(deps: ApiDependencies, request: Request, id: string): Promise<Response> {
  const given = await readOne(deps, request, id, readAppQuery)
  if ('refused' in given) return refusalAnswer(request, given.refused)
  const { name, ...view } = messageView(given.message)
  const message = { name, ...given.message.content }
  return answer(request, 200, { ok: true, ...view, ...(await viewOutcome(deps, given.message)), message })
}

async function preview(deps: ApiDependencies, request: Request, id: string): Promise<Response> {
  const given = await readOne(deps, request, id, inputs.readPreviewQuery)
  if ('refused' in given) return refusalAnswer(request, given.refused)
  const { app, message, input } = given
  const found = await previewDraft(deps, { ...input, app, message })
  if (isRefusal(found)) return refusalAnswer(request, found)
  const { problems, warnings, token } = found
  return answer(request, 200, { ok: true, mail: previewView(found), problems, warnings, token })
}

async function simulate(deps: ApiDependencies, request: Request, id: string): Promise<Response> {
  const given = await readOne(deps, request, id, inputs.readSimulationQuery)
  if ('refused' in given) return refusalAnswer(request, given.refused)
  factsOf(request).keepOpen()
  const found = await simulateMessage(deps, given, { signal: request.signal })
  if (isRefusal(found)) return refusalAnswer(request, found)
  const { lines, until } = found
  const end = given.input.skip + given.input.limit
  const data = lines.slice(given.input.skip, end).map((line) => lineView(line, given))
  const nextCursor = end < lines.length ? writeContactCursor({ id: end, updatedAt: until }) : null
  return answer(request, 200, { ok: true, simulation: simulationView(found), data, nextCursor })
}

async function explain(deps: ApiDependencies, request: Request, id: string): Promise<Response> {
  const given = await readOne(deps, request, id, inputs.readExplanationQuery)
  if ('refused' in given) return refusalAnswer(request, given.refused)
  const { app, message, input } = given
  const found = await findExplanation(deps, app, { messageId: message.id, email: input.email ?? '' })
  if (isRefusal(found)) return refusalAnswer(request, found)
  const [delivery = null] = found.delivery ? await viewDeliveries(deps, app, [found.delivery]) : []
  return answer(request, 200, { ok: true, ...explanationView(found), message: explainedMessageView(found), delivery })
}

/** In the name of the key. */
const changingOf = (deps: ApiDependencies, { access, app }: Pick<RequestInput<object>, 'access' | 'app'>) => ({
  context: { store: deps.store, mailer: deps.mailer, templates: deps.templates, app, senders: deps.mailer.senders },
  by: changeByKey(app, access.key.id, deps.clock.now()),
  names: inputs.NAMES,
})

async function save(deps: ApiDependencies, idempotency: IdempotencyGuard, request: Request): Promise<Response> {
  const given = await readRequest(deps, request, inputs.readMessageSave, 'manage')
  if ('refused' in given) return refusalAnswer(request, given.refused)
  const begun = await idempotency.begin(request, given)
  if ('refused' in begun) return refusalAnswer(request, begun.refused)
  try {
    const { input, warnings } = given
    const replay = replayOf<SavedMessages>(begun)
    const changing = { ...changingOf(deps, given), idempotency: begun.idempotency }
    const saved = await (replay ? finishDraft(deps, replay, input) : saveDraft(changing, input))
    if (isRefusal(saved)) return refuseCall(request, saved)
    const status = saved.change === 'created' ? 201 : 200
    return answer(request, status, withWarnings({ ok: true, ...savedView(saved) }, warnings), replay ? REPLAYED : {})
  } finally {
    begun.release()
  }
}

async function setStatus(deps: ApiDependencies, idempotency: IdempotencyGuard, request: Request): Promise<Response> {
  const given = await readRequest(deps, request, inputs.readMessageStatus, 'manage')
  if ('refused' in given) return refusalAnswer(request, given.refused)
  const begun = await idempotency.begin(request, given)
  if ('refused' in begun) return refusalAnswer(request, begun.refused)
  try {
    const { input, warnings } = given
    const { messageId, status, token } = input
    const done = { ok: true, messageId: publicId('msg', messageId), status }
    if (begun.earlier !== null) return answer(request, 200, withWarnings(done, warnings), REPLAYED)
    const message = await findMessage(deps, given)
    if (message === null) return refusalAnswer(request, UNKNOWN_MESSAGE)
    const changing = { ...changingOf(deps, given), idempotency: begun.idempotency }
    const outcome = await turnDraft(changing, { message, status, token, previewKey: deps.previewKey })
    if (isRefusal(outcome)) return refuseCall(request, outcome)
    return answer(request, 200, withWarnings(done, [...warnings, ...outcome.warnings]))
  } finally {
    begun.release()
  }
}

const findMessage = (
  { store }: ApiDependencies,
  { app, input }: RequestInput<{ messageId: number }>,
): Promise<MessageRow | null> => store.findMessage(app.id, input.messageId)

async function test(deps: ApiDependencies, request: Request): Promise<Response> {
  const given = await readRequest(deps, request, inputs.readMessageTest, 'manage')
  if ('refused' in given) return refusalAnswer(request, given.refused)
  const message = await findMessage(deps, given)
  if (message === null) return refusalAnswer(request, UNKNOWN_MESSAGE)
  const tested = await testMessage(deps, { ...given, message })
  if (isRefusal(tested)) return refusalAnswer(request, tested)
  return answer(request, 200, withWarnings({ ok: true, ...tested }, given.warnings))
}
