/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { findPasswordContext } from '../../accounts/members.ts'
import { findPasswordFault, hashPassword } from '../../accounts/passwords.ts'
import { REFUSALS } from '../../core/refusals.ts'
import type { SignedIn } from '../../accounts/sessions.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { showPage, takeForm } from '../layout/require-member.tsx'
import { type PageDependencies, type Viewer } from '../layout/viewer.ts'
import { type FlashCode, flashCookie } from '../layout/flash.ts'
import type { Form } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import { pageOf } from '../layout/paging.ts'
import { checkOwnPassword } from './password-check.ts'
import { knownCookie, sessionCookie } from './session-cookie.ts'
import { type YouErrors, YouPage } from './you-page.tsx'

/** Any role may submit these forms; they affect only the member. */
export const youRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/you', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer, signedIn) => showYou(deps, request, { viewer, signedIn })),
    )
    .post(
      '/apps/:app/you/password',
      ({ request, params: { app } }) =>
        takeForm(deps, request, { appId: app, role: 'viewer' }, (form, viewer, signedIn) =>
          changePassword(deps, request, form, { viewer, signedIn }),
        ),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/you/sessions',
      ({ request, params: { app } }) =>
        takeForm(
          deps,
          request,
          { appId: app, role: 'viewer', confirm: { to: 'end sessions' }, page: 'you' },
          (form, viewer, signedIn) => endSessions(deps, request, form, { viewer, signedIn }),
        ),
      { parse: 'none' },
    )

export type Who = { viewer: Viewer; signedIn: SignedIn }

export async function showYou(
  { sessions, store, clock }: Pick<PageDependencies, 'sessions' | 'store' | 'clock'>,
  request: Request,
  who: Who,
  errors: YouErrors = {},
  status = 200,
) {
  const list = await sessions.list(who.signedIn.member.id)
  const places = await store.listPlaces(who.signedIn.member.id)
  const requiring = places.filter(({ requiresTwoStep }) => requiresTwoStep).map(({ accountName }) => accountName)
  const page = (
    <YouPage
      viewer={who.viewer}
      sessions={list}
      shown={pageOf(list, pathOf(who.viewer.app.publicId, 'you'), request)}
      currentId={who.signedIn.session.id}
      requiredBy={[...new Set(requiring)]}
      twoStep={await store.findTwoStep(who.signedIn.member.id)}
      now={clock.now()}
      errors={errors}
    />
  )
  return pageAnswer(request, status, page)
}

async function changePassword(deps: PageDependencies, request: Request, form: Form, who: Who): Promise<Response> {
  const context = await findPasswordContext(deps.store, who.signedIn.member)
  const fault = findPasswordFault(form.text('newPassword'), context)
  if (fault) return showYou(deps, request, who, { newPassword: fault }, 400)
  const checked = await checkOwnPassword(deps, request, who.signedIn.member, form.text('password'))
  if ('message' in checked) return showYou(deps, request, who, { password: checked.message }, checked.status)
  const passwordHash = await hashPassword(form.text('newPassword'))
  const outcome = await deps.sessions.changePassword(who.signedIn, checked.passwordHash, passwordHash)
  if ('token' in outcome) {
    const known = deps.signIns.knownMark({ ...who.signedIn.member, passwordHash })
    const cookies = [sessionCookie(deps.baseUrl, outcome.token), knownCookie(deps.baseUrl, known)]
    deps.signInNotes.notify(who.signedIn.member, 'password_changed')
    return done(deps, who, 'password_changed', cookies)
  }
  const { status, message } = REFUSALS[outcome.refusal]
  return showYou(deps, request, who, { password: message }, status)
}

async function endSessions(
  { sessions, ...deps }: PageDependencies,
  request: Request,
  form: Form,
  who: Who,
): Promise<Response> {
  const id = form.text('session')
  const outcome = id === '' ? await sessions.endOthers(who.signedIn) : await sessions.end(who.signedIn, id)
  if (!('refusal' in outcome)) return done(deps, who, id === '' ? 'sessions_ended' : 'session_ended')
  const { status, message } = REFUSALS[outcome.refusal]
  return showYou({ ...deps, sessions }, request, who, { sessions: message }, status)
}

const done = (
  deps: Pick<PageDependencies, 'baseUrl'>,
  { viewer }: Who,
  code: FlashCode,
  cookies: string[] = [],
): Response => redirectAnswer(pathOf(viewer.app.publicId, 'you'), [flashCookie(deps.baseUrl, code), ...cookies])
