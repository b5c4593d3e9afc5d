/** @jsxImportSource preact */
import type { MemberLink } from '../../accounts/members.ts'
import { ForSomebodyElse } from './invitation-page.tsx'
import { Layout } from '../layout/layout.tsx'
import { Button, HiddenFields } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { PASSWORD_HINT } from './password-hint.ts'
import { ROLE_WORDS } from './role-labels.ts'

export type PasswordProps = {
  token: string
  link: MemberLink
  /** setting a password turns two-step sign-in off */
  isTwoStepEnded: boolean
  /** email of the signed-in person, or null */
  signedInAs: string | null
  error?: string
  notice?: string
}

export const PasswordPage = (props: PasswordProps) => {
  const { token, link, isTwoStepEnded, signedInAs, error, notice } = props
  const { member, invited } = link
  return (
    <Layout title="Choose a password" lead="This link sets it once. It is kept as a hash that nobody can read back.">
      {notice && <Notice kind="error">{notice}</Notice>}
      <ForSomebodyElse what="link" email={member.email} signedInAs={signedInAs} />
      {isTwoStepEnded && <Notice kind="caution">{TURNS_OFF}</Notice>}
      <p>
        You sign in as <strong>{member.email}</strong>
        {invited && `, ${ROLE_WORDS[invited.role]} of the account ${invited.accountName}`}.
        {member.passwordHash !== null &&
          ' Wherever you are signed in with the password you had, you will be signed out.'}
      </p>
      <form method="post" action="/password" novalidate>
        <HiddenFields fields={{ token }} />
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
}

const TURNS_OFF =
  'This also turns two-step sign-in off: your password alone will sign you in, until you set it up again on your own page.'
