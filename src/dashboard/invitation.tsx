/** @jsxImportSource preact */
import { acceptInvitation } from '../core/members.ts'
import { REFUSALS } from '../core/refusals.ts'
import { pageAnswer, redirectAnswer } from './answers.ts'
import { findSignedIn, type PageParts } from './door.tsx'
import { flashCookie } from './flash.ts'
import type { Form } from './forms.ts'
import { pathOf } from './frame.tsx'
import { type Invitation, InvitationPage, LinkUsedPage } from './invitation-page.tsx'
import { checkOwnPassword, withWait } from './password-check.ts'
import { problemAnswer } from './problems.tsx'

type Refused = { status: number; error?: string; notice?: string }

/** Asks somebody who has a password whether they join an account. */
export async function showInvitation(
  parts: PageParts,
  request: Request,
  invitation: Invitation,
  { status, ...told }: Refused = { status: 200 },
): Promise<Response> {
  const signedIn = await findSignedIn(parts, request)
  const signedInAs = signedIn?.member.email ?? null
  return pageAnswer(request, status, <InvitationPage {...{ ...invitation, ...told, signedInAs }} />)
}

/** Lets them in: by the session of that very person, else by their password, compared as it is at signing in. */
export async function joinAccount(
  parts: PageParts,
  request: Request,
  form: Form,
  invitation: Invitation,
): Promise<Response> {
  const { token, member } = invitation
  const signedIn = await findSignedIn(parts, request)
  const isSelf = signedIn?.member.id === member.id
  const checked = isSelf
    ? { passwordHash: signedIn.member.passwordHash ?? '' }
    : await checkOwnPassword(parts, request, member, form.text('password'))
  if ('message' in checked) {
    const { status, message } = checked
    return withWait(await showInvitation(parts, request, invitation, { status, error: message }), checked)
  }
  const maker = { store: parts.store, now: parts.clock.now() }
  const outcome = await acceptInvitation(maker, token, { memberId: member.id, passwordHash: checked.passwordHash })
  if (!('refusal' in outcome)) return welcome(parts, request, invitation, signedIn?.member.email ?? null)
  if (outcome.refusal === 'not_found') return problemAnswer(request, 'password_link_unknown')
  const { status, message } = REFUSALS[outcome.refusal]
  return showInvitation(parts, request, invitation, { status, notice: message })
}

/** Joining signs nobody in: that is what the page for signing in is for. */
async function welcome(
  parts: PageParts,
  request: Request,
  { member, invited }: Invitation,
  signedInAs: string | null,
): Promise<Response> {
  const next = await findFirstPage(parts, member.id, invited)
  if (signedInAs === member.email) return redirectAnswer(next, [flashCookie('joined')])
  const title = `You have joined the account ${invited.accountName}`
  return pageAnswer(request, 200, <LinkUsedPage {...{ title, email: member.email, next, signedInAs }} />)
}

/** Of the first app of the account that somebody joined. */
export async function findFirstPage(
  { store }: PageParts,
  memberId: string,
  { accountId }: Invitation['invited'],
): Promise<string> {
  const place = (await store.listPlaces(memberId)).find((one) => one.accountId === accountId)
  return place ? pathOf(place.appId, 'activation') : '/'
}
