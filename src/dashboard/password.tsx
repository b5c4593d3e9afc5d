/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { findMemberLink, type MemberLink, setPasswordByLink } from '../core/members.ts'
import { findPasswordFault, hashPassword } from '../core/passwords.ts'
import { REFUSALS } from '../core/refusals.ts'
import { pageAnswer } from './answers.ts'
import type { PageParts } from './door.tsx'
import { type Form, readForm, tokenOf } from './forms.ts'
import { joinAccount, showInvitation } from './invitation.tsx'
import type { Invitation } from './invitation-page.tsx'
import { Layout } from './layout.tsx'
import { Button, ButtonLink } from './parts/button.tsx'
import { Field } from './parts/field.tsx'
import { Notice } from './parts/notice.tsx'
import { PASSWORD_HINT } from './password-hint.ts'
import { problemAnswer } from './problems.tsx'
import { ROLE_WORDS } from './role-words.ts'

/**
 * What a member does by a one-time link: choose a password, or join an account with the one they have. Opening it does not
 * use it up (promises 14).
 */
export const passwordRoutes = (parts: PageParts) =>
  new Elysia()
    .get('/password', async ({ request }) => {
      const token = tokenOf(request)
      const link = await findLink(parts, token)
      if (!link) return problemAnswer(request, 'password_link_unknown')
      const invitation = toInvitation(token, link)
      if (invitation) return showInvitation(parts, request, invitation)
      return pageAnswer(request, 200, <PasswordPage token={token} link={link} />)
    })
    .post(
      '/password',
      async ({ request }) => {
        const form = await readForm(request)
        if ('refusal' in form) return problemAnswer(request, form.refusal)
        const token = form.text('token')
        const link = await findLink(parts, token)
        if (!link) return problemAnswer(request, 'password_link_unknown')
        const invitation = toInvitation(token, link)
        return invitation
          ? joinAccount(parts, request, form, invitation)
          : setPassword(parts, request, form, { token, link })
      },
      { parse: 'none' },
    )

const findLink = ({ store, clock }: PageParts, token: string): Promise<MemberLink | null> =>
  findMemberLink({ store, now: clock.now() }, token)

/** null where the link is one to choose a password by. */
const toInvitation = (token: string, { member, invited }: MemberLink): Invitation | null =>
  invited && member.passwordHash !== null ? { token, member, invited } : null

type Chosen = { token: string; link: MemberLink }

async function setPassword({ store, clock }: PageParts, request: Request, form: Form, chosen: Chosen) {
  const error = findPasswordFault(form.text('password'))
  if (error) return pageAnswer(request, 400, <PasswordPage {...chosen} error={error} />)
  const passwordHash = await hashPassword(form.text('password'))
  const outcome = await setPasswordByLink({ store, now: clock.now() }, chosen.token, passwordHash)
  if (!('refusal' in outcome)) return pageAnswer(request, 200, <PasswordSetPage />)
  if (outcome.refusal === 'not_found') return problemAnswer(request, 'password_link_unknown')
  const { status, message } = REFUSALS[outcome.refusal]
  return pageAnswer(request, status, <PasswordPage {...chosen} notice={message} />)
}

const PasswordPage = ({
  token,
  link: { member, invited },
  error,
  notice,
}: Chosen & { error?: string; notice?: string }) => (
  <Layout title="Choose a password" lead="This link sets it once. It is kept as a hash that nobody can read back.">
    {notice && <Notice kind="error">{notice}</Notice>}
    <p>
      You sign in as <strong>{member.email}</strong>
      {invited && `, ${ROLE_WORDS[invited.role]} of the account ${invited.accountName}`}.
    </p>
    <form method="post" action="/password" novalidate>
      <input type="hidden" name="token" value={token} />
      <Field
        name="password"
        label="Password"
        kind="password"
        hint={PASSWORD_HINT}
        error={error}
        autofocus
        autocomplete="new-password"
      />
      <Button kind="primary">Set the password</Button>
    </form>
  </Layout>
)

const PasswordSetPage = () => (
  <Layout title="Your password is set" lead="The link has been used and does not work any more.">
    <p>Sessions that began with another password have ended.</p>
    <p class="next">
      <ButtonLink kind="primary" href="/sign-in">
        Sign in
      </ButtonLink>
    </p>
  </Layout>
)
