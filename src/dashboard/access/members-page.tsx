/** @jsxImportSource preact */
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { ActionForm, ButtonLink } from '../ui/button.tsx'
import { hasRole, type MemberEntry } from '../../accounts/members.ts'
import { Frame, pathOf } from '../layout/frame.tsx'
import { Badge } from '../ui/badge.tsx'
import { Notice } from '../ui/notice.tsx'
import type { Page } from '../layout/paging.ts'
import { SectionLinks } from '../ui/sections.tsx'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { ROLE_NAMES } from '../../accounts/members.ts'
import type { Viewer } from '../layout/viewer.ts'

type MembersProps = {
  viewer: Viewer
  members: MemberEntry[]
  shown: Page<MemberEntry>
  /** ids of people with two-step sign-in */
  inTwoSteps: string[]
  now: number
  /** invalid account name */
  typed?: NameTyped
  /** owners must use two-step sign-in before requiring it */
  needsOwnTwoStep?: true
}

export const MembersPage = (props: MembersProps) => {
  const { viewer, members, shown } = props
  const isOwner = hasRole(viewer.member.role, 'owner')
  return (
    <Frame
      viewer={viewer}
      page="members"
      title="Members"
      state={stateOf(members)}
      action={
        isOwner && (
          <ButtonLink kind="primary" href={`${pathOf(viewer.app.publicId, 'members')}/new`}>
            Invite a member
          </ButtonLink>
        )
      }
    >
      {isOwner && <MemberSections viewer={viewer} current="members" />}
      {!isOwner && <Notice kind="info">Only owners of the account can invite and change members.</Notice>}
      <Table
        label="Members"
        hasSideAction
        columns={columnsOf(props, isOwner)}
        rows={shown.rows}
        idOf={({ id }) => id}
      />
      <Pager {...shown} />
      {isOwner && <TwoStepRuleSection {...props} />}
      {isOwner && <AccountNameSection viewer={viewer} typed={props.typed} />}
    </Frame>
  )
}

export const MemberSections = ({ viewer, current }: { viewer: Viewer; current: 'members' | 'audit' }) => (
  <SectionLinks
    label="Members"
    links={(['members', 'audit'] as const).map((name) => ({
      name: { members: 'Members', audit: 'Audit log' }[name],
      href: pathOf(viewer.app.publicId, name),
      isCurrent: name === current,
    }))}
  />
)

const TwoStepRuleSection = ({ viewer, members, inTwoSteps, needsOwnTwoStep }: MembersProps) => {
  const { requiresTwoStep } = viewer.account
  const ownTwoStep = `${pathOf(viewer.app.publicId, 'you')}#two-step`
  const without = members.filter(({ personId, isInvited }) => !isInvited && !inTwoSteps.includes(personId))
  const isOnlyViewer = without.length === 1 && without[0]?.personId === viewer.member.id
  return (
    <section id="two-step">
      <div class="with-badge">
        <h2>Two-step sign-in</h2>
        {requiresTwoStep ? <Badge mood="good">Required</Badge> : <Badge>Optional</Badge>}
      </div>
      {needsOwnTwoStep && (
        <Notice kind="error">
          Set up <a href={ownTwoStep}>two-step sign-in for yourself</a> first.
        </Notice>
      )}
      <p class="hint">{describeRule(requiresTwoStep, without.length, isOnlyViewer)}</p>
      {requiresTwoStep || inTwoSteps.includes(viewer.member.id) ? (
        <ActionForm
          action={`${pathOf(viewer.app.publicId, 'members')}/two-step`}
          fields={{ required: requiresTwoStep ? 'no' : 'yes' }}
        >
          {requiresTwoStep ? 'Make it optional' : 'Require it for all members'}
        </ActionForm>
      ) : (
        <ButtonLink href={ownTwoStep}>Set up two-step sign-in</ButtonLink>
      )}
    </section>
  )
}

function describeRule(isRequired: boolean, without: number, isOnlyViewer: boolean): string {
  if (!isRequired && isOnlyViewer) return "You haven't set it up yet. Set it up for yourself before you require it."
  const people = without === 1 ? '1 member has' : `${without} members have`
  if (isRequired)
    return without === 0
      ? 'All members use it.'
      : `${people} yet to set it up, and can open only Your profile until then.`
  if (without === 0) return 'All members use it already.'
  return `${people} not set it up. Once you require it, they can open only Your profile until they do.`
}

const stateOf = ({ length }: MemberEntry[]): string => (length === 1 ? '1 member.' : `${length} members.`)

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
    isUnlabelled: true,
    cell: ({ personId, isInvited }) =>
      isInvited ? (
        <Badge mood="caution">Invited</Badge>
      ) : (
        <Badge mood="good">{inTwoSteps.includes(personId) ? 'Active, two-step' : 'Active'}</Badge>
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

export type NameTyped = { name: string; error: string }

const AccountNameSection = ({ viewer, typed }: { viewer: Viewer; typed?: NameTyped }) => (
  <section id="account">
    <h2>Account name</h2>
    <Form
      action={`${pathOf(viewer.app.publicId, 'members')}/account`}
      errors={typed && [{ field: 'name', message: typed.error }]}
      submit="Rename the account"
      kind="plain"
    >
      <Field
        name="name"
        label="Name"
        hint="Shown in the account list and in invitations."
        value={typed?.name ?? viewer.account.name}
        autocomplete="off"
      />
    </Form>
  </section>
)
