/** @jsxImportSource preact */
import type { MemberLink } from '../../accounts/members.ts'
import { ForSomebodyElse, inviteTitle } from './invitation-page.tsx'
import { Layout } from '../layout/layout.tsx'
import { Field } from '../ui/field.tsx'
import { Form, FormNotices } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { PASSWORD_HINT } from '../../accounts/passwords.ts'
import { ROLE_PHRASES } from '../../accounts/members.ts'

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
    <Layout
      title={invited ? inviteTitle(invited.accountName) : 'Choose a password'}
      lead={
        invited
          ? `You're invited as ${ROLE_PHRASES[invited.role]}. Choose a password to join.`
          : 'This link works once.'
      }
    >
      <FormNotices notice={notice} />
      <ForSomebodyElse what="link" email={member.email} signedInAs={signedInAs} />
      {isTwoStepEnded && <Notice kind="caution">{TURNS_OFF}</Notice>}
      <p>
        You sign in as <strong>{member.email}</strong>.
        {member.passwordHash !== null && ' Your other sessions will end.'}
      </p>
      <Form
        action="/password"
        hidden={{ token }}
        errors={error ? [{ field: 'password', message: error }] : []}
        submit={invited ? 'Join' : 'Set the password'}
      >
        <Field
          name="password"
          label="Password"
          kind="password"
          hint={PASSWORD_HINT}
          autofocus
          autocomplete="new-password"
        />
      </Form>
    </Layout>
  )
}

const TURNS_OFF = 'This also turns off two-step sign-in. You can set it up again under Password and sessions.'
