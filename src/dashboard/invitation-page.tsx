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

type ElseProps = { what: 'invitation' | 'link'; email: string; signedInAs: string | null }

/** Caution where somebody else is signed in than the link is for. */
export const ForSomebodyElse = ({ what, email, signedInAs }: ElseProps) =>
  signedInAs !== null &&
  signedInAs !== email && (
    <Notice kind="caution">
      You are signed in as {signedInAs}, and this {what} is for {email}.
    </Notice>
  )

/** Whoever is signed in is asked to accept, anybody else for their password too. */
export const InvitationPage = ({ token, member, invited, signedInAs, error, notice }: InvitationProps) => {
  const isSelf = signedInAs === member.email
  const { accountName, role } = invited
  return (
    <Layout title={`Join the account ${accountName}`} lead={`You are invited as ${ROLE_WORDS[role]}.`} isNarrow>
      {notice && <Notice kind="error">{notice}</Notice>}
      <ForSomebodyElse what="invitation" email={member.email} signedInAs={signedInAs} />
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

type UsedProps = { title: string; note?: string; email: string; next: string; signedInAs: string | null }

/** What was done by a link, and how to go on to `next` as `email`. */
export const LinkUsedPage = ({ title, note, email, next, signedInAs }: UsedProps) => (
  <Layout title={title} lead="The link has been used and does not work any more." isNarrow>
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
          This browser is signed in as {signedInAs}. Sign out, and in again as {email}.
        </p>
        <form class="next" method="post" action="/sign-out">
          <Button kind="primary">Sign out</Button>
        </form>
      </>
    )}
  </Layout>
)
