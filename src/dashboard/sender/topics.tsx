/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { readPublicId } from '../../core/ids.ts'
import { type FieldError, isRefusal, REFUSALS, type Refusal, type RefusalCode } from '../../core/refusals.ts'
import { saveTopic, type TopicText } from '../../messages/topics.ts'
import { pageAnswer } from '../layout/answers.ts'
import type { FormInput } from '../layout/forms.ts'
import { missingAnswer } from '../layout/missing-page.tsx'
import { doneAnswer, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { readSenderFacts } from './sender.tsx'
import { type ShownForm, TopicPage, TopicsPage } from './topics-page.tsx'

const OWNER = { role: 'owner' } as const

/** Topics of messages. */
export const senderTopicRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/sender/topics', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showTopics(deps, request, viewer)),
    )
    .post('/apps/:app/sender/topics', onForm(deps, OWNER, addTopic), { parse: 'none' })
    .get('/apps/:app/sender/topics/:topic', ({ request, params: { app, topic } }) =>
      showPage(deps, request, app, (viewer) => showTopic(deps, request, { viewer, id: topic })),
    )
    .post('/apps/:app/sender/topics/:topic', onForm(deps, OWNER, changeTopic), { parse: 'none' })
    .post('/apps/:app/sender/topics/:topic/delete', onForm(deps, OWNER, deleteTopic), { parse: 'none' })

type Shown = { status?: number; form?: ShownForm }

async function showTopics(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  { status = 200, form }: Shown = {},
): Promise<Response> {
  const [facts, topics] = await Promise.all([readSenderFacts(deps, viewer), deps.store.listUsedTopics(viewer.app.id)])
  return pageAnswer(request, status, <TopicsPage {...{ facts, topics, form }} />)
}

async function findTopic({ store }: PageDependencies, { app }: Viewer, text: string) {
  const id = readPublicId('top', text)
  return (await store.listUsedTopics(app.id)).find((topic) => topic.id === id) ?? null
}

async function showTopic(
  deps: PageDependencies,
  request: Request,
  { viewer, id }: { viewer: Viewer; id: string },
  { status = 200, form }: Shown = {},
): Promise<Response> {
  const topic = await findTopic(deps, viewer, id)
  if (!topic) return missingAnswer(request, viewer, 'topic_unknown')
  const facts = await readSenderFacts(deps, viewer)
  return pageAnswer(request, status, <TopicPage {...{ facts, topic, form }} />)
}

const readText = (form: FormInput): TopicText => ({ name: form.text('name'), description: form.text('description') })

const changeBy = ({ clock }: PageDependencies, { app, member }: Viewer) => ({
  accountId: app.accountId,
  appId: app.id,
  actor: member.id,
  at: clock.now(),
})

/** The form's input, and its errors. */
function toShown(text: TopicText, refusal: Refusal): Shown {
  const { field, message = REFUSALS[refusal.refusal].message, errors } = refusal
  const wrong: FieldError[] = errors ?? (field === undefined ? [] : [{ field, code: 'invalid', message }])
  return {
    status: REFUSALS[refusal.refusal].status,
    form: { text, errors: wrong, notice: wrong.length > 0 ? undefined : message },
  }
}

async function addTopic(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const text = readText(form)
  const saved = await saveTopic(deps.store, changeBy(deps, viewer), { id: null, text })
  return isRefusal(saved)
    ? showTopics(deps, request, viewer, toShown(text, saved))
    : doneAnswer(deps, viewer, 'sender/topics', 'topics_saved')
}

type OfTopic = Who & { params: { topic: string } }

async function changeTopic(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer, params }: OfTopic,
): Promise<Response> {
  const topic = await findTopic(deps, viewer, params.topic)
  if (!topic) return missingAnswer(request, viewer, 'topic_unknown')
  const text = readText(form)
  const saved = await saveTopic(deps.store, changeBy(deps, viewer), { id: topic.id, text })
  return isRefusal(saved)
    ? showTopic(deps, request, { viewer, id: params.topic }, toShown(text, saved))
    : doneAnswer(deps, viewer, 'sender/topics', 'topics_saved')
}

async function deleteTopic(
  deps: PageDependencies,
  request: Request,
  _: FormInput,
  { viewer, params }: OfTopic,
): Promise<Response> {
  const topic = await findTopic(deps, viewer, params.topic)
  if (!topic) return missingAnswer(request, viewer, 'topic_unknown')
  const deleted = await deps.store.deleteTopic({ ...changeBy(deps, viewer), id: topic.id })
  if (!isRefusal(deleted)) return doneAnswer(deps, viewer, 'sender/topics', 'topic_deleted')
  const message = WHY_KEPT[deleted.refusal] ?? REFUSALS[deleted.refusal].message
  const text = { name: topic.name, description: topic.description ?? '' }
  return showTopic(
    deps,
    request,
    { viewer, id: params.topic },
    { status: 409, form: { text, errors: [], notice: message } },
  )
}

const WHY_KEPT: Partial<Record<RefusalCode, string>> = {
  message_in_use: 'Messages use this topic. Choose another topic for them first.',
  delivery_in_use: 'Emails about this topic are waiting, and their links need it. Delete it once they are sent.',
}
