/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { describeStillSending, type StoppedEmails, type HandOvers } from '../../core/hand-overs.ts'
import type { Clock } from '../../core/clock.ts'
import type { Store } from '../../store/store.ts'
import { type RefusalCode, REFUSALS } from '../../core/refusals.ts'
import { type ChosenTopic, chooseTopics } from '../../people/topics.ts'
import {
  findUnsubscribing,
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
import {
  lookAnswer,
  nameOf,
  type Recipient,
  recipientAnswer,
  RecipientPage,
  toOf,
  unknownLink,
} from './recipient-page.tsx'
import { readTopics, TopicFields } from './topic-fields.tsx'

type Dependencies = { store: Store; clock: Clock; mailer: HandOvers; unsubscribeKey: string }

/**
 * One-click unsubscribe (RFC 8058): from the topic of the email, or from everything if it has none. GET changes nothing,
 * because mail scanners open links. POST needs no cookie or body and has no rate limit. The page can take it back.
 */
export const unsubscribeRoutes = (deps: Dependencies) =>
  new Elysia()
    .get(`/u/${TEST_TOKEN}`, ({ request }) => pageAnswer(request, 200, <TestPage />))
    .post(`/u/${TEST_TOKEN}`, ({ request }) => pageAnswer(request, 200, <TestPage />), { parse: 'none' })
    .get('/u/:token', ({ params, request }) =>
      onLink(deps, request, params, (found) => recipientAnswer(request, 200, found, <StatePage {...found} />)),
    )
    .get('/u/:token/look.css', async ({ params }) => lookAnswer(await findUnsubscribing(deps, params.token)))
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
    .post('/u/:token/undo', ({ params, request }) => onLink(deps, request, params, undo(deps, request)), {
      parse: 'none',
    })
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

/** Of everything, or else of the topic. */
const undo =
  (deps: Dependencies, request: Request): Handle =>
  async (found, again) => {
    const { contactId, topic } = found
    const resuming = { contactId, end: [], resume: topic ? [topic.name] : [], actor: null }
    const isOfTopic = isSubscribed(found) && topic !== null
    const outcome = isOfTopic ? await chooseTopics(deps, resuming) : await resubscribe(deps, contactId)
    if ('refusal' in outcome) return failedAnswer(request, found, outcome, <UndoFailedPage {...found} />)
    const after = await again()
    const isDone = isSubscribed(after) && (!isOfTopic || after.topic?.end === null)
    return recipientAnswer(
      request,
      200,
      after,
      isDone ? <UndonePage {...after} topic={isOfTopic ? topic : null} /> : <StatePage {...after} />,
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
const describeDone = (found: Found): string =>
  found.appName === null
    ? "You won't get any more of these emails."
    : `${found.appName} won't send any more of these emails${toOf(found)}.`

const withWait = (text: string, { stillSending }: StoppedEmails): string =>
  stillSending === 0 ? text : `${text} ${describeStillSending(stillSending)}`

const AskPage = (found: Found) => {
  const { topic } = found
  const name = nameOf(found)
  return (
    <RecipientPage
      {...found}
      title={`Unsubscribe from ${topic ? topic.name : name}?`}
      lead={
        topic
          ? `${name} will stop sending emails about ${topic.name}${toOf(found)}.`
          : `${name} will stop sending these emails${toOf(found)}.`
      }
    >
      <div class="buttons">
        <ActionForm action={found.path} kind="primary">
          {topic ? `Unsubscribe from ${topic.name}` : 'Unsubscribe'}
        </ActionForm>
        {topic && <EverythingForm {...found} />}
      </div>
      <TopicsForm {...found} />
    </RecipientPage>
  )
}

const EverythingForm = ({ path }: Found) => <ActionForm action={`${path}/all`}>Unsubscribe from everything</ActionForm>

/** Where there is more to choose than the topic of the link. */
const TopicsForm = ({ path, topics, topic }: Found) =>
  topics.some((one) => one.id !== topic?.id) ? (
    <section id="topics">
      <h2>Emails about</h2>
      <form method="post" action={`${path}/topics`}>
        <TopicFields topics={topics} isLocked={({ end }) => end !== null && end.actor !== null} />
        <Button>Save</Button>
      </form>
    </section>
  ) : null

const DonePage = ({ stillSending, ...found }: Found & StoppedEmails) => (
  <RecipientPage {...found} title="You're unsubscribed" lead={withWait(describeDone(found), { stillSending })}>
    {found.mayUndo && (
      <>
        <p class="hint">Unsubscribed by mistake?</p>
        <UndoForm path={found.path} />
      </>
    )}
  </RecipientPage>
)

const TopicDonePage = ({ stillSending, topic, ...found }: Found & StoppedEmails & { topic: ChosenTopic }) => (
  <RecipientPage
    {...found}
    title={`You're unsubscribed from ${topic.name}`}
    lead={withWait(`${nameOf(found)} won't send any more emails about ${topic.name}${toOf(found)}.`, { stillSending })}
  >
    {topic.end?.actor === null && <p class="hint">Unsubscribed by mistake?</p>}
    <div class="buttons">
      {topic.end?.actor === null && <UndoForm path={found.path} />}
      <EverythingForm {...found} topic={topic} />
    </div>
    <TopicsForm {...found} topic={topic} />
  </RecipientPage>
)

const UndoForm = ({ path }: { path: string }) => <ActionForm action={`${path}/undo`}>Resubscribe</ActionForm>

const UndonePage = ({ topic, ...found }: Found) => (
  <RecipientPage
    {...found}
    title={topic ? `You're subscribed to ${topic.name} again` : "You're subscribed again"}
    lead={`${nameOf(found)} will send these emails${toOf(found)} again.`}
  >
    <ActionForm action={found.path}>Unsubscribe</ActionForm>
  </RecipientPage>
)

const ChosenPage = ({ stillSending, ...found }: Found & StoppedEmails) => (
  <RecipientPage
    {...found}
    title="Your choice is saved"
    lead={withWait(`${nameOf(found)} sends emails${toOf(found)} as you chose.`, { stillSending })}
  >
    <EverythingForm {...found} />
    <TopicsForm {...found} topic={null} />
  </RecipientPage>
)

const FailedPage = ({ topic, ...found }: Found) => (
  <RecipientPage {...found} title="This didn't work" lead="You are not unsubscribed yet. Try again in a minute.">
    <ActionForm action={topic ? found.path : `${found.path}/all`} kind="primary">
      Try again
    </ActionForm>
  </RecipientPage>
)

const UndoFailedPage = (found: Found) => (
  <RecipientPage {...found} title="This didn't work" lead="You are still unsubscribed. Try again in a minute.">
    <UndoForm path={found.path} />
  </RecipientPage>
)

const ChoiceFailedPage = (found: Found) => (
  <RecipientPage {...found} title="This didn't work" lead="Nothing was saved. Try again in a minute.">
    <TopicsForm {...found} topic={null} />
  </RecipientPage>
)

/** A test email has no recipient person. */
const TestPage = () => (
  <AppLayout
    appName={null}
    title="This was a test email"
    lead="In a real email, this link lets the recipient unsubscribe. Nobody was unsubscribed."
  />
)
