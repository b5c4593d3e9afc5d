/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { findPasswordContext } from '../../accounts/members.ts'
import { findPasswordFault, hashPassword } from '../../accounts/passwords.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { pageAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm, showPage, withCookies } from '../layout/require-member.tsx'
import type { PageDependencies, Who } from '../layout/viewer.ts'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { pageOf } from '../layout/paging.ts'
import type { Confirm } from './confirm.tsx'
import { checkOwnPassword } from './password-check.ts'
import { knownCookie, sessionCookie } from './session-cookie.ts'
import { findOwner } from './weekly-summary.tsx'
import { type YouErrors, YouPage } from './you-page.tsx'

/** Any role may submit these forms; they affect only the member. */
export const youRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/you', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer, signedIn) => showYou(deps, request, { viewer, signedIn })),
    )
    .post('/apps/:app/you/password', onForm(deps, { role: 'viewer' }, changePassword), { parse: 'none' })
    .post(
      '/apps/:app/you/sessions',
      onForm(deps, { role: 'viewer', confirm: { to: 'end sessions', find: findEnded }, page: 'you' }, endSessions),
      { parse: 'none' },
    )

export async function showYou(
  { sessions, store, clock }: Pick<PageDependencies, 'sessions' | 'store' | 'clock'>,
  request: Request,
  who: Who,
  { status = 200, ...errors }: YouErrors & { status?: number } = {},
) {
  const list = await sessions.list(who.signedIn.member.id)
  const memberships = await store.listAppAccess(who.signedIn.member.id)
  const requiring = memberships.filter(({ requiresTwoStep }) => requiresTwoStep).map(({ accountName }) => accountName)
  const page = (
    <YouPage
      viewer={who.viewer}
      sessions={list}
      shown={pageOf(list, pathOf(who.viewer.app.publicId, 'you'), request)}
      currentId={who.signedIn.session.id}
      requiredBy={[...new Set(requiring)]}
      twoStep={await store.findTwoStep(who.signedIn.member.id)}
      summary={await findOwner(store, who.viewer)}
      now={clock.now()}
      {...errors}
    />
  )
  return pageAnswer(request, status, page)
}

async function changePassword(deps: PageDependencies, request: Request, form: FormInput, who: Who): Promise<Response> {
  const context = await findPasswordContext(deps.store, who.signedIn.member)
  const fault = findPasswordFault(form.text('newPassword'), context)
  const refuse = (status: number, field: string, message: string) =>
    showYou(deps, request, who, { status, errors: [{ field, message }] })
  if (fault) return refuse(400, 'newPassword', fault)
  const checked = await checkOwnPassword(deps, request, who.signedIn.member, form.text('password'))
  if ('message' in checked) return refuse(checked.status, 'password', checked.message)
  const passwordHash = await hashPassword(form.text('newPassword'))
  const outcome = await deps.sessions.changePassword(who.signedIn, checked.passwordHash, passwordHash)
  if ('token' in outcome) {
    const known = deps.signIns.knownMark({ ...who.signedIn.member, passwordHash })
    const cookies = [sessionCookie(deps.baseUrl, outcome.token), knownCookie(deps.baseUrl, known)]
    deps.signInNotes.notify(who.signedIn.member, 'password_changed')
    return withCookies(doneAnswer(deps, who.viewer, 'you', 'password_changed'), cookies)
  }
  const { status, message } = REFUSALS[outcome.refusal]
  return refuse(status, 'password', message)
}

const findEnded: Confirm['find'] = async ({ sessions }, { viewer, form }) => {
  const id = form.text('session')
  if (id === '') return { to: 'end all your other sessions' }
  const session = (await sessions.list(viewer.member.id)).find((one) => one.id === id)
  return session ? { to: `end the session of ${session.browser}` } : null
}

async function endSessions(deps: PageDependencies, request: Request, form: FormInput, who: Who): Promise<Response> {
  const { sessions } = deps
  const id = form.text('session')
  const outcome = id === '' ? await sessions.endOthers(who.signedIn) : await sessions.end(who.signedIn, id)
  if (!('refusal' in outcome))
    return doneAnswer(deps, who.viewer, 'you', id === '' ? 'sessions_ended' : 'session_ended')
  const { status, message } = REFUSALS[outcome.refusal]
  return showYou(deps, request, who, { status, sessionsNotice: message })
}
