/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import type { ComponentChildren, VNode } from 'preact'
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
import { findTheme } from '../../mail/theme.ts'
import { pageAnswer } from '../layout/answers.ts'
import { AppLayout } from '../layout/layout.tsx'
import { ActionForm } from '../ui/button.tsx'

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
      const shown = { ...found, token: params.token }
      const isUnsubscribed = found.status !== 'subscribed'
      return appAnswer(
        request,
        200,
        shown,
        isUnsubscribed ? <DonePage {...shown} stillSending={0} /> : <AskPage {...shown} />,
      )
    })
    .get('/u/:token/look.css', async ({ params }) => {
      const found = await findUnsubscribing(deps, params.token)
      return new Response(writeLook(found?.colour ?? null), { headers: LOOK_HEADERS })
    })
    .post(
      '/u/:token',
      async ({ params, request }) => {
        const found = await findUnsubscribing(deps, params.token)
        if (!found) return unknownLink(request)
        const shown = { ...found, token: params.token }
        const outcome = await unsubscribe(deps, found.contactId)
        if (!('refusal' in outcome)) {
          const after = { ...shown, ...(await findUnsubscribing(deps, params.token)) }
          return appAnswer(request, 200, after, <DonePage {...after} {...outcome} />)
        }
        return appAnswer(request, REFUSALS[outcome.refusal].status, shown, <FailedPage {...shown} />)
      },
      { parse: 'none' },
    )
    .post(
      '/u/:token/undo',
      async ({ params, request }) => {
        const found = await findUnsubscribing(deps, params.token)
        if (!found) return unknownLink(request)
        const shown = { ...found, token: params.token }
        const outcome = await resubscribe(deps, found.contactId)
        if ('refusal' in outcome) {
          return appAnswer(request, REFUSALS[outcome.refusal].status, shown, <UndoFailedPage {...shown} />)
        }
        return appAnswer(
          request,
          200,
          shown,
          outcome.isDone ? <UndonePage {...shown} /> : <DonePage {...shown} stillSending={0} />,
        )
      },
      { parse: 'none' },
    )

const LOOK_HEADERS = { 'Content-Type': 'text/css; charset=utf-8', 'Cache-Control': 'no-store' }

/** The colour of the app's emails, for buttons. */
function writeLook(colour: string | null): string {
  if (colour === null) return ''
  const { button, onButton } = findTheme(colour).light
  return `.button.primary,.button.primary:hover{background:${button};color:${onButton}}\n`
}

type Found = Unsubscribing & { token: string }

/** Lets the page show the app's logo. */
function appAnswer(request: Request, status: number, { logoUrl }: Found, page: VNode): Response {
  const answer = pageAnswer(request, status, page)
  const origin = logoUrl === null ? '' : new URL(logoUrl).origin
  // a host may hold a semicolon, which would begin another directive
  if (/^https:\/\/[\w.-]+(?::\d+)?$/.test(origin)) {
    const policy = answer.headers.get('Content-Security-Policy') ?? ''
    answer.headers.set('Content-Security-Policy', policy.replace('img-src', `img-src ${origin}`))
  }
  return answer
}

const nameOf = ({ appName }: Found): string => appName ?? 'the sender'

/** `appName` null: the person was erased. */
const describeDone = (found: Found): string =>
  found.appName === null
    ? "You won't get any more of these emails."
    : `${found.appName} won't send any more of these emails${toOf(found)}.`

type PageProps = Found & { title: string; lead: string; children?: ComponentChildren }

const UnsubscribePage = ({ appName, logoUrl, colour, token, ...page }: PageProps) => (
  <AppLayout {...page} {...{ appName, logoUrl }} look={colour === null ? undefined : `/u/${token}/look.css`} />
)

const toOf = ({ address }: Found): string => (address === null ? '' : ` to ${address}`)

const AskPage = (found: Found) => (
  <UnsubscribePage
    {...found}
    title={`Unsubscribe from ${nameOf(found)}?`}
    lead={`${nameOf(found)} will stop sending these emails${toOf(found)}.`}
  >
    <ActionForm action={`/u/${found.token}`} kind="primary">
      Unsubscribe
    </ActionForm>
  </UnsubscribePage>
)

const DonePage = ({ stillSending, ...found }: Found & StoppedEmails) => (
  <UnsubscribePage
    {...found}
    title="You're unsubscribed"
    lead={`${describeDone(found)}${stillSending === 0 ? '' : ` ${describeStillSending(stillSending)}`}`}
  >
    {found.mayUndo && (
      <>
        <p class="hint">Unsubscribed by mistake?</p>
        <UndoForm token={found.token} />
      </>
    )}
  </UnsubscribePage>
)

const UndoForm = ({ token }: { token: string }) => <ActionForm action={`/u/${token}/undo`}>Resubscribe</ActionForm>

const UndonePage = (found: Found) => (
  <UnsubscribePage
    {...found}
    title="You're subscribed again"
    lead={`${nameOf(found)} will send these emails${toOf(found)} again.`}
  >
    <ActionForm action={`/u/${found.token}`}>Unsubscribe</ActionForm>
  </UnsubscribePage>
)

const FailedPage = (found: Found) => (
  <UnsubscribePage {...found} title="This didn't work" lead="You are not unsubscribed yet. Try again in a minute.">
    <ActionForm action={`/u/${found.token}`} kind="primary">
      Try again
    </ActionForm>
  </UnsubscribePage>
)

const UndoFailedPage = (found: Found) => (
  <UnsubscribePage {...found} title="This didn't work" lead="You are still unsubscribed. Try again in a minute.">
    <UndoForm token={found.token} />
  </UnsubscribePage>
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
      lead="The link may be incomplete. Open it from the email again, or copy the whole link."
    />,
  )
