/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { findMemberLink, findPasswordContext, type MemberLink, setPasswordByLink } from '../../accounts/members.ts'
import { findPasswordFault, hashPassword } from '../../accounts/passwords.ts'
import { REFUSALS } from '../../core/refusals.ts'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { findSignedIn } from '../layout/require-member.tsx'
import { type PageDependencies } from '../layout/viewer.ts'
import { type FlashCode, flashCookie } from '../layout/flash.ts'
import { type FormInput, readForm } from '../layout/forms.ts'
import { findFirstPage, joinAccount, showInvitation } from './invitation.tsx'
import { LinkUsedPage } from './invitation-page.tsx'
import { closeLink, openLink } from './one-time-link.ts'
import { PasswordPage, type PasswordProps } from './password-page.tsx'
import { problemAnswer } from '../layout/problems.tsx'
import { askSecondStep } from './second-step.ts'
import { startSession } from './session-start.ts'

/** One-time links: set a password or join an account. Opening a link doesn't use it up. */
export const passwordRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/password', async ({ request }) => {
      const opened = openLink(request, deps.baseUrl)
      if ('redirect' in opened) return opened.redirect
      const { token } = opened
      const link = await findLink(deps, token)
      if (!link) return problemAnswer(request, 'password_link_unknown')
      const invitation = await toInvitation(deps, token, link)
      if (invitation) return showInvitation(deps, request, invitation)
      return pageAnswer(request, 200, <PasswordPage {...await readPage(deps, request, token, link)} />)
    })
    .post(
      '/password',
      async ({ request }) => {
        const form = await readForm(request)
        if ('refusal' in form) return problemAnswer(request, form.refusal)
        const token = form.text('token')
        const link = await findLink(deps, token)
        if (!link) return problemAnswer(request, 'password_link_unknown')
        const invitation = await toInvitation(deps, token, link)
        const props = await readPage(deps, request, token, link)
        const choose = (form: FormInput) => setPassword(deps, request, form, props)
        const taken = invitation ? joinAccount(deps, request, form, { ...invitation, choose }) : choose(form)
        return closeLink(await taken, deps.baseUrl)
      },
      { parse: 'none' },
    )

const findLink = (
  { store, clock }: Pick<PageDependencies, 'store' | 'clock'>,
  token: string,
): Promise<MemberLink | null> => findMemberLink({ store, now: clock.now() }, token)

/** null for password links, and for invitations of new people on a server with one account. */
async function toInvitation(
  { store }: Pick<PageDependencies, 'store'>,
  token: string,
  { member, invited }: MemberLink,
) {
  if (!invited) return null
  const isKnownToOthers = member.passwordHash !== null || (await store.listAccounts()).length > 1
  return isKnownToOthers ? { token, member, invited } : null
}

async function readPage(
  deps: PageDependencies,
  request: Request,
  token: string,
  link: MemberLink,
): Promise<PasswordProps> {
  const isTwoStepEnded = link.endsTwoStep && (await deps.store.listTwoStepOn([link.member.id])).length > 0
  return { token, link, isTwoStepEnded, signedInAs: await findEmail(deps, request) }
}

const findEmail = async (deps: PageDependencies, request: Request): Promise<string | null> =>
  (await findSignedIn(deps, request))?.member.email ?? null

async function setPassword(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  props: PasswordProps,
): Promise<Response> {
  const { store, clock } = deps
  const context = await findPasswordContext(store, props.link.member, props.link.invited)
  const error = findPasswordFault(form.text('password'), context)
  if (error) return pageAnswer(request, 400, <PasswordPage {...props} error={error} />)
  const passwordHash = await hashPassword(form.text('password'))
  const outcome = await setPasswordByLink({ store, now: clock.now() }, props.token, passwordHash)
  if (!('refusal' in outcome)) return goOn(deps, request, props, passwordHash)
  if (outcome.refusal === 'not_found') return problemAnswer(request, 'password_link_unknown')
  const { status, message } = REFUSALS[outcome.refusal]
  return pageAnswer(request, status, <PasswordPage {...props} notice={message} />)
}

/** Signs the person in, unless a code is required or someone else is signed in. */
async function goOn(
  deps: PageDependencies,
  request: Request,
  props: PasswordProps,
  passwordHash: string,
): Promise<Response> {
  const { link, isTwoStepEnded } = props
  if (link.member.passwordHash !== null) deps.signInNotes.notify(link.member, 'password_changed')
  if (isTwoStepEnded) deps.signInNotes.notify(link.member, 'two_step_off')
  const proof = { member: { ...link.member, passwordHash }, passwordHash }
  const next = link.invited ? await findFirstPage(deps, link.member.id, link.invited) : '/'
  const signedInAs = await findEmail(deps, request)
  if (signedInAs === null) {
    const asked = await askSecondStep(deps, proof)
    if (asked) return redirectAnswer(`/sign-in/code?${new URLSearchParams({ next, set: '1' })}`, [asked])
    const started = await startSession(deps, request, proof)
    if (started) return redirectAnswer(next, [...started.cookies, flashCookie(deps.baseUrl, flashOf(props))])
  }
  const note = isTwoStepEnded ? 'Two-step sign-in is off. You sign in with your password alone.' : undefined
  const page = { title: 'Your password is set', note, email: link.member.email, next, signedInAs }
  return pageAnswer(request, 200, <LinkUsedPage {...page} />)
}

function flashOf({ link, isTwoStepEnded }: PasswordProps): FlashCode {
  if (isTwoStepEnded) return 'password_alone'
  if (link.member.passwordHash !== null) return 'password_set'
  return link.invited === null || link.invited.isFirst ? 'welcome' : 'welcome_joined'
}
