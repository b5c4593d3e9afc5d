/** @jsxImportSource preact */
import type { PageDependencies, Viewer, Who } from '../layout/viewer.ts'
import { readAccountName } from '../../accounts/account-input.ts'
import { renameAccount } from '../../accounts/accounts.ts'
import { Elysia } from 'elysia'
import { describeInvalidEmail, readEmail } from '../../core/email.ts'
import {
  hasRole,
  inviteAgain,
  inviteMember,
  isRole,
  type MemberEntry,
  resetPassword,
  type Role,
} from '../../accounts/members.ts'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'
import { MembersPage, type NameTyped } from './members-page.tsx'
import { pageAnswer, redirectAnswer } from '../layout/answers.ts'
import { doneAnswer, onForm, refuseRole, showPage } from '../layout/require-member.tsx'
import type { FormInput } from '../layout/forms.ts'
import { pathOf } from '../layout/frame.tsx'
import type { Confirm } from './confirm.tsx'
import { InvitePage, LinkMadePage, MemberPage } from './member-pages.tsx'
import type { FormError } from '../ui/field.tsx'
import { pageOf } from '../layout/paging.ts'
import { missingAnswer } from '../layout/missing-page.tsx'

export const membersRoutes = (deps: PageDependencies) =>
  new Elysia()
    .get('/apps/:app/members', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => showMembers(deps, request, viewer)),
    )
    .get('/apps/:app/members/new', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => {
        if (!hasRole(viewer.member.role, 'owner')) return refuseRole(deps, request, viewer)
        return pageAnswer(request, 200, <InvitePage viewer={viewer} input={{ email: '', role: 'editor' }} />)
      }),
    )
    .get('/apps/:app/members/edit', ({ request, params: { app } }) =>
      showPage(deps, request, app, (viewer) => {
        const id = new URL(request.url).searchParams.get('member') ?? ''
        return showMember(deps, request, viewer, id)
      }),
    )
    .use(memberForms(deps))

async function showMembers(
  { store, clock }: Pick<PageDependencies, 'store' | 'clock'>,
  request: Request,
  viewer: Viewer,
  { status, ...errors }: { status: number; typed?: NameTyped; needsOwnTwoStep?: true } = { status: 200 },
): Promise<Response> {
  const members = await store.listMembers(viewer.account.id)
  const shown = pageOf(members, pathOf(viewer.app.publicId, 'members'), request)
  const inTwoSteps = await store.listTwoStepOn(members.map(({ personId }) => personId))
  const page = { viewer, members, shown, inTwoSteps, now: clock.now(), ...errors }
  return pageAnswer(request, status, <MembersPage {...page} />)
}

/** These actions can give someone access, so they ask for the password. */
const changeOf = (confirm: Confirm) => ({ role: 'owner', confirm, page: 'members' }) as const

/** `what` precedes the member's email. */
const changeOfMember = (to: string, what: string, kind?: 'danger') =>
  changeOf({
    to,
    kind,
    find: async (deps, { viewer, form }) => {
      const member = await findMember(deps, viewer, form.text('member'))
      return (
        member && { to: `${what} ${member.email}`, from: `members/edit?${new URLSearchParams({ member: member.id })}` }
      )
    },
  })

const memberForms = (deps: PageDependencies) =>
  new Elysia()
    .post(
      '/apps/:app/members',
      onForm(deps, { ...changeOf({ to: 'invite a member', from: 'members/new' }), check: checkInvitation }, invite),
      {
        parse: 'none',
      },
    )
    .post('/apps/:app/members/role', onForm(deps, changeOfMember('change a role', 'change the role of'), setRole), {
      parse: 'none',
    })
    .post(
      '/apps/:app/members/link',
      onForm(deps, changeOfMember('create a link for a member', 'create a link for'), makeLink),
      { parse: 'none' },
    )
    .post(
      '/apps/:app/members/sessions',
      onForm(deps, changeOfMember('end the sessions of a member', 'end the sessions of'), endSessions),
      {
        parse: 'none',
      },
    )
    .post(
      '/apps/:app/members/two-step',
      onForm(deps, changeOf({ to: 'change who needs two-step sign-in' }), requireTwoStep),
      {
        parse: 'none',
      },
    )
    .post('/apps/:app/members/remove', onForm(deps, changeOfMember('remove a member', 'remove', 'danger'), remove), {
      parse: 'none',
    })

/** Only members of the viewer's account are found. */
const findMember = async (
  { store }: Pick<PageDependencies, 'store'>,
  { account }: Viewer,
  id: string,
): Promise<MemberEntry | null> => (await store.listMembers(account.id)).find((member) => member.id === id) ?? null

const isOnlyOwner = ({ id }: MemberEntry, members: MemberEntry[]): boolean =>
  members.every((one) => (one.role === 'owner' && !one.isInvited) === (one.id === id))

async function showMember(deps: PageDependencies, request: Request, viewer: Viewer, id: string, refusal?: RefusalCode) {
  if (!hasRole(viewer.member.role, 'owner')) return refuseRole(deps, request, viewer)
  const members = await deps.store.listMembers(viewer.account.id)
  const member = members.find((one) => one.id === id)
  if (!member) return missingAnswer(request, viewer, 'page_unknown')
  const notice = refusal && REFUSALS[refusal].message
  const isOnlyAccount = (await deps.store.listAccounts()).length === 1
  const page = <MemberPage {...{ viewer, member, isOnlyAccount, isOnlyOwner: isOnlyOwner(member, members), notice }} />
  return pageAnswer(request, refusal ? REFUSALS[refusal].status : 200, page)
}

async function invite(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const { store, clock, baseUrl } = deps
  const refuse = (status: number, errors: FormError[], notice?: string): Response =>
    refuseInvitation(request, form, viewer, { status, errors, notice })
  const reading = readInvitation(form)
  if ('errors' in reading) return refuse(400, reading.errors)
  const { email, role } = reading
  const maker = { store, now: clock.now(), actor: viewer.member.id }
  const made = await inviteMember(maker, viewer.account.id, { email, role })
  if (!('refusal' in made)) {
    const link = linkOf(baseUrl, made.inviteToken)
    return pageAnswer(request, 200, <LinkMadePage {...{ viewer, email, link }} isInvitation />)
  }
  const { status, message } = REFUSALS[made.refusal]
  return made.refusal === 'email_taken' ? refuse(status, [{ field: 'email', message }]) : refuse(status, [], message)
}

function readInvitation(form: FormInput): { email: string; role: Role } | { errors: FormError[] } {
  const [text, role] = [form.text('email'), form.text('role')]
  const email = readEmail(text)?.email
  if (!email) {
    const message = describeInvalidEmail(text, 'Enter one email address, such as ada@example.com.')
    return { errors: [{ field: 'email', message }] }
  }
  return isRole(role) ? { email, role } : { errors: [{ field: 'role', message: 'Choose a role.' }] }
}

function checkInvitation(request: Request, form: FormInput, viewer: Viewer): Response | null {
  const reading = readInvitation(form)
  return 'errors' in reading ? refuseInvitation(request, form, viewer, { status: 400, ...reading }) : null
}

type InvitationRefused = { status: number; errors: FormError[]; notice?: string | undefined }

function refuseInvitation(
  request: Request,
  form: FormInput,
  viewer: Viewer,
  { status, ...refused }: InvitationRefused,
): Response {
  const input = { email: form.text('email'), role: form.text('role') }
  return pageAnswer(request, status, <InvitePage {...{ viewer, input, ...refused }} />)
}

const linkOf = (baseUrl: string, token: string): string => `${baseUrl}/password?token=${token}`

/** A new invitation for pending members, a password link for the others. */
async function makeLink(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const { store, clock, baseUrl } = deps
  const member = await findMember(deps, viewer, form.text('member'))
  if (!member) return missingAnswer(request, viewer, 'page_unknown')
  const maker = { store, now: clock.now(), actor: viewer.member.id }
  const accountId = viewer.account.id
  const made = member.isInvited
    ? await inviteAgain(maker, accountId, member.id)
    : await resetPassword(maker, { email: member.email, accountId })
  if ('refusal' in made) return showMember(deps, request, viewer, member.id, made.refusal)
  const link = linkOf(baseUrl, 'inviteToken' in made ? made.inviteToken : made.passwordToken)
  const { email, isInvited: isInvitation } = member
  return pageAnswer(request, 200, <LinkMadePage {...{ viewer, email, link, isInvitation }} />)
}

const changeBy = ({ clock }: Pick<PageDependencies, 'clock'>, { account, member }: Viewer) => ({
  accountId: account.id,
  actor: member.id,
  at: clock.now(),
})

async function setRole(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const [membershipId, role] = [form.text('member'), form.text('role')]
  if (!isRole(role)) return showMember(deps, request, viewer, membershipId, 'invalid_field')
  const outcome = await deps.store.setRole({ ...changeBy(deps, viewer), membershipId, role })
  if ('refusal' in outcome) return showMember(deps, request, viewer, membershipId, outcome.refusal)
  return doneAnswer(deps, viewer, 'members', 'role_changed')
}

async function endSessions(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const member = await findMember(deps, viewer, form.text('member'))
  if (!member) return missingAnswer(request, viewer, 'page_unknown')
  const { account, app } = viewer
  if (member.personId === viewer.member.id) return redirectAnswer(pathOf(app.publicId, 'you'))
  const change = { accountId: account.id, actor: viewer.member.id, membershipId: member.id }
  const outcome = await deps.sessions.endAllOf(member.personId, change)
  if ('refusal' in outcome) return showMember(deps, request, viewer, member.id, outcome.refusal)
  return doneAnswer(deps, viewer, 'members', 'member_signed_out')
}

async function requireTwoStep(
  deps: PageDependencies,
  request: Request,
  form: FormInput,
  { viewer }: Who,
): Promise<Response> {
  const isRequired = form.text('required') === 'yes'
  const hasOwn = (await deps.store.listTwoStepOn([viewer.member.id])).length > 0
  if (isRequired && !hasOwn) return showMembers(deps, request, viewer, { status: 409, needsOwnTwoStep: true })
  const outcome = await deps.store.requireTwoStep({ ...changeBy(deps, viewer), isRequired })
  if ('refusal' in outcome) return missingAnswer(request, viewer, 'page_unknown')
  return doneAnswer(deps, viewer, 'members', isRequired ? 'two_step_asked' : 'two_step_free')
}

async function remove(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const membershipId = form.text('member')
  const outcome = await deps.store.removeMember({ ...changeBy(deps, viewer), membershipId })
  if ('refusal' in outcome) return showMember(deps, request, viewer, membershipId, outcome.refusal)
  return doneAnswer(deps, viewer, 'members', 'member_removed')
}

export const accountNameRoutes = (deps: PageDependencies) =>
  new Elysia().post('/apps/:app/members/account', onForm(deps, { role: 'owner' }, rename), { parse: 'none' })

async function rename(deps: PageDependencies, request: Request, form: FormInput, { viewer }: Who): Promise<Response> {
  const { store, clock } = deps
  const refuse = (status: number, error: string) =>
    showMembers(deps, request, viewer, { status, typed: { name: form.text('name'), error } })
  const reading = readAccountName(form.text('name'))
  if ('errors' in reading) return refuse(400, reading.errors.map(({ message }) => message).join(' '))
  if (reading.name === viewer.account.name) return doneAnswer(deps, viewer, 'members', 'account_name_same')
  const maker = { store, now: clock.now(), actor: viewer.member.id }
  const outcome = await renameAccount(maker, viewer.account.id, reading.name)
  if ('refusal' in outcome) return refuse(REFUSALS[outcome.refusal].status, REFUSALS[outcome.refusal].message)
  return doneAnswer(deps, viewer, 'members', 'account_renamed')
}
