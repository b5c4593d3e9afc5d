/** @jsxImportSource preact */
import { Elysia } from 'elysia'
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
import { lookAnswer, type Recipient, recipientAnswer, RecipientPage, say, unknownLink } from './recipient-page.tsx'

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
        const outcome = await askAgain(deps, found, { source: 'page' })
        if ('refusal' in outcome)
          return recipientAnswer(request, REFUSALS[outcome.refusal].status, found, <FailedPage {...found} />)
        const status = outcome.isAsked ? 200 : 429
        return recipientAnswer(request, status, found, <AskedPage {...found} {...outcome} />)
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
  <RecipientPage {...found} title={say(found, 'confirmTitle')} lead={say(found, 'confirmLead')}>
    <ActionForm action={found.path} kind="primary">
      {say(found, 'confirmButton')}
    </ActionForm>
  </RecipientPage>
)

const ConfirmedPage = (found: Found) => (
  <RecipientPage {...found} title={say(found, 'confirmedTitle')} lead={say(found, 'confirmedLead')} />
)

/** An old link doesn't resubscribe someone who has unsubscribed since. */
const RefusingPage = (found: Found) => (
  <RecipientPage {...found} title={say(found, 'refusingTitle')} lead={say(found, 'refusingLead')} />
)

const ExpiredPage = (found: Found) => (
  <RecipientPage {...found} title={say(found, 'expiredTitle')} lead={say(found, 'expiredLead')}>
    <ActionForm action={`${found.path}/again`} kind="primary">
      {say(found, 'newLinkButton')}
    </ActionForm>
  </RecipientPage>
)

const AskedPage = ({ isAsked, nextAt, ...found }: Found & AskedAgain) =>
  isAsked ? (
    <RecipientPage {...found} title={say(found, 'newLinkTitle')} lead={say(found, 'newLinkLead')} />
  ) : (
    <RecipientPage
      {...found}
      title={say(found, 'noLinkTitle')}
      lead={say(found, nextAt === null ? 'noLinkLead' : 'tooEarlyLead')}
    />
  )

const FailedPage = (found: Found) => (
  <RecipientPage {...found} title={say(found, 'failedTitle')} lead={say(found, 'failedLead')}>
    <ActionForm action={found.path} kind="primary">
      {say(found, 'retryButton')}
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
