/** @jsxImportSource preact */
import type { MemberLink } from '../../accounts/members.ts'
import { Layout } from '../layout/layout.tsx'
import { ActionForm, Button, ButtonLink } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { PASSWORD_HINT } from '../../accounts/passwords.ts'
import { ROLE_PHRASES } from '../../accounts/members.ts'

/** An invitation for a person who has, or may have, a password from another account. */
export type Invitation = { token: string; member: MemberLink['member']; invited: NonNullable<MemberLink['invited']> }

type InvitationProps = Invitation & {
  /** email of the signed-in person, or null */
  signedInAs: string | null
  error?: string
  newError?: string
  notice?: string
}

type ElseProps = { what: 'invitation' | 'link'; email: string; signedInAs: string | null }

export const ForSomebodyElse = ({ what, email, signedInAs }: ElseProps) =>
  signedInAs !== null &&
  signedInAs !== email && (
    <Notice kind="caution">
      You are signed in as {signedInAs}, but this {what} is for {email}.
    </Notice>
  )

/** The account's first owner has nobody to join. `join`: for people who already have a password. */
export const describeInvitation = ({ accountName, role, isFirst }: Invitation['invited']) =>
  isFirst
    ? { title: `Your account ${accountName}`, lead: "You're its owner.", join: 'Continue', choose: 'Set the password' }
    : {
        title: `Join ${accountName} on Eventpost`,
        lead: `You're invited as ${ROLE_PHRASES[role]}.`,
        join: 'Join',
        choose: 'Set the password and join',
      }

/** Field of a first password; tells the two forms apart. */
export const NEW_PASSWORD = 'newPassword'

/**
 * Signed-in people accept; others enter or choose a password. Both cases look the same, so that the inviter can't learn
 * who has a password.
 */
export const InvitationPage = (props: InvitationProps) => {
  const { token, member, invited, signedInAs, notice } = props
  const isSelf = signedInAs === member.email
  const { title, lead, join } = describeInvitation(invited)
  return (
    <Layout title={title} lead={lead} isNarrow>
      {notice && <Notice kind="error">{notice}</Notice>}
      <ForSomebodyElse what="invitation" email={member.email} signedInAs={signedInAs} />
      <p>
        You sign in as <strong>{member.email}</strong>.
      </p>
      {isSelf ? (
        <ActionForm action="/password" fields={{ token }} kind="primary">
          {join}
        </ActionForm>
      ) : (
        <>
          <KnownSection {...props} />
          <NewSection {...props} />
        </>
      )}
    </Layout>
  )
}

const KnownSection = ({ token, member, invited, error }: InvitationProps) => (
  <section>
    <h2>If you already have a password</h2>
    <Form
      action="/password"
      hidden={{ token }}
      username={member.email}
      errors={
        error ? [{ field: 'password', message: `${error} If you don't have a password yet, choose one below.` }] : []
      }
      submit={describeInvitation(invited).join}
    >
      <Field name="password" label="Your password" kind="password" autocomplete="current-password" />
    </Form>
  </section>
)

const NewSection = ({ token, member, invited, newError }: InvitationProps) => (
  <section>
    <h2>If you don't have a password yet</h2>
    <Form
      action="/password"
      hidden={{ token }}
      username={member.email}
      errors={newError ? [{ field: NEW_PASSWORD, message: newError }] : []}
      submit={describeInvitation(invited).choose}
      kind="plain"
    >
      <Field
        name={NEW_PASSWORD}
        label="Choose a password"
        kind="password"
        hint={PASSWORD_HINT}
        autocomplete="new-password"
      />
    </Form>
  </section>
)

type UsedProps = { title: string; note?: string; email: string; next: string; signedInAs: string | null }

/** Shown after a link was used; continues to `next`. */
export const LinkUsedPage = ({ title, note, email, next, signedInAs }: UsedProps) => (
  <Layout title={title} lead="This link has been used and no longer works." isNarrow>
    {note && <p>{note}</p>}
    {signedInAs === null ? (
      <p class="next">
        <ButtonLink kind="primary" href={`/sign-in?${new URLSearchParams({ next })}`}>
          Sign in
        </ButtonLink>
      </p>
    ) : (
      <>
        <p>
          This browser is signed in as {signedInAs}. Sign out, then sign in as {email}.
        </p>
        <form class="next" method="post" action="/sign-out">
          <Button kind="primary">Sign out</Button>
        </form>
      </>
    )}
  </Layout>
)
