/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { describeStillSending, type StoppedEmails, type HandOvers } from '../../core/hand-overs.ts'
import type { Clock } from '../../core/clock.ts'
import type { Store } from '../../store/store.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { findUnsubscribing, TEST_TOKEN, unsubscribe } from '../../people/unsubscribe.ts'
import { pageAnswer } from '../layout/answers.ts'
import { AppLayout } from '../layout/layout.tsx'
import { ActionForm } from '../ui/button.tsx'

type Unsubscribing = { store: Store; clock: Clock; mailer: HandOvers; unsubscribeKey: string }

/**
 * One-click unsubscribe (RFC 8058). GET changes nothing, because mail scanners open links. POST needs no cookie or body
 * and has no rate limit.
 */
export const unsubscribeRoutes = (deps: Unsubscribing) =>
  new Elysia()
    .get(`/u/${TEST_TOKEN}`, ({ request }) => pageAnswer(request, 200, <TestPage />))
    .post(`/u/${TEST_TOKEN}`, ({ request }) => pageAnswer(request, 200, <TestPage />), { parse: 'none' })
    .get('/u/:token', async ({ params, request }) => {
      const found = await findUnsubscribing(deps, params.token)
      return found ? pageAnswer(request, 200, <AskPage {...found} token={params.token} />) : unknownLink(request)
    })
    .post(
      '/u/:token',
      async ({ params, request }) => {
        const found = await findUnsubscribing(deps, params.token)
        if (!found) return unknownLink(request)
        const outcome = await unsubscribe(deps, found.contactId)
        if (!('refusal' in outcome)) return pageAnswer(request, 200, <DonePage {...found} {...outcome} />)
        return pageAnswer(request, REFUSALS[outcome.refusal].status, <FailedPage {...found} token={params.token} />)
      },
      { parse: 'none' },
    )

type Found = { appName: string | null }

const nameOf = ({ appName }: Found): string => appName ?? 'the sender'

const UnsubscribeForm = ({ token, children }: { token: string; children: string }) => (
  <ActionForm action={`/u/${token}`} kind="primary">
    {children}
  </ActionForm>
)

const AskPage = ({ appName, token }: Found & { token: string }) => (
  <AppLayout appName={appName} title="Unsubscribe" lead={`Unsubscribe from ${nameOf({ appName })}?`}>
    <UnsubscribeForm token={token}>Unsubscribe</UnsubscribeForm>
  </AppLayout>
)

const DonePage = ({ appName, stillSending }: Found & StoppedEmails) => (
  <AppLayout
    appName={appName}
    title="You are unsubscribed"
    lead={`You won't get any more of these emails from ${nameOf({ appName })}.${
      stillSending === 0 ? '' : ` ${describeStillSending(stillSending)}`
    }`}
  />
)

const FailedPage = ({ appName, token }: Found & { token: string }) => (
  <AppLayout appName={appName} title="This did not work" lead="You are not unsubscribed yet. Try again in a minute.">
    <UnsubscribeForm token={token}>Try again</UnsubscribeForm>
  </AppLayout>
)

/** A test email has no recipient person. */
const TestPage = () => (
  <AppLayout
    appName={null}
    title="This was a test email"
    lead="In a real email, this link lets the recipient unsubscribe. Nobody was unsubscribed."
  />
)

const unknownLink = (request: Request): Response =>
  pageAnswer(
    request,
    404,
    <AppLayout
      appName={null}
      title="This link does not work"
      lead="Perhaps it was cut off. Open it from the email again, or copy all of it."
    />,
  )
