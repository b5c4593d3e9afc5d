/** @jsxImportSource preact */
import { hasRole, type MemberEntry } from '../core/members.ts'
import { AccountNameSection, type NameTyped } from './account-name.tsx'
import { Frame, pathOf } from './frame.tsx'
import { Badge } from './parts/badge.tsx'
import { ButtonLink } from './parts/button.tsx'
import { Notice } from './parts/notice.tsx'
import type { Page } from './paging.ts'
import { type Column, Pager, Table } from './parts/table.tsx'
import { Time } from './parts/time.tsx'
import { ROLE_NAMES } from './role-words.ts'
import type { Viewer } from './viewer.ts'

type MembersProps = {
  viewer: Viewer
  members: MemberEntry[]
  shown: Page<MemberEntry>
  /** the persons who sign in with a code too */
  inTwoSteps: string[]
  now: number
  /** for the account, and refused */
  typed?: NameTyped
}

/** The people who sign in to the account. */
export const MembersPage = (props: MembersProps) => {
  const { viewer, members, shown } = props
  const isOwner = hasRole(viewer.member.role, 'owner')
  return (
    <Frame
      viewer={viewer}
      page="members"
      title="Members"
      state={stateOf(members, viewer.account.name)}
      action={
        isOwner && (
          <ButtonLink kind="primary" href={`${pathOf(viewer.app.publicId, 'members')}/new`}>
            Invite a member
          </ButtonLink>
        )
      }
    >
      {!isOwner && <Notice kind="info">Only owners of the account invite and change members.</Notice>}
      <Table label="Members" columns={columnsOf(props, isOwner)} rows={shown.rows} idOf={({ id }) => id} />
      <Pager {...shown} />
      {isOwner && <AccountNameSection viewer={viewer} typed={props.typed} />}
    </Frame>
  )
}

const stateOf = (members: MemberEntry[], account: string): string =>
  members.length === 1
    ? `One person signs in to the account ${account}.`
    : `${members.length} people belong to the account ${account}.`

const columnsOf = ({ viewer, inTwoSteps, now }: MembersProps, isOwner: boolean): Column<MemberEntry>[] => [
  {
    name: 'Email',
    cell: ({ personId, email }) => (
      <span class="with-badge">
        {email} {personId === viewer.member.id && <Badge>You</Badge>}
      </span>
    ),
  },
  { name: 'Role', cell: ({ role }) => ROLE_NAMES[role] },
  {
    name: 'State',
    cell: ({ personId, isInvited }) =>
      isInvited ? (
        <Badge mood="caution">Invited</Badge>
      ) : (
        <Badge mood="good">{inTwoSteps.includes(personId) ? 'Signs in, two steps' : 'Signs in'}</Badge>
      ),
  },
  { name: 'Since', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
  ...(isOwner
    ? [{ name: 'Change', isAction: true, cell: (member: MemberEntry) => <ChangeLink viewer={viewer} {...member} /> }]
    : []),
]

const ChangeLink = ({ viewer, id, email }: { viewer: Viewer } & MemberEntry) => (
  <ButtonLink href={`${pathOf(viewer.app.publicId, 'members')}/edit?${new URLSearchParams({ member: id })}`}>
    Change<span class="unseen">{` ${email}`}</span>
  </ButtonLink>
)
