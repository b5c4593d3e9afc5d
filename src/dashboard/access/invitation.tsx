/** @jsxImportSource preact */
import { acceptInvitation, findPasswordContext, noteRefusedPassword } from '../../accounts/members.ts'
import { findPasswordFault } from '../../accounts/passwords.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { findSignedIn } from '../layout/require-member.tsx'
import { type PageDependencies } from '../layout/viewer.ts'
import { flashCookie } from '../layout/flash.ts'
import { type FormInput, toForm } from '../layout/forms.ts'
import { homePath } from '../layout/frame.tsx'
import { type Invitation, InvitationPage, LinkUsedPage, NEW_PASSWORD } from './invitation-page.tsx'
import { checkOwnPassword, withWait } from './password-check.ts'
import { problemAnswer } from '../layout/problems.tsx'

type Refused = { status: number; error?: string; newError?: string; notice?: string }

export async function showInvitation(
  deps: PageDependencies,
  request: Request,
  invitation: Invitation,
  { status, ...errors }: Refused = { status: 200 },
): Promise<Response> {
  const signedIn = await findSignedIn(deps, request)
  const signedInAs = signedIn?.member.email ?? null
  return pageAnswer(request, status, <InvitationPage {...{ ...invitation, ...errors, signedInAs }} />)
}

/** Sets the first password of a new person. */
type Choose = (form: FormInput) => Promise<Response>

/** Accepts by the person's own session, their password, or the first password they choose. */
export async function joinAccount(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  invitation: Invitation & { choose: Choose },
): Promise<Response> {
  const { token, member } = invitation
  const signedIn = await findSignedIn(deps, request)
  const isSelf = signedIn?.member.id === member.id
  const isChosen = !isSelf && Object.hasOwn(form.fields, NEW_PASSWORD)
  const password = form.text(isChosen ? NEW_PASSWORD : 'password')
  // checked first, so that the answer reveals nothing about the person
  const context = await findPasswordContext(deps.store, member, invitation.invited)
  const newError = isChosen ? findPasswordFault(password, context) : null
  if (newError !== null) return showInvitation(deps, request, invitation, { status: 400, newError })
  if (isChosen && member.passwordHash === null) return invitation.choose(toForm({ password }))
  const checked = isSelf
    ? { passwordHash: signedIn.member.passwordHash ?? '' }
    : await checkOwnPassword(deps, request, member, password)
  if ('message' in checked) return refusePassword(deps, request, { invitation, checked, isChosen })
  const maker = { store: deps.store, now: deps.clock.now() }
  const outcome = await acceptInvitation(maker, token, { memberId: member.id, passwordHash: checked.passwordHash })
  if (!('refusal' in outcome)) return welcome(deps, request, invitation, signedIn?.member.email ?? null)
  if (outcome.refusal === 'not_found') return problemAnswer(request, 'password_link_unknown')
  const { status, message } = REFUSALS[outcome.refusal]
  return showInvitation(deps, request, invitation, { status, notice: message })
}

const HAS_ONE = 'You already have a password. Enter it.'

type Wrong = { status: number; message: string; retryAfterSeconds?: number }

/** A refused new password reveals that one exists, so the person is notified. */
async function refusePassword(
  deps: PageDependencies,
  request: Request,
  { invitation, checked, isChosen }: { invitation: Invitation; checked: Wrong; isChosen: boolean },
): Promise<Response> {
  const { status, message } = checked
  const isWrong = status === REFUSALS.wrong_password.status
  if (isChosen && isWrong) await noteRefusedPassword({ store: deps.store, now: deps.clock.now() }, invitation.token)
  const errors = isChosen ? { newError: isWrong ? HAS_ONE : message } : { error: message }
  return withWait(await showInvitation(deps, request, invitation, { status, ...errors }), checked)
}

/** Joining doesn't sign anyone in. */
async function welcome(
  deps: PageDependencies,
  request: Request,
  { member, invited }: Invitation,
  signedInAs: string | null,
): Promise<Response> {
  const next = await findFirstPage(deps, member.id, invited)
  if (signedInAs === member.email) return redirectAnswer(next, [flashCookie(deps.baseUrl, 'joined')])
  const title = `You have joined the account ${invited.accountName}`
  return pageAnswer(request, 200, <LinkUsedPage {...{ title, email: member.email, next, signedInAs }} />)
}

export async function findFirstPage(
  { store }: Pick<PageDependencies, 'store'>,
  memberId: string,
  { accountId }: Invitation['invited'],
): Promise<string> {
  const membership = (await store.listAppAccess(memberId)).find((one) => one.accountId === accountId)
  return membership ? homePath(membership.appId, membership) : '/'
}
