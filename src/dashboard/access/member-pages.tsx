/** @jsxImportSource preact */
import type { MemberEntry } from '../../accounts/members.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { SetAddress } from '../layout/mail-notices.tsx'
import { isLinkUnreachable } from '../../people/unsubscribe.ts'
import { ActionForm } from '../ui/button.tsx'
import { Radios } from '../ui/choice.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, type FormError } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { SecretOnce } from '../ui/secret.tsx'
import { Command } from '../ui/text.tsx'
import { ROLE_NAMES, ROLE_PHRASES } from '../../accounts/members.ts'
import type { Viewer } from '../layout/viewer.ts'

const ROLES = [
  { value: 'owner', label: ROLE_NAMES.owner, hint: 'Full access, including keys, secrets, settings and members.' },
  {
    value: 'editor',
    label: ROLE_NAMES.editor,
    hint: 'Edits people, messages and suppressions. Makes messages live and resends emails.',
  },
  {
    value: 'viewer',
    label: ROLE_NAMES.viewer,
    hint: 'Views all pages except the audit log and System. Exports data. Changes nothing.',
  },
]

type InviteProps = { viewer: Viewer; input: { email: string; role: string }; errors?: FormError[]; notice?: string }

export const InvitePage = ({ viewer, input, errors, notice }: InviteProps) => {
  const members = pathOf(viewer.app.publicId, 'members')
  return (
    <Frame
      viewer={viewer}
      page="members"
      title="Invite a member"
      state="The next page shows a link. Send it to the new member."
    >
      <Form action={members} errors={errors} notice={notice} submit="Create the link" cancel={members}>
        <Field
          name="email"
          label="Email"
          kind="email"
          hint="They sign in with this email. If they already have a password, it stays the same."
          value={input.email}
          autofocus
          autocomplete="off"
        />
        <Radios name="role" label="Role" value={input.role} options={ROLES} />
      </Form>
    </Frame>
  )
}

type LinkMadeProps = { viewer: Viewer; email: string; link: string; isInvitation: boolean }

/** The only page that shows the link. It doesn't reveal whether the email is known. */
export const LinkMadePage = ({ viewer, email, link, isInvitation }: LinkMadeProps) => (
  <Frame viewer={viewer} page="members" title="The link is ready" state={`Send it only to ${email}.`}>
    <SecretOnce
      secrets={[{ id: 'link', name: 'Link', text: link }]}
      warning={
        <>
          {isLinkUnreachable(link) && (
            <p>
              <b>This link works only on this machine.</b> <SetAddress />. Then create a new link.
            </p>
          )}
          <p>
            Shown only once. It works once and expires after a day.{' '}
            {isInvitation ? INVITATION : 'Anyone who opens it can choose the password.'}
          </p>
        </>
      }
      next={pathOf(viewer.app.publicId, 'members')}
      confirmLabel="I have sent it"
    />
  </Frame>
)

const INVITATION = 'Anyone who opens it can join the account, unless the invited person already has a password.'

type MemberProps = {
  viewer: Viewer
  member: MemberEntry
  /** whether the server has no other account */
  isOnlyAccount: boolean
  /** the only owner can't leave the account */
  isOnlyOwner: boolean
  notice?: string
}

export const MemberPage = ({ viewer, member, isOnlyAccount, isOnlyOwner, notice }: MemberProps) => (
  <Frame viewer={viewer} page="members" title={member.email} state={stateOf(viewer, member)}>
    {notice && <Notice kind="error">{notice}</Notice>}
    <section>
      <h2>Role</h2>
      {isOnlyOwner ? (
        <p>
          {member.personId === viewer.member.id ? "You're" : "They're"} the only owner of the account. To change this
          role or remove {member.personId === viewer.member.id ? 'yourself' : 'them'}, make someone else an owner first.
        </p>
      ) : (
        <Form
          action={`${pathOf(viewer.app.publicId, 'members')}/role`}
          hidden={{ member: member.id }}
          submit="Change the role"
          kind="plain"
        >
          <Radios name="role" label="Role" isLabelUnseen value={member.role} options={ROLES} />
        </Form>
      )}
    </section>
    {member.isInvited ? (
      <InvitationSection viewer={viewer} member={member} />
    ) : member.personId === viewer.member.id ? (
      <section>
        <h2>Password</h2>
        <p>
          Change it under <a href={pathOf(viewer.app.publicId, 'you')}>Your profile</a>.
        </p>
      </section>
    ) : (
      <PasswordSection {...{ viewer, member, isOnlyAccount }} />
    )}
    {!member.isInvited && member.personId !== viewer.member.id && <SessionsSection viewer={viewer} member={member} />}
    {!isOnlyOwner && <RemoveSection viewer={viewer} member={member} />}
  </Frame>
)

function stateOf({ member, account }: Viewer, { personId, role, isInvited }: MemberEntry): string {
  if (personId === member.id) return `You're ${ROLE_PHRASES[role]} of the account ${account.name}.`
  const name = `${ROLE_NAMES[role]} of the account ${account.name}`
  return isInvited
    ? `Invited as ${ROLE_PHRASES[role]} of the account ${account.name}, but hasn't joined yet.`
    : `${name}.`
}

type SectionProps = Pick<MemberProps, 'viewer' | 'member'>

const LinkForm = ({ viewer, member: { id } }: SectionProps) => (
  <ActionForm action={`${pathOf(viewer.app.publicId, 'members')}/link`} fields={{ member: id }}>
    Create a link
  </ActionForm>
)

const InvitationSection = (props: SectionProps) => (
  <section>
    <h2>Invitation</h2>
    <p>If the link was lost or is older than a day, create a new one. The old one stops working.</p>
    <LinkForm {...props} />
  </section>
)

/** With several accounts, a password link would open the member's other accounts too. */
const PasswordSection = ({ isOnlyAccount, ...props }: SectionProps & Pick<MemberProps, 'isOnlyAccount'>) => (
  <section>
    <h2>Password</h2>
    {isOnlyAccount ? (
      <>
        <p>Create a link if they forgot it. A new password ends all their sessions.</p>
        <LinkForm {...props} />
      </>
    ) : (
      <p>
        If they forgot it, the operator of this installation can create a link:{' '}
        <Command>{`eventpost member reset-password --email ${props.member.email}`}</Command>
      </p>
    )}
  </section>
)

const SessionsSection = ({ viewer, member: { id, email } }: SectionProps) => (
  <section>
    <h2>Sessions</h2>
    <p>Sign {email} out of every browser. They can sign in again.</p>
    <ActionForm action={`${pathOf(viewer.app.publicId, 'members')}/sessions`} fields={{ member: id }}>
      End all sessions
    </ActionForm>
  </section>
)

const RemoveSection = ({ viewer, member: { id, email, isInvited } }: SectionProps) => (
  <section>
    <h2>Remove</h2>
    <p>
      {isInvited ? 'This withdraws the invitation.' : 'Keys they created keep working. Revoke any they may still have.'}
    </p>
    <Dialog id="remove" opener="Remove" about={email} kind="danger" title={`Remove ${email}?`}>
      <p>
        {isInvited
          ? 'Their link stops working.'
          : `They can no longer open the account ${viewer.account.name}. What they created stays.`}
      </p>
      <ActionForm action={`${pathOf(viewer.app.publicId, 'members')}/remove`} fields={{ member: id }} kind="danger">
        Remove the member
      </ActionForm>
    </Dialog>
  </section>
)
