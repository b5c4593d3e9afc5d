/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import type { Limit } from '../../accounts/limits.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { missingAnswer } from '../layout/missing-page.tsx'
import { findLastApp, findSignedIn, onForm, showPage } from '../layout/require-member.tsx'
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { SystemPage, type Tested } from './system-page.tsx'

/** Each test sends an email through every server. */
const ALERT_TESTS = { max: 10, windowMs: 600_000 } as const satisfies Limit
const TOO_MANY_TESTS = 'Ten test alerts were sent in the last ten minutes. Wait a few minutes, then try again.'

/** About the whole installation. Without an app, `/system` leads to it: alerts link there. */
export const systemRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/system', async ({ request }) => {
      const signedIn = await findSignedIn(deps, request)
      if (!signedIn) return redirectAnswer(`/sign-in?${new URLSearchParams({ next: '/system' })}`)
      const apps = await deps.store.listAppAccess(signedIn.member.id)
      const access = apps.find(({ isFirst }) => isFirst) ?? (await findLastApp(deps, request, signedIn.member.id))
      return redirectAnswer(access ? pathOf(access.appId, 'system') : '/')
    })
    .get('/apps/:app/system', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showSystem(deps, request, viewer)),
    )
    .post('/apps/:app/system/test', onForm(deps, { role: 'owner' }, testAlert), { parse: 'none' })

async function showSystem(
  deps: PageDependencies,
  request: Request,
  viewer: Viewer,
  tested: Tested = null,
): Promise<Response> {
  if (!viewer.isOperator) return refuseOthers(deps, request, viewer)
  const state = await deps.monitor.readSystem()
  return pageAnswer(request, 200, <SystemPage viewer={viewer} state={state} tested={tested} />)
}

function refuseOthers(deps: PageDependencies, request: Request, viewer: Viewer): Response {
  const { id: memberId, role } = viewer.member
  deps.noteSecurity('warn', 'access denied', { reason: 'not_operator', memberId, role, accountId: viewer.account.id })
  return missingAnswer(request, viewer, 'not_operator')
}

async function testAlert(
  deps: PageDependencies,
  request: Request,
  _form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  if (!viewer.isOperator) return refuseOthers(deps, request, viewer)
  const { id: memberId, email } = viewer.member
  const { allowed } = await deps.limits.takeAlone(`alert-test:${viewer.account.id}`, ALERT_TESTS)
  if (allowed === 0) return showSystem(deps, request, viewer, { refused: TOO_MANY_TESTS })
  const tested = await deps.monitor.sendTest({ memberId, email, accountId: viewer.account.id })
  return showSystem(deps, request, viewer, tested)
}
