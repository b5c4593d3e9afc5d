/** @jsxImportSource preact */
import type { MemberLink } from '../../accounts/members.ts'
import { describeInvitation, ForSomebodyElse, type Invitation } from './invitation-page.tsx'
import { Layout } from '../layout/layout.tsx'
import { Field } from '../ui/field.tsx'
import { Form, FormNotices } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { PASSWORD_HINT } from '../../accounts/passwords.ts'

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
  const { title, lead, submit } = invited ? describePasswordOf(invited) : CHOOSE
  return (
    <Layout title={title} lead={lead}>
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
        submit={submit}
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

const CHOOSE = { title: 'Choose a password', lead: 'This link works once.', submit: 'Set the password' }

const describePasswordOf = (invited: Invitation['invited']) => {
  const { title, lead, choose } = describeInvitation(invited)
  return { title, submit: choose, lead: `${lead} Choose a password to ${invited.isFirst ? 'sign in' : 'join'}.` }
}

const TURNS_OFF = 'This also turns off two-step sign-in. You can set it up again under Your profile.'
