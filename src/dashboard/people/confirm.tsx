/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { formatDuration } from '../../core/format-time.ts'
import type { Clock } from '../../core/clock.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { factsOf } from '../../http/request-facts.ts'
import {
  askAgain,
  type AskedAgain,
  CONFIRM_PATH,
  confirmConsent,
  type Confirming,
  findConfirming,
} from '../../people/consent.ts'
import { TEST_TOKEN } from '../../people/unsubscribe.ts'
import type { Store } from '../../store/store.ts'
import { pageAnswer } from '../layout/answers.ts'
import { AppLayout } from '../layout/layout.tsx'
import { ActionForm } from '../ui/button.tsx'
import { lookAnswer, type Recipient, recipientAnswer, RecipientPage, toOf, unknownLink } from './recipient-page.tsx'

type Dependencies = { store: Store; clock: Clock; unsubscribeKey: string }

const LINK = `${CONFIRM_PATH}/:token`

/** Behind the link that confirms an address. GET changes nothing, because mail scanners open links. */
export const confirmRoutes = (deps: Dependencies) =>
  new Elysia()
    .get(`${CONFIRM_PATH}/${TEST_TOKEN}`, ({ request }) => pageAnswer(request, 200, <TestPage />))
    .post(`${CONFIRM_PATH}/${TEST_TOKEN}`, ({ request }) => pageAnswer(request, 200, <TestPage />), { parse: 'none' })
    .get(LINK, async ({ params, request }) => {
      const found = await find(deps, params.token)
      return found ? stateAnswer(request, found) : unknownLink(request)
    })
    .get(`${LINK}/look.css`, async ({ params }) => lookAnswer(await findConfirming(deps, params.token)))
    .post(
      LINK,
      async ({ params, request }) => {
        const found = await find(deps, params.token)
        if (!found) return unknownLink(request)
        if (found.status !== 'pending' || found.isExpired) return stateAnswer(request, found)
        const outcome = await confirmConsent(deps, found, factsOf(request).address())
        return 'refusal' in outcome
          ? recipientAnswer(request, REFUSALS[outcome.refusal].status, found, <FailedPage {...found} />)
          : stateAnswer(request, { ...found, status: outcome.status })
      },
      { parse: 'none' },
    )
    .post(
      `${LINK}/again`,
      async ({ params, request }) => {
        const found = await find(deps, params.token)
        if (!found) return unknownLink(request)
        if (found.status !== 'pending') return stateAnswer(request, found)
        const outcome = await askAgain(deps, found, 'page')
        if ('refusal' in outcome)
          return recipientAnswer(request, REFUSALS[outcome.refusal].status, found, <FailedPage {...found} />)
        const status = outcome.isAsked ? 200 : 429
        return recipientAnswer(request, status, found, <AskedPage {...found} {...outcome} now={deps.clock.now()} />)
      },
      { parse: 'none' },
    )

type Found = Confirming & Recipient

async function find(deps: Dependencies, token: string): Promise<Found | null> {
  const found = await findConfirming(deps, token)
  return found && { ...found, path: `${CONFIRM_PATH}/${token}` }
}

const GONE = 410

function stateAnswer(request: Request, found: Found): Response {
  const isExpired = found.status === 'pending' && found.isExpired
  return recipientAnswer(request, isExpired ? GONE : 200, found, <StatePage {...found} />)
}

function StatePage(found: Found) {
  if (found.status === 'subscribed') return <ConfirmedPage {...found} />
  if (found.status !== 'pending') return <RefusingPage {...found} />
  return found.isExpired ? <ExpiredPage {...found} /> : <AskPage {...found} />
}

const AskPage = (found: Found) => (
  <RecipientPage
    {...found}
    title="Confirm your email address"
    lead={`${found.appName} will then send emails${toOf(found)}.`}
  >
    <ActionForm action={found.path} kind="primary">
      Confirm
    </ActionForm>
  </RecipientPage>
)

const ConfirmedPage = (found: Found) => (
  <RecipientPage
    {...found}
    title="Your email address is confirmed"
    lead={`${found.appName} can now send emails${toOf(found)}. You can close this page.`}
  />
)

/** Who unsubscribed since is not subscribed by an old link. */
const RefusingPage = (found: Found) => (
  <RecipientPage
    {...found}
    title="This address gets no emails"
    lead={`${found.appName} sends no emails${toOf(found)}, so there is nothing to confirm.`}
  />
)

const ExpiredPage = (found: Found) => (
  <RecipientPage
    {...found}
    title="This link has expired"
    lead={`Links work for ${found.days === 1 ? 'a day' : `${found.days} days`}. Get a new one${toOf(found)}.`}
  >
    <ActionForm action={`${found.path}/again`} kind="primary">
      Send a new link
    </ActionForm>
  </RecipientPage>
)

const AskedPage = ({ isAsked, nextAt, now, ...found }: Found & AskedAgain & { now: number }) => (
  <RecipientPage
    {...found}
    title={isAsked ? 'Check your inbox' : 'No email was sent'}
    lead={isAsked ? `A new link is on its way${toOf(found)}.` : describeUnasked(found, nextAt, now)}
  />
)

const describeUnasked = (found: Found, nextAt: number | null, now: number): string =>
  nextAt === null
    ? `${found.appName} doesn't send new links. Ask ${found.appName} for help.`
    : `A link was sent${toOf(found)} less than an hour ago. Check your spam folder, or try again in ${formatDuration(nextAt - now)}.`

const FailedPage = (found: Found) => (
  <RecipientPage {...found} title="This didn't work" lead="Nothing was saved. Try again in a minute.">
    <ActionForm action={found.path} kind="primary">
      Try again
    </ActionForm>
  </RecipientPage>
)

/** A preview has no recipient person. */
const TestPage = () => (
  <AppLayout
    appName={null}
    title="This was a test email"
    lead="In a real email, this link lets the recipient confirm their address. Nothing was confirmed."
  />
)
