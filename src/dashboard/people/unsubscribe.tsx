/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import type { ComponentChildren } from 'preact'
import type { StoppedEmails, HandOvers } from '../../core/hand-overs.ts'
import type { Clock } from '../../core/clock.ts'
import type { Store } from '../../store/store.ts'
import { type RefusalCode, REFUSALS } from '../../core/refusals.ts'
import { type ChosenTopic, chooseTopics } from '../../people/topics.ts'
import {
  findRecipientApp,
  findUnsubscribing,
  readUnsubscribeToken,
  resubscribe,
  TEST_TOKEN,
  unsubscribe,
  type Unsubscribing,
} from '../../people/unsubscribe.ts'
import { pageAnswer } from '../layout/answers.ts'
import { readForm } from '../layout/forms.ts'
import { AppLayout } from '../layout/layout.tsx'
import { problemAnswer } from '../layout/problems.tsx'
import { ActionForm, Button } from '../ui/button.tsx'
import { lookAnswer, type Recipient, recipientAnswer, RecipientPage, say, unknownLink } from './recipient-page.tsx'
import { readTopics, TopicFields } from './topic-fields.tsx'

type Dependencies = { store: Store; clock: Clock; mailer: HandOvers; unsubscribeKey: string }

/**
 * One-click unsubscribe (RFC 8058): from the topic of the email, or from everything if it has none. GET changes nothing,
 * because mail scanners open links. POST needs no cookie or body and has no rate limit. Each has its own undo: people who
 * resubscribe to everything stay unsubscribed from topics that they ended earlier.
 */
export const unsubscribeRoutes = (deps: Dependencies) =>
  new Elysia()
    .get(`/u/${TEST_TOKEN}`, ({ request }) => pageAnswer(request, 200, <TestPage />))
    .post(`/u/${TEST_TOKEN}`, ({ request }) => pageAnswer(request, 200, <TestPage />), { parse: 'none' })
    .get('/u/:token', ({ params, request }) =>
      onLink(deps, request, params, (found) => recipientAnswer(request, 200, found, <StatePage {...found} />)),
    )
    .get('/u/:token/look.css', async ({ params }) => {
      const link = readUnsubscribeToken(deps.unsubscribeKey, params.token)
      return lookAnswer(link && (await findRecipientApp(deps.store, link.contactId, 'unsubscribe')))
    })
    .post(
      '/u/:token',
      ({ params, request }) =>
        onLink(deps, request, params, (found, again) => end(deps, request, { found, again, topic: found.topic })),
      { parse: 'none' },
    )
    .post(
      '/u/:token/all',
      ({ params, request }) =>
        onLink(deps, request, params, (found, again) => end(deps, request, { found, again, topic: null })),
      { parse: 'none' },
    )
    .post(
      '/u/:token/undo',
      ({ params, request }) =>
        onLink(deps, request, params, (found, again) => undo(deps, request, { found, again, topic: found.topic })),
      { parse: 'none' },
    )
    .post(
      '/u/:token/all/undo',
      ({ params, request }) =>
        onLink(deps, request, params, (found, again) => undo(deps, request, { found, again, topic: null })),
      { parse: 'none' },
    )
    .post('/u/:token/topics', ({ params, request }) => onLink(deps, request, params, choose(deps, request)), {
      parse: 'none',
    })

type Found = Unsubscribing & Recipient
/** `again`: as it is stored now. */
type Handle = (found: Found, again: () => Promise<Found>) => Response | Promise<Response>

async function onLink(
  deps: Dependencies,
  request: Request,
  { token }: { token: string },
  handle: Handle,
): Promise<Response> {
  const path = `/u/${token}`
  const found = await findUnsubscribing(deps, token)
  if (!found) return unknownLink(request)
  const again = async (): Promise<Found> => ({ ...found, ...(await findUnsubscribing(deps, token)), path })
  return handle({ ...found, path }, again)
}

type Ending = { found: Found; again: () => Promise<Found>; topic: ChosenTopic | null }

async function end(deps: Dependencies, request: Request, { found, again, topic }: Ending): Promise<Response> {
  const outcome = await unsubscribe(deps, { contactId: found.contactId, topic })
  if ('refusal' in outcome) return failedAnswer(request, found, outcome, <FailedPage {...found} topic={topic} />)
  const after = await again()
  return recipientAnswer(request, 200, after, <StatePage {...after} {...outcome} />)
}

const failedAnswer = (
  request: Request,
  found: Found,
  { refusal }: { refusal: RefusalCode },
  page: ReturnType<typeof FailedPage>,
): Response => recipientAnswer(request, REFUSALS[refusal].status, found, page)

/** Of the topic, or of everything (null). Repeatable. */
async function undo(deps: Dependencies, request: Request, { found, again, topic }: Ending): Promise<Response> {
  const { contactId } = found
  const outcome = topic
    ? await chooseTopics(deps, { contactId, end: [], resume: [topic.name], actor: null })
    : await resubscribe(deps, contactId)
  if ('refusal' in outcome) return failedAnswer(request, found, outcome, <UndoFailedPage {...found} topic={topic} />)
  const after = await again()
  const isDone = isSubscribed(after) && !after.topic?.end
  return recipientAnswer(
    request,
    200,
    after,
    isDone ? <UndonePage {...after} topic={topic} /> : <StatePage {...after} />,
  )
}

const choose =
  (deps: Dependencies, request: Request): Handle =>
  async (found, again) => {
    const form = await readForm(request)
    if ('refusal' in form) return problemAnswer(request, form.refusal)
    const choice = readTopics(found.topics, form)
    const outcome = await chooseTopics(deps, { contactId: found.contactId, actor: null, ...choice })
    if ('refusal' in outcome) return failedAnswer(request, found, outcome, <ChoiceFailedPage {...found} />)
    const after = await again()
    const page = isSubscribed(after) ? <ChosenPage {...after} {...outcome} /> : <StatePage {...after} />
    return recipientAnswer(request, 200, after, page)
  }

const isSubscribed = ({ status }: Pick<Found, 'status'>): boolean => status === 'subscribed' || status === 'pending'

const NO_WAIT: StoppedEmails = { stillSending: 0 }

function StatePage({ stillSending, ...found }: Found & Partial<StoppedEmails>) {
  const stopped = stillSending === undefined ? NO_WAIT : { stillSending }
  if (!isSubscribed(found)) return <DonePage {...found} {...stopped} />
  const { topic } = found
  return topic?.end ? <TopicDonePage {...found} {...stopped} topic={topic} /> : <AskPage {...found} />
}

/** `appName` null: the person was erased. */
function describeDone(found: Found): string {
  if (found.appName === null) return "You won't get any more of these emails."
  return say(found, found.topics.length > 0 ? 'allDoneLead' : 'doneLead')
}

const withWait = (found: Found, text: string, { stillSending }: StoppedEmails): string =>
  stillSending === 0 ? text : `${text} ${say(found, 'onItsWay')}`

const AskPage = (found: Found) => {
  const topic = found.topic?.name
  const [title, lead, button] =
    topic === undefined
      ? (['askTitle', 'askLead', 'askButton'] as const)
      : (['topicTitle', 'topicLead', 'topicButton'] as const)
  return (
    <RecipientPage {...found} title={say(found, title, topic)} lead={say(found, lead, topic)}>
      <div class="buttons">
        <ActionForm action={found.path} kind="primary">
          {say(found, button, topic)}
        </ActionForm>
        {topic !== undefined && <EverythingForm {...found} />}
      </div>
      <TopicsForm {...found} />
    </RecipientPage>
  )
}

const EverythingForm = (found: Found) => <ActionForm action={`${found.path}/all`}>{say(found, 'allButton')}</ActionForm>

/** Shown if the app has topics besides that of the link. */
const TopicsForm = (found: Found) =>
  found.topics.some((one) => one.id !== found.topic?.id) ? (
    <section id="topics">
      <h2>{say(found, 'choiceTitle')}</h2>
      <form method="post" action={`${found.path}/topics`}>
        <TopicFields
          label={say(found, 'choiceTitle')}
          topics={found.topics}
          isLocked={({ end }) => end !== null && end.actor !== null}
        />
        <Button>{say(found, 'choiceButton')}</Button>
      </form>
    </section>
  ) : null

const DonePage = ({ stillSending, ...found }: Found & StoppedEmails) => (
  <RecipientPage
    {...found}
    title={say(found, 'doneTitle')}
    lead={withWait(found, describeDone(found), { stillSending })}
  >
    {found.mayUndo && (
      <>
        <p class="hint">{say(found, 'undoHint')}</p>
        <UndoForm {...found} topic={null} />
      </>
    )}
  </RecipientPage>
)

const TopicDonePage = ({ stillSending, topic, ...found }: Found & StoppedEmails & { topic: ChosenTopic }) => {
  const mayUndo = topic.end?.actor === null
  return (
    <RecipientPage
      {...found}
      title={say(found, 'topicDoneTitle', topic.name)}
      lead={withWait({ ...found, topic }, say(found, 'topicDoneLead', topic.name), { stillSending })}
    >
      {mayUndo && <p class="hint">{say(found, 'undoHint')}</p>}
      <div class="buttons">
        {mayUndo && <UndoForm {...found} topic={topic} />}
        <EverythingForm {...found} topic={topic} />
      </div>
      <TopicsForm {...found} topic={topic} />
    </RecipientPage>
  )
}

const UndoForm = ({ topic, ...found }: Found) => (
  <ActionForm action={topic ? `${found.path}/undo` : `${found.path}/all/undo`}>{say(found, 'undoButton')}</ActionForm>
)

const UndonePage = ({ topic, ...found }: Found) => {
  const [title, lead, button] =
    topic !== null
      ? (['topicUndoneTitle', 'undoneLead', 'topicButton'] as const)
      : (['undoneTitle', found.topics.length > 0 ? 'chosenLead' : 'undoneLead', 'askButton'] as const)
  return (
    <RecipientPage {...found} title={say(found, title, topic?.name)} lead={say(found, lead)}>
      {topic === null && found.topics.length > 0 ? (
        <EverythingForm {...found} topic={topic} />
      ) : (
        <ActionForm action={found.path}>{say(found, button, topic?.name)}</ActionForm>
      )}
      <TopicsForm {...found} topic={null} />
    </RecipientPage>
  )
}

const ChosenPage = ({ stillSending, ...found }: Found & StoppedEmails) => (
  <RecipientPage
    {...found}
    title={say(found, 'chosenTitle')}
    lead={withWait(found, say(found, 'chosenLead'), { stillSending })}
  >
    <EverythingForm {...found} />
    <TopicsForm {...found} topic={null} />
  </RecipientPage>
)

const FailedFrame = ({ children, ...found }: Found & { children: ComponentChildren }) => (
  <RecipientPage {...found} title={say(found, 'failedTitle')} lead={say(found, 'failedLead')}>
    {children}
  </RecipientPage>
)

const FailedPage = ({ topic, ...found }: Found) => (
  <FailedFrame {...found} topic={topic}>
    <ActionForm action={topic ? found.path : `${found.path}/all`} kind="primary">
      {say(found, 'retryButton')}
    </ActionForm>
  </FailedFrame>
)

const UndoFailedPage = ({ topic, ...found }: Found) => (
  <FailedFrame {...found} topic={topic}>
    <UndoForm {...found} topic={topic} />
  </FailedFrame>
)

const ChoiceFailedPage = (found: Found) => (
  <FailedFrame {...found}>
    <TopicsForm {...found} topic={null} />
  </FailedFrame>
)

/** A test email has no recipient person. */
const TestPage = () => (
  <AppLayout
    appName={null}
    title="This was a test email"
    lead="In a real email, this link lets the recipient unsubscribe. Nobody was unsubscribed."
  />
)
