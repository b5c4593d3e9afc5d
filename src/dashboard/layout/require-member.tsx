/** @jsxImportSource preact */
import { findViewer, type PageDependencies, type Viewer, type Who } from './viewer.ts'
import { type AppAccess, hasRole, type Role } from '../../accounts/members.ts'
import type { SignedIn } from '../../accounts/sessions.ts'
import { factsOf } from '../../http/request-facts.ts'
import { redirectAnswer } from './answers.ts'
import { askForPassword, type Confirm } from '../access/confirm.tsx'
import { CONFIRM_CODE_FIELD, CONFIRM_FIELD } from '../ui/form.tsx'
import { type PageName, pathOf } from './frame.tsx'
import { addFlash, type Flash, flashCookie, noFlash, readFlash } from './flash.ts'
import { type FormInput, readForm, toForm } from './forms.ts'
import { cookieHeader, cookieName, readCookie, YEAR_S } from '../access/cookies.ts'
import { signInExpired } from './expired-form.tsx'
import { pageAbove } from './forms.ts'
import { missingAnswer } from './missing-page.tsx'
import { problemAnswer } from './problems.tsx'
import { readSessionToken } from '../access/session-cookie.ts'

export async function findSignedIn(
  { sessions, baseUrl }: Pick<PageDependencies, 'sessions' | 'baseUrl'>,
  request: Request,
): Promise<SignedIn | null> {
  const token = readSessionToken(request, baseUrl)
  const signedIn = token === null ? null : await sessions.find(token)
  if (signedIn) factsOf(request).memberId = signedIn.member.id
  return signedIn
}

/** Redirects to sign-in and back to `next`, by default the requested page; forms lead back to their page. */
function sendToSignIn(request: Request, next?: string): Response {
  const { pathname, search } = new URL(request.url)
  const isForm = request.method === 'POST'
  const query = new URLSearchParams({ next: isForm ? pageAbove(pathname) : (next ?? pathname + search) })
  if (isForm) query.set('unsent', '1')
  return redirectAnswer(`/sign-in?${query}`)
}

type Answer = Response | Promise<Response>

/** Opens an event stream for a member. It never redirects, keeps the flash message and doesn't extend the session. */
export async function openStream(
  deps: PageDependencies,
  request: Request,
  appId: string,
  open: (viewer: Viewer) => Answer,
): Promise<Response> {
  const token = readSessionToken(request, deps.baseUrl)
  const signedIn = token === null ? null : await deps.sessions.peek(token)
  if (!signedIn) return new Response(null, { status: 401 })
  const viewer = await findViewer(deps, signedIn.member, appId, [])
  if (!viewer) return problemAnswer(request, 'page_unknown')
  if (await lacksTwoStep(deps, request, viewer)) return new Response(null, { status: 403 })
  return open(viewer)
}

const LAST_APP = 'app'

/** ID of the last app in this browser. Access is checked separately. */
const readLastApp = (request: Request, baseUrl: string): string | null =>
  readCookie(request, cookieName(baseUrl, LAST_APP))

/** Access to the app opened last in this browser, else to the first one. */
export async function findLastApp(
  { store, baseUrl }: Pick<PageDependencies, 'store' | 'baseUrl'>,
  request: Request,
  memberId: string,
): Promise<AppAccess | null> {
  const memberships = await store.listAppAccess(memberId)
  const last = readLastApp(request, baseUrl)
  return memberships.find(({ appId }) => appId === last) ?? memberships[0] ?? null
}

/** For pages that also show without sign-in: null if nobody is signed in, or may not open the app. */
export async function findLastViewer(deps: PageDependencies, request: Request): Promise<Viewer | null> {
  const signedIn = await findSignedIn(deps, request)
  const access = signedIn && (await findLastApp(deps, request, signedIn.member.id))
  const viewer = access && (await findViewer(deps, signedIn.member, access.appId, []))
  return viewer && !(await lacksTwoStep(deps, request, viewer)) ? viewer : null
}

/** For URLs without a page. It never redirects, keeps the flash message and doesn't extend the session. */
export async function peekViewer(
  deps: Omit<PageDependencies, 'signIns'>,
  request: Request,
  appId: string,
): Promise<Viewer | null> {
  const token = readSessionToken(request, deps.baseUrl)
  const signedIn = token === null ? null : await deps.sessions.peek(token)
  const viewer = signedIn && (await findViewer(deps, signedIn.member, appId, []))
  return viewer && !(await lacksTwoStep(deps, request, viewer)) ? viewer : null
}

export const lastAppCookie = (baseUrl: string, appId: string): string =>
  cookieHeader(baseUrl, { name: LAST_APP, value: appId, maxAgeS: YEAR_S })

type Show = (viewer: Viewer, signedIn: SignedIn) => Answer

/** Shows a page of an app to a member; other people get "not found". `next`: where a sign-in leads, if not back to it. */
export async function showPage(
  deps: PageDependencies,
  request: Request,
  appId: string,
  show: Show,
  next?: string,
): Promise<Response> {
  const signedIn = await findSignedIn(deps, request)
  return signedIn ? requireMember(signedIn, deps, request, { appId, show }) : sendToSignIn(request, next)
}

async function requireMember(
  signedIn: SignedIn,
  deps: PageDependencies,
  request: Request,
  { appId, show }: { appId: string; show: Show },
): Promise<Response> {
  const viewer = await findViewer(deps, signedIn.member, appId, readFlash(request, deps.baseUrl))
  if (!viewer) {
    deps.noteSecurity('warn', 'access denied', { reason: 'not_a_member', memberId: signedIn.member.id })
    return problemAnswer(request, 'page_unknown')
  }
  if (await lacksTwoStep(deps, request, viewer)) {
    const flash = flashCookie(deps.baseUrl, 'two_step_required')
    return redirectAnswer(pathOf(appId, 'you'), [flash])
  }
  factsOf(request).keepOpen()
  const response = await show(viewer, signedIn)
  if (viewer.flash && response.status === 200) response.headers.append('Set-Cookie', noFlash(deps.baseUrl))
  if (hasOthers(viewer) && response.status === 200 && readLastApp(request, deps.baseUrl) !== appId) {
    response.headers.append('Set-Cookie', lastAppCookie(deps.baseUrl, appId))
  }
  return response
}

export function refuseRole(deps: PageDependencies, request: Request, viewer: Viewer): Response {
  const { id: memberId, role } = viewer.member
  deps.noteSecurity('warn', 'access denied', { reason: 'role_too_low', memberId, role, accountId: viewer.account.id })
  return missingAnswer(request, viewer, 'role_too_low')
}

/** True if the account requires two-step sign-in and the member has none. Their own page stays open for the setup. */
async function lacksTwoStep(
  { store }: Pick<PageDependencies, 'store'>,
  request: Request,
  { member, account, app }: Viewer,
) {
  const own = pathOf(app.publicId, 'you')
  const { pathname } = new URL(request.url)
  if (!account.requiresTwoStep || pathname === own || pathname.startsWith(`${own}/`)) return false
  return (await store.listTwoStepOn([member.id])).length === 0
}

const hasOthers = ({ accounts: [first, second] }: Viewer): boolean =>
  second !== undefined || (first?.apps.length ?? 0) > 1

export function withCookies(response: Response, cookies: string[]): Response {
  for (const cookie of cookies) response.headers.append('Set-Cookie', cookie)
  return response
}

/** Back to a page of the app after a change, with a flash message. */
export const doneAnswer = (
  { baseUrl }: Pick<PageDependencies, 'baseUrl'>,
  { app }: Viewer,
  page: Parameters<typeof pathOf>[1],
  ...flashes: Flash[]
): Response => redirectAnswer(pathOf(app.publicId, page), [flashCookie(baseUrl, ...flashes)])

type Check = (request: Request, form: FormInput, viewer: Viewer) => Response | null | Promise<Response | null>

/** `role` is the minimum role; `confirm` asks for the password, shown as part of `page`. */
type FormRules = {
  params: Params<never>
  role: Role
  confirm?: Confirm
  /** validates the form before the password is asked for */
  check?: Check
  page?: PageName
  mostBytes?: number
  hasFiles?: boolean
}

type Params<P extends string> = Record<'app' | P, string>

/** `who` sent the form. `P`: parameters of the path besides `app`. */
type Take<P extends string> = (
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  who: Who & { params: Params<P> },
) => Answer

/** A POST route of an app that answers a form with `take`. Its body is read here, so routes set `parse: 'none'`. */
export const onForm =
  <P extends string = never>(deps: PageDependencies, rules: Omit<FormRules, 'params'>, take: Take<P>) =>
  ({ request, params }: { request: Request; params: Params<P> }): Promise<Response> =>
    takeForm(deps, request, { params, ...rules }, (form, viewer, signedIn) =>
      take(deps, request, form, { viewer, signedIn, params }),
    )

/** Handles a form of an app from a member with a sufficient role. */
async function takeForm(
  deps: PageDependencies,
  request: Request,
  { params, role, confirm, check, page = 'keys', ...limits }: FormRules,
  take: (form: FormInput, viewer: Viewer, signedIn: SignedIn) => Answer,
): Promise<Response> {
  const form = await readForm(request, limits)
  if ('refusal' in form) return problemAnswer(request, form.refusal)
  const showFor = (form: FormInput) => async (viewer: Viewer, signedIn: SignedIn) => {
    if (!hasRole(viewer.member.role, role)) return refuseRole(deps, request, viewer)
    const isDue = confirm?.isAlways || !deps.sessions.isConfirmed(signedIn.session)
    if (!confirm || !isDue) return take(form, viewer, signedIn)
    const refused = await check?.(request, form, viewer)
    if (refused) return refused
    const { find, ...change } = confirm
    const found = await find?.(deps, { viewer, form, params })
    const asked = await askForPassword(deps, request, form, { viewer, signedIn, page, ...change, ...found })
    return asked instanceof Response ? asked : withCookies(await take(form, viewer, signedIn), asked.cookies)
  }
  const signedIn = await findSignedIn(deps, request)
  return signedIn
    ? requireMember(signedIn, deps, request, { appId: params.app, show: showFor(form) })
    : takeExpiredForm(deps, request, form, (form) => ({ appId: params.app, show: showFor(form) }))
}

/** Fields that are never stored in a page: secrets, because someone else could read them there, and whole files. */
const NEVER_STORED = ['password', 'newPassword', 'smtpPassword', 'file']

/** Handles a form whose session has expired. */
async function takeExpiredForm(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  toShown: (form: FormInput) => { appId: string; show: Show },
): Promise<Response> {
  const { [CONFIRM_FIELD]: _, [CONFIRM_CODE_FIELD]: __, ...fields } = form.fields
  if (NEVER_STORED.some((name) => form.text(name) !== '')) return sendToSignIn(request)
  const resumed = await signInExpired(deps, request, fields)
  if (resumed instanceof Response) return resumed
  const response = await requireMember(resumed.signedIn, deps, request, toShown(toForm(resumed.fields)))
  withCookies(response, resumed.cookies)
  if (resumed.isByRecoveryCode) addFlash(response, deps.baseUrl, 'recovery_code_used')
  return response
}
