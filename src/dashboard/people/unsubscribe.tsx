/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { describeStillSending, type StoppedEmails, type HandOvers } from '../../core/hand-overs.ts'
import type { Clock } from '../../core/clock.ts'
import type { Store } from '../../store/store.ts'
import { REFUSALS } from '../../core/refusals.ts'
import {
  findUnsubscribing,
  resubscribe,
  TEST_TOKEN,
  unsubscribe,
  type Unsubscribing,
} from '../../people/unsubscribe.ts'
import { pageAnswer } from '../layout/answers.ts'
import { AppLayout } from '../layout/layout.tsx'
import { ActionForm } from '../ui/button.tsx'
import {
  lookAnswer,
  nameOf,
  type Recipient,
  recipientAnswer,
  RecipientPage,
  toOf,
  unknownLink,
} from './recipient-page.tsx'

type Dependencies = { store: Store; clock: Clock; mailer: HandOvers; unsubscribeKey: string }

/**
 * One-click unsubscribe (RFC 8058). GET changes nothing, because mail scanners open links. POST needs no cookie or body
 * and has no rate limit. The page can take it back.
 */
export const unsubscribeRoutes = (deps: Dependencies) =>
  new Elysia()
    .get(`/u/${TEST_TOKEN}`, ({ request }) => pageAnswer(request, 200, <TestPage />))
    .post(`/u/${TEST_TOKEN}`, ({ request }) => pageAnswer(request, 200, <TestPage />), { parse: 'none' })
    .get('/u/:token', async ({ params, request }) => {
      const found = await findUnsubscribing(deps, params.token)
      if (!found) return unknownLink(request)
      const shown = { ...found, path: pathOf(params.token) }
      const isUnsubscribed = found.status !== 'subscribed' && found.status !== 'pending'
      return recipientAnswer(
        request,
        200,
        shown,
        isUnsubscribed ? <DonePage {...shown} stillSending={0} /> : <AskPage {...shown} />,
      )
    })
    .get('/u/:token/look.css', async ({ params }) => {
      const found = await findUnsubscribing(deps, params.token)
      return lookAnswer(found)
    })
    .post(
      '/u/:token',
      async ({ params, request }) => {
        const found = await findUnsubscribing(deps, params.token)
        if (!found) return unknownLink(request)
        const shown = { ...found, path: pathOf(params.token) }
        const outcome = await unsubscribe(deps, found.contactId)
        if (!('refusal' in outcome)) {
          const after = { ...shown, ...(await findUnsubscribing(deps, params.token)) }
          return recipientAnswer(request, 200, after, <DonePage {...after} {...outcome} />)
        }
        return recipientAnswer(request, REFUSALS[outcome.refusal].status, shown, <FailedPage {...shown} />)
      },
      { parse: 'none' },
    )
    .post(
      '/u/:token/undo',
      async ({ params, request }) => {
        const found = await findUnsubscribing(deps, params.token)
        if (!found) return unknownLink(request)
        const shown = { ...found, path: pathOf(params.token) }
        const outcome = await resubscribe(deps, found.contactId)
        if ('refusal' in outcome) {
          return recipientAnswer(request, REFUSALS[outcome.refusal].status, shown, <UndoFailedPage {...shown} />)
        }
        return recipientAnswer(
          request,
          200,
          shown,
          outcome.isDone ? <UndonePage {...shown} /> : <DonePage {...shown} stillSending={0} />,
        )
      },
      { parse: 'none' },
    )

type Found = Unsubscribing & Recipient

const pathOf = (token: string): string => `/u/${token}`

/** `appName` null: the person was erased. */
const describeDone = (found: Found): string =>
  found.appName === null
    ? "You won't get any more of these emails."
    : `${found.appName} won't send any more of these emails${toOf(found)}.`

const AskPage = (found: Found) => (
  <RecipientPage
    {...found}
    title={`Unsubscribe from ${nameOf(found)}?`}
    lead={`${nameOf(found)} will stop sending these emails${toOf(found)}.`}
  >
    <ActionForm action={found.path} kind="primary">
      Unsubscribe
    </ActionForm>
  </RecipientPage>
)

const DonePage = ({ stillSending, ...found }: Found & StoppedEmails) => (
  <RecipientPage
    {...found}
    title="You're unsubscribed"
    lead={`${describeDone(found)}${stillSending === 0 ? '' : ` ${describeStillSending(stillSending)}`}`}
  >
    {found.mayUndo && (
      <>
        <p class="hint">Unsubscribed by mistake?</p>
        <UndoForm path={found.path} />
      </>
    )}
  </RecipientPage>
)

const UndoForm = ({ path }: { path: string }) => <ActionForm action={`${path}/undo`}>Resubscribe</ActionForm>

const UndonePage = (found: Found) => (
  <RecipientPage
    {...found}
    title="You're subscribed again"
    lead={`${nameOf(found)} will send these emails${toOf(found)} again.`}
  >
    <ActionForm action={found.path}>Unsubscribe</ActionForm>
  </RecipientPage>
)

const FailedPage = (found: Found) => (
  <RecipientPage {...found} title="This didn't work" lead="You are not unsubscribed yet. Try again in a minute.">
    <ActionForm action={found.path} kind="primary">
      Try again
    </ActionForm>
  </RecipientPage>
)

const UndoFailedPage = (found: Found) => (
  <RecipientPage {...found} title="This didn't work" lead="You are still unsubscribed. Try again in a minute.">
    <UndoForm path={found.path} />
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
