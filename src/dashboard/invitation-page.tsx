/** @jsxImportSource preact */
import type { MemberLink } from '../core/members.ts'
import { Layout } from './layout.tsx'
import { Button, ButtonLink, HiddenFields } from './parts/button.tsx'
import { Field } from './parts/field.tsx'
import { Notice } from './parts/notice.tsx'
import { ROLE_WORDS } from './role-words.ts'

/** An invitation of somebody who has a password. */
export type Invitation = { token: string; member: MemberLink['member']; invited: NonNullable<MemberLink['invited']> }

type InvitationProps = Invitation & {
  /** the email of who is signed in here; null is nobody */
  signedInAs: string | null
  error?: string
  notice?: string
}

/** Whoever is signed in is asked to accept, anybody else for their password too. */
export const InvitationPage = ({ token, member, invited, signedInAs, error, notice }: InvitationProps) => {
  const isSelf = signedInAs === member.email
  const { accountName, role } = invited
  return (
    <Layout title={`Join the account ${accountName}`} lead={`You are invited as ${ROLE_WORDS[role]}.`} isNarrow>
      {notice && <Notice kind="error">{notice}</Notice>}
      {signedInAs !== null && !isSelf && (
        <Notice kind="caution">
          You are signed in as {signedInAs}, and this invitation is for {member.email}.
        </Notice>
      )}
      <p>
        You go on signing in as <strong>{member.email}</strong>, with the password you have.
      </p>
      <form method="post" action="/password" novalidate>
        <HiddenFields fields={{ token }} />
        {!isSelf && (
          <>
            <input type="hidden" autocomplete="username" value={member.email} />
            <Field
              name="password"
              label="Your password"
              kind="password"
              error={error}
              autofocus
              autocomplete="current-password"
            />
          </>
        )}
        <Button kind="primary">Join</Button>
      </form>
    </Layout>
  )
}

type JoinedProps = { accountName: string; email: string; next: string; signedInAs: string | null }

/** Joining signs nobody in: that is what the page for signing in is for. */
export const JoinedPage = ({ accountName, email, next, signedInAs }: JoinedProps) => (
  <Layout
    title={`You have joined the account ${accountName}`}
    lead="The link has been used and does not work any more."
    isNarrow
  >
    {signedInAs === null ? (
      <p class="next">
        <ButtonLink kind="primary" href={`/sign-in?${new URLSearchParams({ next })}`}>
          Sign in
        </ButtonLink>
      </p>
    ) : (
      <>
        <p>
          This browser is signed in as {signedInAs}. Sign out, and in again as {email}.
        </p>
        <form class="next" method="post" action="/sign-out">
          <Button kind="primary">Sign out</Button>
        </form>
      </>
    )}
  </Layout>
)
