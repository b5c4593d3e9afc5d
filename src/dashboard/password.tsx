/** @jsxImportSource preact */
import { Elysia } from 'elysia'
import { hasLink, setPasswordByLink } from '../core/members.ts'
import type { Parts } from '../core/parts.ts'
import { findPasswordFault, hashPassword } from '../core/passwords.ts'
import { REFUSALS } from '../core/refusals.ts'
import { pageAnswer } from './answers.ts'
import { readForm, tokenOf } from './forms.ts'
import { Layout } from './layout.tsx'
import { Button, ButtonLink } from './parts/button.tsx'
import { Field } from './parts/field.tsx'
import { Notice } from './parts/notice.tsx'
import { PASSWORD_HINT } from './password-hint.ts'
import { problemAnswer } from './problems.tsx'

/** Sets the password of a member through a one-time link; opening it does not use it up (promises 14). */
export const passwordRoutes = ({ store, clock }: Parts) =>
  new Elysia()
    .get('/password', async ({ request }) => {
      const token = tokenOf(request)
      const isValid = await hasLink({ store, now: clock.now() }, 'password', token)
      return isValid
        ? pageAnswer(request, 200, <PasswordPage token={token} />)
        : problemAnswer(request, 'password_link_unknown')
    })
    .post(
      '/password',
      async ({ request }) => {
        const form = await readForm(request)
        if ('refusal' in form) return problemAnswer(request, form.refusal)
        const token = form.text('token')
        const isValid = await hasLink({ store, now: clock.now() }, 'password', token)
        if (!isValid) return problemAnswer(request, 'password_link_unknown')
        const error = findPasswordFault(form.text('password'))
        if (error) return pageAnswer(request, 400, <PasswordPage token={token} error={error} />)
        const passwordHash = await hashPassword(form.text('password'))
        const outcome = await setPasswordByLink({ store, now: clock.now() }, token, passwordHash)
        if (!('refusal' in outcome)) return pageAnswer(request, 200, <PasswordSetPage />)
        if (outcome.refusal === 'not_found') return problemAnswer(request, 'password_link_unknown')
        const { status, message } = REFUSALS[outcome.refusal]
        return pageAnswer(request, status, <PasswordPage token={token} notice={message} />)
      },
      { parse: 'none' },
    )

const PasswordPage = ({ token, error, notice }: { token: string; error?: string; notice?: string }) => (
  <Layout title="Choose a password" lead="This link sets it once. It is kept as a hash that nobody can read back.">
    {notice && <Notice kind="error">{notice}</Notice>}
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
